/** The graph of a game: the value of each position for x, and the lead by the table. */

import { h, s, set } from "./dom.js";
import { valueHeight, valueText } from "./text.js";

/**
 * @typedef {import("./evaluations.js").Evaluations} Evaluations
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./tree.js").Node} Node
 *
 * @typedef {object} Series
 * @property {string} name a name that the style sheet knows
 * @property {(number | null)[]} heights -1 to 1 for each ply; null where nothing is known
 */

/** The graph of the shown line of a game, with its legend. A press on it goes to the position. */
export class GameGraph {
  /** @param {(node: Node | undefined) => void} go */
  constructor(go) {
    /** @type {Node[]} */
    this.line = [];
    this.picture = s("svg", {
      class: "graph",
      click: (/** @type {MouseEvent} */ event) => go(this.line[plyAt(this.picture, event.clientX)]),
    });
    const legend = h("p.legend", {}, h("span", {}, "value for x"), h("span.lead", {}, "lead of x by the table"));
    this.element = h("div.graph-box", {}, this.picture, legend);
  }

  /**
   * @param {Session} session
   * @param {Evaluations} evaluations
   */
  show({ tree, node }, evaluations) {
    const line = tree.shownLine();
    this.line = line;
    const values = line.map((other) => evaluations.forX(other));
    const heights = values.map((value) => (value ? valueHeight(value) : null));
    const leads = line
      .map((other) => evaluations.lead(other))
      .map((lead) => (lead === null ? null : Math.tanh(lead / 8) * 0.95));
    const known = heights.filter((height) => height !== null).length;
    const now = evaluations.forX(node);
    const label = `Evaluation graph: ${known} of ${line.length} positions have a value.`;
    showGraph(
      this.picture,
      [
        { name: "lead", heights: leads },
        { name: "value", heights },
      ],
      node.depth,
      `${label}${now ? ` Now ${valueText(now)} for x.` : ""}`,
    );
    this.element.hidden = line.length < 2 || (known === 0 && leads.every((lead) => lead === null));
  }
}

/**
 * Shows a graph.
 * @param {SVGElement} picture
 * @param {Series[]} series
 * @param {number} current the ply that is marked
 * @param {string} label
 */
function showGraph(picture, series, current, label) {
  const plies = Math.max(1, ...series.map(({ heights }) => heights.length - 1));
  const x = (/** @type {number} */ ply) => (300 * ply) / plies;
  const y = (/** @type {number} */ height) => 50 - 46 * height;
  set(picture, {
    viewBox: "-4 0 308 100",
    role: "img",
    "aria-label": label,
    preserveAspectRatio: "none",
    "data-plies": plies,
  });
  const lines = series.flatMap(({ name, heights }) => {
    const points = heights.map((height, ply) => (height === null ? null : [x(ply), y(height)]));
    const parts = runs(points).map((run) => run.map(([px, py]) => `${round(px)},${round(py)}`).join(" "));
    const areas =
      name === "value"
        ? runs(points).map((run) =>
            s("polygon", {
              class: "area",
              points: `${round(run[0][0])},50 ${run.map(([px, py]) => `${round(px)},${round(py)}`).join(" ")} ${round(run[run.length - 1][0])},50`,
            }),
          )
        : [];
    return [...areas, ...parts.map((part) => s("polyline", { class: name, points: part }))];
  });
  picture.replaceChildren(
    s("line", { class: "axis", x1: 0, x2: 300, y1: 50, y2: 50 }),
    ...lines,
    s("line", { class: "now", x1: x(current), x2: x(current), y1: 0, y2: 100 }),
  );
}

/**
 * Returns the ply at a place of a graph.
 * @param {SVGElement} picture
 * @param {number} clientX
 */
function plyAt(picture, clientX) {
  const { left, width } = picture.getBoundingClientRect();
  const plies = Number(picture.getAttribute("data-plies"));
  const part = (((clientX - left) / width) * 308 - 4) / 300;
  return Math.max(0, Math.min(plies, Math.round(part * plies)));
}

/**
 * Returns the parts of a list between its nulls.
 * @param {(number[] | null)[]} points
 */
function runs(points) {
  /** @type {number[][][]} */
  const found = [];
  points.forEach((point, at) => {
    if (!point) return;
    if (at === 0 || !points[at - 1]) found.push([]);
    found[found.length - 1].push(point);
  });
  return found;
}

const round = (/** @type {number} */ number) => Math.round(10 * number) / 10;
