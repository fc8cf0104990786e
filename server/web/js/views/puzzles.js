/** Puzzles: bring an army home in the least number of moves. */

import { announce, button, choice, fill, h, panel } from "../dom.js";
import { load, save, settings } from "../storage.js";
import { Solo } from "../solo.js";
import { count } from "../text.js";
import { showOffer } from "../build-card.js";
import { parseState, preferred } from "./distances.js";

/**
 * @typedef {import("../types.js").TablesApp} TablesApp
 * @typedef {import("../storage.js").Link} Link
 */

/** The most draws of a new puzzle that is not the one that is shown. */
const MAX_TRIES = 20;

export class PuzzlesView {
  /** @param {TablesApp} app */
  constructor(app) {
    this.app = app;
    this.title = "Puzzles";
    /** @type {import("../dom.js").Icon} */
    this.icon = "puzzle";
    this.settings = settings("puzzles", { distance: 4, table: "" });
    this.solo = new Solo(app, () => app.update());
    /** The moves within which the army must be home. */
    this.goal = 0;
    this.helped = false;
    this.counted = false;
    this.drawing = false;
    /** Whether the view waits for the puzzle that it will show. */
    this.opening = false;
    /** The number of requests so far; only the answer to the last one is shown. */
    this.requests = 0;
    this.said = "";
    this.setupKey = "";
    /** @type {Link} */
    this.wanted = {};
    this.task = h("div.facts");
    this.setup = h("div.form");
    this.offer = h("div.offer");
    this.record = h("p.note");
    this.left = h("div", {}, panel("Puzzle", this.task), this.offer);
    this.right = h("div", {}, panel("Next puzzle", this.setup, this.record));
  }

  /** @param {Link} link */
  show(link) {
    this.wanted = link.state ? link : {};
    this.app.update();
  }

  hide() {}

  link() {
    return { view: "puzzles", table: this.solo.table?.name ?? "", state: this.solo.steps[0]?.cells.join(",") ?? "" };
  }

  /** @param {string} key */
  key(key) {
    return this.solo.key(key);
  }

  tableNow() {
    return this.app.tables.find(({ name }) => name === this.settings.table) ?? preferred(this.app.tables);
  }

  update() {
    const { app, solo } = this;
    if (app.tables.length > 0 && this.wanted.state) this.openWanted();
    else if (app.tables.length > 0 && !solo.table && !this.drawing) this.draw();
    const status = this.statusText();
    solo.show({
      overlay: this.helped ? "change" : "off",
      movable: !this.isOver(),
      status,
      left: Math.max(0, this.goal - solo.index),
    });
    this.drawTask(status);
    this.drawSetup();
    const table = this.tableNow();
    showOffer(this.offer, app, table?.side ?? 9, table?.pieces ?? 6);
    this.countSolved();
    if (solo.state && status !== this.said) announce(status);
    if (solo.state) this.said = status;
  }

  isHome() {
    return this.solo.state?.category === "goal";
  }

  isOver() {
    return this.isHome() || (this.goal > 0 && this.solo.index >= this.goal);
  }

  /** Returns whether the puzzle can still be solved. */
  isOnWay() {
    const distance = this.solo.state?.distance ?? null;
    return distance === null || distance <= this.goal - this.solo.index;
  }

  statusText() {
    const { solo, goal } = this;
    if (!solo.table) return "Build a table to play puzzles.";
    const left = goal - solo.index;
    if (this.isHome()) return this.helped ? "Home, with help." : `Solved in ${count(solo.index, "move")}.`;
    if (left <= 0) return "No moves left. Go back and try another way.";
    return `Bring ${solo.player} home in ${count(left, "move")}.`;
  }

  /** Counts a puzzle that was solved without help, once. */
  countSolved() {
    if (!this.isHome() || this.counted || this.helped || this.goal === 0) return;
    this.counted = true;
    save("solved", load("solved", 0) + 1);
    this.app.update();
  }

