/** Tables: what there is, how far states are, and building. */

import { api } from "../api.js";
import { SIZES } from "../geometry.js";
import { button, choice, fill, h, panel, s } from "../dom.js";
import { choose } from "../notation.js";
import { sensiblePrefix, showRunning, sizeText } from "../build-card.js";
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
    /** @type {number | null} */
    this.within = null;
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
    Object.assign(this, change);
    this.pieces = Math.min(this.pieces, this.most());
    if (!("within" in change)) this.within = sensiblePrefix(this.size, this.pieces) ?? null;
    this.update();
  }

  most() {
    return Math.min(MOST, this.size * this.size - 1);
  }

  drawForm() {
    const { size, pieces, within } = this;
    const cells = within ?? size * size;
    const states = Number(choose(cells, pieces));
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
      h(
        "p.note",
        {},
        `${count(states, "state")}, ${sizeText(states)}. ${within ? `A part: the ${cells} cells nearest the goal.` : "The whole board."}`,
      ),
      known
        ? h("p.note", {}, "This table exists.")
        : button("Build", () => this.app.builds.start(size, pieces, within ?? undefined), {
            primary: true,
            "data-action": "build",
            "data-key": "build",
            disabled: this.app.builds.running().length > 0,
          }),
    );
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
      h(
        "div.row-actions",
        {},
        button("Explore", () => this.app.visit({ view: "distances", table: table.name }), {
          icon: "flame",
          "data-action": "explore",
          "data-key": `explore-${table.name}`,
        }),
      ),
    );
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
