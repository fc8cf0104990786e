/** Distances: one army and a table. */

import { home } from "../geometry.js";
import { announce, button, choice, fill, h, panel, refill } from "../dom.js";
import { segments } from "../forms.js";
import { showMoves } from "../moves-panel.js";
import { parseArmy, parsePosition, army, unrank } from "../notation.js";
import { Solo } from "../solo.js";
import { count, distanceSpoken, distanceText } from "../text.js";
import { showOffer } from "../build-card.js";

/**
 * @typedef {import("../types.js").TablesApp} TablesApp
 * @typedef {import("../storage.js").Link} Link
 * @typedef {import("../types.js").Side} Side
 * @typedef {import("../types.js").Line} Line
 * @typedef {import("../types.js").TableInfo} TableInfo
 */

/** The time between two moves of a line that is played, in milliseconds. */
const PERIOD = 700;

/** @type {["change" | "heat" | "off", string][]} */
const OVERLAYS = [
  ["change", "Change"],
  ["heat", "Heat map"],
  ["off", "Off"],
];

export class DistancesView {
  /** @param {TablesApp} app */
  constructor(app) {
    this.app = app;
    this.title = "Distances";
    /** @type {import("../dom.js").Icon} */
    this.icon = "flame";
    this.solo = new Solo(app, () => this.changed());
    /** @type {"change" | "heat" | "off"} */
    this.overlay = "change";
    /** @type {Line | null} */
    this.line = null;
    /** The number of the state in the history at which the line begins. */
    this.lineStart = 0;
    this.timer = 0;
    this.said = "";
    this.toolsKey = "";
    /** @type {number | undefined} */
    this.lastDistance = undefined;
    /** @type {Link} */
    this.wanted = {};
    this.tools = h("div.form");
    this.facts = h("div.facts");
    this.list = h("div.move-groups");
    this.lineBox = h("div.line-box");
    this.offer = h("div.offer");
    this.left = h("div", {}, panel("State", this.tools), this.offer);
    this.right = h("div", {}, panel("Distance", this.facts, this.list), panel("Shortest line", this.lineBox));
  }

  /** @param {Link} link */
  show(link) {
    this.wanted = link;
    if (link.state || link.table || !this.solo.table) this.openWanted();
    else this.solo.changed();
  }

  hide() {
    this.stop();
  }

  link() {
    return { view: "distances", table: this.solo.table?.name ?? "", player: this.solo.player, state: this.solo.text };
  }

  /** @param {string} key */
  key(key) {
    this.stop();
    return this.solo.key(key);
  }

  /** Shows the state of the link, or the home of the army, once the tables are known. */
  openWanted() {
    const { app, wanted } = this;
    const table = app.tables.find(({ name }) => name === wanted.table) ?? this.solo.table ?? preferred(app.tables);
    if (!table) return;
    this.wanted = {};
    const player = wanted.player === "o" ? "o" : wanted.player === "x" ? "x" : this.solo.player;
    this.line = null;
    this.stop();
    const cells = wanted.state ? this.parse(wanted.state, table, player) : null;
    this.solo.start(table, player, cells ?? home(table.side, table.pieces, player));
  }

  /**
   * Returns the cells of a state in any of its four forms, or null after an error.
   * @param {string} text
   * @param {TableInfo} table
   * @param {Side} player
   */
  parse(text, table, player) {
    try {
      return parseState(text, table, player);
    } catch (error) {
      this.app.fail(error);
      return null;
    }
  }

  changed() {
    const { steps, index } = this.solo;
    const onLine =
      this.line &&
      steps
        .slice(this.lineStart, index + 1)
        .every((step, at) => at === 0 || step.path.join() === this.line?.line[at - 1]?.path.join());
    if (!onLine || index < this.lineStart) this.line = null;
    this.app.update();
  }

  update() {
    const { app, solo } = this;
    if (app.tables.length > 0 && (!solo.table || Object.keys(this.wanted).some((key) => key !== "view")))
      this.openWanted();
    const { state, table } = solo;
    const summary = !table
      ? "Build a table to see distances."
      : state
        ? `${state.category === "goal" ? "The goal" : capital(distanceSpoken(state))}.`
        : "";
    solo.show({ overlay: this.overlay, movable: true, status: summary });
    this.drawTools();
    this.drawFacts();
    this.drawLine();
    showOffer(this.offer, app, table?.side ?? 9, table?.pieces ?? 6);
    if (state && this.said !== solo.text) announce(summary);
    if (state) this.said = solo.text;
  }