  /** @param {string} status */
  drawTask(status) {
    const { solo } = this;
    if (!solo.table) return fill(this.task, h("p.note", {}, "Puzzles are drawn from a table of distances."));
    const hint =
      this.helped && !this.isOver()
        ? this.isOnWay()
          ? "You are on a shortest way."
          : "This way is too long: go back."
        : "";
    fill(
      this.task,
      h(
        "p.figure",
        { "data-name": "puzzle" },
        h("strong", {}, `${this.goal}`),
        h("span", {}, `${this.goal === 1 ? "move" : "moves"} to bring the army home`),
      ),
      this.isOver() ? h("p", { class: this.isHome() ? "over" : null }, status) : null,
      hint ? h("p.note", {}, hint) : null,
      h(
        "div.row-actions",
        {},
        button("Take back", () => solo.go(solo.index - 1), {
          icon: "undo",
          disabled: solo.index === 0,
          "data-key": "back",
          "data-action": "back",
        }),
        button("Start again", () => solo.go(0), { disabled: solo.index === 0, "data-key": "again" }),
        button("Help", () => this.help(), {
          icon: "bulb",
          disabled: this.helped,
          "data-key": "help",
          "data-action": "help",
        }),
        button(
          "Explain",
          () =>
            this.app.visit({ view: "distances", table: solo.table?.name ?? "", player: solo.player, state: solo.text }),
          { icon: "flame", "data-key": "explain" },
        ),
      ),
    );
  }

  drawSetup() {
    const table = this.tableNow();
    if (!table) return fill(this.setup, h("p.note", {}, "No table yet."));
    const key = JSON.stringify([this.app.tables.map(({ name }) => name), table.name, this.settings, load("solved", 0)]);
    if (key === this.setupKey) return;
    this.setupKey = key;
    const tables = /** @type {[string, string][]} */ (this.app.tables.map(({ name }) => [name, name]));
    const distances = /** @type {[string, string][]} */ (
      Array.from({ length: table.max_distance }, (_, at) => [`${at + 1}`, count(at + 1, "move")])
    );
    fill(
      this.setup,
      h(
        "div.pair",
        {},
        choice("Table", tables, table.name, (name) => this.change({ table: name }), { "data-key": "table" }),
        choice(
          "Home in",
          distances,
          `${Math.min(this.settings.distance, table.max_distance)}`,
          (value) => this.change({ distance: Number(value) }),
          { "data-name": "puzzle-distance", "data-key": "distance" },
        ),
      ),
      button("New puzzle", () => this.draw(), {
        primary: true,
        icon: "plus",
        "data-action": "new-puzzle",
        "data-key": "new-puzzle",
      }),
      button("Link", () => this.app.share(), { icon: "link", "data-key": "share" }),
    );
    this.record.textContent = `${count(load("solved", 0), "puzzle")} solved in this browser.`;
  }

  /** @param {Partial<PuzzlesView["settings"]>} change */
  change(change) {
    Object.assign(this.settings, change);
    save("puzzles", this.settings);
    this.draw();
  }

  help() {
    this.helped = true;
    this.app.update();
  }

  /** Draws a random puzzle. */
  async draw() {
    const table = this.tableNow();
    if (!table) return;
    this.drawing = this.opening = true;
    const request = ++this.requests;
    try {
      const distance = Math.min(this.settings.distance, table.max_distance);
      const before = this.solo.steps[0]?.cells.join();
      let cells = await this.randomState(table, distance);
      // Few states have a small distance.
      for (let tries = 0; tries < MAX_TRIES && cells.join() === before; tries++) {
        cells = await this.randomState(table, distance);
      }
      if (request === this.requests) this.begin(table, cells, distance);
    } catch (error) {
      this.failed(request, error);
    }
  }

  /**
   * @param {import("../types.js").TableInfo} table
   * @param {number} distance
   */
  async randomState(table, distance) {
    const { state } = await this.app.facts.random(table.name, distance, "x", Math.floor(Math.random() * 2 ** 31));
    return parseState(state, table, "x");
  }

  /** Shows the puzzle of a link. */
  async openWanted() {
    const { state, table: name } = this.wanted;
    this.wanted = {};
    const table = this.app.tables.find((other) => other.name === name) ?? this.tableNow();
    if (!table) return;
    this.drawing = this.opening = true;
    const request = ++this.requests;
    try {
      const cells = parseState(state, table, "x");
      const { distance } = await this.app.facts.state(table.name, cells.join(","), "x");
      if (distance === null) throw new Error("the table does not cover this state");
      if (request === this.requests) this.begin(table, cells, distance);
    } catch (error) {
      this.failed(request, error);
    }
  }

  /**
   * @param {number} request
   * @param {unknown} error
   */
  failed(request, error) {
    if (request === this.requests) this.opening = false;
    this.app.fail(error);
  }

  /**
   * @param {import("../types.js").TableInfo} table
   * @param {string[]} cells
   * @param {number} distance
   */
  begin(table, cells, distance) {
    this.goal = distance;
    this.helped = this.counted = this.opening = false;
    this.solo.start(table, "x", cells);
  }
}
