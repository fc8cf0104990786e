/** Tables: what there is, how far states are, and building. */

import { api } from "../api.js";
import { SIZES } from "../geometry.js";
import { button, choice, fill, h, notify, panel, s } from "../dom.js";
import { choose } from "../notation.js";
import { costText, partOf, showRunning } from "../build-card.js";
import { bytesText, count, shortCount } from "../text.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../types.js").TableInfo} TableInfo
 */

/** The largest number of pieces of an army. */
const MOST = 15;

export class TablesView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = "Tables";
    /** @type {import("../dom.js").Icon} */
    this.icon = "table";
    this.wide = true;
    this.size = 9;
    this.pieces = 6;
    /** The covered cells that the user has chosen, null for all; undefined for the proposal of the server. @type {number | null | undefined} */
    this.within = undefined;
    /** The name of the table whose deletion the user is asked to confirm. */
    this.asked = "";
    /** @type {Map<string, number[]>} */
    this.layers = new Map();
    this.list = h("div.table-list");
    this.form = h("div.form");
    this.running = h("div.offer");
    this.left = h("div", {}, panel("Build a table", this.form), this.running);
    this.right = h("div", {}, panel("Tables", this.list));
  }

  show() {
    this.app.refreshTables();
    this.app.builds.refresh();
  }

  hide() {}

  link() {
    return { view: "tables" };
  }

  key() {
    return false;
  }

  update() {
    this.drawForm();
    this.drawList();
    this.running.hidden = this.app.builds.running().length === 0;
    showRunning(this.running, this.app.builds);
  }

  /** @param {Partial<{size: number, pieces: number, within: number | null}>} change */
  change(change) {
    this.within = undefined;
    Object.assign(this, change);
    this.pieces = Math.min(this.pieces, this.most());
    this.update();
  }

  most() {
    return Math.min(MOST, this.size * this.size - 1);
  }

  drawForm() {
    const { size, pieces } = this;
    const offer = this.app.builds.offer(size, pieces);
    const proposed = offer ? (partOf(offer) ?? null) : null;
    const within = this.within === undefined ? proposed : this.within;
    const cells = within ?? size * size;
    const sizes = /** @type {[string, string][]} */ (SIZES.map((side) => [`${side}`, `${side} × ${side}`]));
    const counts = /** @type {[string, string][]} */ (
      Array.from({ length: this.most() }, (_, at) => [`${at + 1}`, `${at + 1}`])
    );
    const part = h("input", {
      type: "number",
      min: pieces,
      max: size * size,
      value: cells,
      "data-name": "within",
      "data-key": "within",
      change: () => {
        const asked = Number(part.value);
        // The new field shows the number that is taken.
        part.value = part.defaultValue;
        this.change({ within: asked >= size * size ? null : Math.max(pieces, asked) });
      },
    });
    const known = this.app.tables.some(
      (table) => table.side === size && table.pieces === pieces && table.within === cells,
    );
    fill(
      this.form,
      h(
        "div.triple",
        {},
        choice("Board", sizes, `${size}`, (value) => this.change({ size: Number(value) }), {
          "data-name": "size",
          "data-key": "size",
        }),
        choice("Pieces", counts, `${pieces}`, (value) => this.change({ pieces: Number(value) }), {
          "data-name": "pieces",
          "data-key": "pieces",
        }),
        h("label.field", {}, h("span", {}, "Cells"), part),
      ),
      ...this.formNotes(cells, offer, this.within === undefined && proposed !== null),
      known
        ? h("p.note", {}, "This table exists.")
        : button("Build", () => this.app.builds.start(size, pieces, within ?? undefined), {
            primary: true,
            "data-action": "build",
            "data-key": "build",
            disabled: this.app.builds.running().length > 0 || (this.within === undefined && !offer),
          }),
    );
  }

  /**
   * Returns the texts about the table to build.
   * @param {number} cells the covered cells
   * @param {import("../types.js").Offer | null} offer
   * @param {boolean} proposed whether the offer is a part that the user has not chosen
   */
  formNotes(cells, offer, proposed) {
    const { size, pieces } = this;
    const states = Number(choose(cells, pieces));
    const whole = cells === size * size;
    const cost = offer && states === offer.states ? costText(offer) : `${count(states, "state")}, ${bytesText(states)}`;
    const notes = [
      h("p.note", {}, `${cost}. ${whole ? "The whole board." : `A part: the ${cells} cells nearest the goal.`}`),
    ];
    if (!offer || !proposed) return notes;
    const reason = `The whole board has ${shortCount(offer.whole_states)} states and takes ${bytesText(offer.whole_states)}. Proposed are at most ${shortCount(offer.max_states)} states, which are built in memory in a minute or two.`;
    const all = button("Take the whole board", () => this.change({ within: null }), {
      "data-action": "whole",
      "data-key": "whole",
    });
    return [...notes, h("p.note", { "data-name": "reason" }, reason), h("div.row-actions", {}, all)];
  }

  drawList() {
    const { tables, unreadable } = this.app;
    const empty = tables.length + unreadable.length === 0;
    fill(
      this.list,
      empty ? h("p.note", {}, "No tables yet. Build one to see distances, puzzles and shortest lines.") : null,
      ...tables.map((table) => this.card(table)),
      ...unreadable.map(({ name, error }) =>
        h("article.table-card", {}, h("h3", {}, name), h("p", { class: "fault" }, error)),
      ),
    );
  }

  /** @param {TableInfo} table */
  card(table) {
    const whole = table.within === table.side ** 2;
    const facts = /** @type {[string, string][]} */ ([
      ["Board", `${table.side} × ${table.side}, ${count(table.pieces, "piece")}`],
      ["Covers", whole ? "every state" : `states within ${table.within} cells`],
      ["States", table.states.toLocaleString("en")],
      ["From the start", table.start_distance === null ? "not covered" : count(table.start_distance, "move")],
      ["Farthest", count(table.max_distance, "move")],
      ["Exact", table.exact_to === null || whole ? "all distances" : `up to ${count(table.exact_to, "move")}`],
      ["File", `${bytesText(table.bytes)}, ${table.encoding}${table.mirrored ? ", mirrored" : ""}`],
    ]);
    const layers = this.layers.get(table.name);
    if (!layers) this.loadLayers(table);
    return h(
      "article.table-card",
      {},
      h("h3", {}, table.name),
      h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      layers && layers.length > 0
        ? h("figure", {}, histogram(layers), h("figcaption", {}, "States at each distance"))
        : null,
      this.asked === table.name ? this.confirmation(table) : null,
      h(
        "div.row-actions",
        {},
        button("Explore", () => this.app.visit({ view: "distances", table: table.name }), {
          icon: "flame",
          "data-action": "explore",
          "data-key": `explore-${table.name}`,
        }),
        this.app.deletes && this.asked !== table.name
          ? button("Delete", () => this.ask(table.name), {
              icon: "trash",
              "data-action": "delete-table",
              "data-key": `delete-${table.name}`,
            })
          : null,
      ),
    );
  }

  /** @param {string} name the table to delete, or an empty text */
  ask(name) {
    const key = name ? `keep-${name}` : `delete-${this.asked}`;
    this.asked = name;
    this.update();
    const target = this.list.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (target instanceof HTMLElement) target.focus();
  }

  /**
   * Returns the question whether a table is to be deleted.
   * @param {TableInfo} table
   */
  confirmation(table) {
    const text = `Delete ${table.name} (${bytesText(table.bytes)}) from the disk? Only a new build brings it back.`;
    return h(
      "div.confirm",
      { role: "alertdialog", "aria-label": `Delete ${table.name}`, "aria-describedby": "delete-question" },
      h("p", { id: "delete-question" }, text),
      h(
        "div.row-actions",
        {},
        button("Keep it", () => this.ask(""), { "data-action": "keep-table", "data-key": `keep-${table.name}` }),
        button("Delete the file", () => this.delete(table), {
          icon: "trash",
          "data-action": "confirm-delete",
          "data-key": `confirm-${table.name}`,
        }),
      ),
    );
  }

  /** @param {TableInfo} table */
  async delete(table) {
    this.asked = "";
    try {
      await api.deleteTable(table.name, table.checksum);
      await this.app.refreshTables();
      this.layers.delete(table.name);
      notify(`The table ${table.name} is deleted.`);
      this.app.session.forget();
    } catch (error) {
      this.app.fail(error);
      await this.app.refreshTables();
    }
  }

  /** @param {TableInfo} table */
  loadLayers(table) {
    this.layers.set(table.name, []);
    api.table(table.name).then(
      (full) => {
        this.layers.set(table.name, full.layers ?? []);
        this.app.update();
      },
      (error) => this.app.fail(error),
    );
  }
}

/**
 * Draws the number of states at each distance.
 * @param {number[]} layers
 */
function histogram(layers) {
  const most = Math.max(...layers);
  const width = 300 / layers.length;
  const bars = layers.map((states, distance) => {
    const height = Math.max(0.5, (70 * states) / most);
    const bar = s("rect", { x: distance * width + 0.5, y: 72 - height, width: Math.max(0.5, width - 1), height });
    bar.append(s("title", {}, `${distance}: ${count(states, "state")}`));
    return bar;
  });
  const middle = layers.indexOf(most);
  const labels = [0, middle, layers.length - 1].map((distance) =>
    s("text", { x: (distance + 0.5) * width, y: 84, "text-anchor": "middle" }, distance),
  );
  const label = `${shortCount(most)} states at distance ${middle} are the most; the farthest are ${layers.length - 1} moves away.`;
  return s("svg", { class: "histogram", viewBox: "0 0 300 88", role: "img", "aria-label": label }, ...bars, ...labels);
}