  drawTools() {
    const { app, solo } = this;
    const { table } = solo;
    if (!table) return fill(this.tools, h("p.note", {}, "This view needs a table of distances."));
    const key = JSON.stringify([app.tables.map(({ name }) => name), table.name, solo.player, solo.text, this.overlay]);
    if (this.toolsKey === key) return;
    this.toolsKey = key;
    const tables = /** @type {[string, string][]} */ (app.tables.map(({ name }) => [name, name]));
    const text = h("input", {
      type: "text",
      value: solo.text,
      spellcheck: false,
      autocomplete: "off",
      "data-name": "state",
      "data-key": "state",
    });
    const distance = h("input", {
      type: "number",
      min: 0,
      max: table.max_distance,
      value: this.lastDistance ?? Math.round(table.max_distance / 2),
      "data-name": "distance",
      "data-key": "distance",
    });
    fill(
      this.tools,
      h(
        "div.pair",
        {},
        choice("Table", tables, table.name, (name) => app.visit({ view: "distances", table: name }), {
          "data-name": "table",
          "data-key": "table",
        }),
        choice(
          "Army",
          [
            ["x", "x"],
            ["o", "o"],
          ],
          solo.player,
          (player) => app.visit({ view: "distances", table: table.name, player }),
          { "data-name": "army", "data-key": "army" },
        ),
      ),
      h(
        "form.inline",
        { submit: (event) => [event.preventDefault(), this.setState(text.value)] },
        h("label.field", {}, h("span", {}, "Cells, position or #rank"), text),
        h("button", { type: "submit" }, h("span", {}, "Show")),
      ),
      h(
        "form.inline",
        { submit: (event) => [event.preventDefault(), this.random(Number(distance.value))] },
        h("label.field", {}, h("span", {}, "Random state at distance"), distance),
        h("button", { type: "submit", "data-action": "random" }, h("span", {}, "Draw")),
      ),
      segments("On the board", "solo-overlay", OVERLAYS, this.overlay, (value) => this.setOverlay(value)),
      h(
        "div.row-actions",
        {},
        button("Home", () => this.setState(home(table.side, table.pieces, solo.player).join(",")), {
          "data-key": "home",
        }),
        button("Link", () => app.share(), { icon: "link", "data-action": "share", "data-key": "share" }),
      ),
    );
  }

  /** @param {"change" | "heat" | "off"} overlay */
  setOverlay(overlay) {
    this.overlay = overlay;
    this.app.stage.board.select(null);
    this.app.update();
  }

  /** @param {string} text */
  setState(text) {
    const { solo } = this;
    const cells = solo.table && this.parse(text, solo.table, solo.player);
    if (!solo.table || !cells) return;
    this.stop();
    this.line = null;
    solo.start(solo.table, solo.player, cells);
  }

  /** @param {number} distance */
  async random(distance) {
    const { table, player } = this.solo;
    if (!table) return;
    this.lastDistance = distance;
    try {
      const { state } = await this.app.facts.random(table.name, distance, player, Math.floor(Math.random() * 2 ** 31));
      this.setState(state);
    } catch (error) {
      this.app.fail(error);
    }
  }

  drawFacts() {
    const { state } = this.solo;
    if (!state) {
      fill(this.facts, h("p.note", {}, this.solo.fault || "…"));
      return refill(this.list, null, () => []);
    }
    const kinds = { goal: "in the goal", exact: "exact", bound: "an upper bound", outside: "outside the table" };
    fill(
      this.facts,
      h(
        "p.figure",
        { "data-name": "distance" },
        h("strong", {}, distanceText(state)),
        h("span", {}, `${state.distance === 1 ? "move" : "moves"} to the goal`),
        h("span.kind", { "data-kind": state.category }, kinds[state.category]),
      ),
      h("p.note", {}, `Rank ${state.rank.toLocaleString("en")}`),
    );
    if (state.moves.length > 0) showMoves(this.list, state.moves, (row) => this.solo.play(row.path));
    else refill(this.list, "none", () => [h("p.note", {}, "No moves.")]);
  }

  drawLine() {
    const { solo, line } = this;
    if (!solo.state || solo.state.distance === null)
      return fill(this.lineBox, h("p.note", {}, "The table does not cover this state."));
    if (solo.state.distance === 0 && !line) return fill(this.lineBox, h("p.note", {}, "All pieces are in the goal."));
    if (!line)
      return fill(
        this.lineBox,
        button("Show a shortest line", () => this.loadLine(), { "data-action": "line", "data-key": "line" }),
      );
    const at = solo.index - this.lineStart;
    const moves = line.line.map(({ move }, number) =>
      h(
        "li",
        {},
        h(
          "button.move",
          {
            type: "button",
            "aria-current": number + 1 === at ? "step" : null,
            "data-key": `line-${number}`,
            click: () => this.goLine(number + 1),
          },
          move.replace("-", "–"),
        ),
      ),
    );
    const playing = this.timer !== 0;
    fill(
      this.lineBox,
      h(
        "div.row-actions",
        {},
        button(playing ? "Pause" : "Play", () => (playing ? this.stop() : this.playLine()), {
          icon: playing ? "pause" : "play",
          "data-action": "play-line",
          "data-key": "play-line",
        }),
        h("span.note", {}, `${at} of ${count(line.line.length, "move")}${line.exact ? "" : ", an upper bound"}`),
      ),
      h("ol.line-moves", {}, ...moves),
    );
  }

  async loadLine() {
    const { solo } = this;
    if (!solo.table) return;
    const { index, text } = solo;
    try {
      const line = await this.app.facts.line(solo.table.name, text, solo.player);
      if (solo.text !== text) return;
      [this.line, this.lineStart] = [line, index];
      this.app.update();
    } catch (error) {
      this.app.fail(error);
    }
  }

  /**
   * Shows the state after some moves of the line.
   * @param {number} moves
   */
  goLine(moves) {
    const { solo, line } = this;
    if (!line) return;
    const first = solo.steps[this.lineStart];
    const steps = line.line.slice(0, moves).reduce(
      (found, { path }) => {
        const last = found[found.length - 1];
        const cells = last.cells.map((cell) => (cell === path[0] ? path[path.length - 1] : cell));
        return [...found, { cells, path }];
      },
      [first],
    );
    solo.steps = [...solo.steps.slice(0, this.lineStart), ...steps];
    solo.index = solo.steps.length - 1;
    solo.load();
  }

  playLine() {
    const { solo, line } = this;
    if (!line) return;
    const at = solo.index - this.lineStart;
    this.goLine(at >= line.line.length ? 0 : at + 1);
    this.timer = window.setTimeout(() => {
      if (solo.index - this.lineStart < line.line.length && this.line === line) this.playLine();
      else this.stop();
    }, PERIOD);
    this.app.update();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.app.update();
  }
}

/**
 * Returns the cells of a state: cells, a position string, or a rank after `#`.
 * @param {string} text
 * @param {TableInfo} table
 * @param {Side} player
 */
export function parseState(text, table, player) {
  const trimmed = text.trim();
  const rank = /^#(\d{1,20})$/.exec(trimmed);
  const cells = rank
    ? unrank(BigInt(rank[1]), table.side, table.pieces, player)
    : trimmed === "startpos"
      ? home(table.side, table.pieces, player)
      : trimmed.includes("/")
        ? army(checkSize(parsePosition(trimmed), table.side), player)
        : parseArmy(trimmed, table.side);
  if (cells.length !== table.pieces) throw new Error(`expected ${count(table.pieces, "piece")}, got ${cells.length}`);
  return cells;
}

/**
 * @param {import("../notation.js").Placement} placement
 * @param {number} size
 */
function checkSize(placement, size) {
  if (placement.size !== size)
    throw new Error(
      `expected a position of the ${size} × ${size} board, got one of ${placement.size} × ${placement.size}`,
    );
  return placement;
}

/**
 * Returns the table to begin with: the largest whole one of 9 × 9, or else the first.
 * @param {TableInfo[]} tables
 */
export function preferred(tables) {
  const usual = tables.filter(({ side }) => side === 9).sort((a, b) => b.states - a.states);
  return usual.find(({ pieces }) => pieces === 6) ?? usual[0] ?? tables[0] ?? null;
}

const capital = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1);
