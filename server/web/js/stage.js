/** The board with the plates of both players and the buttons below. */

import { Board } from "./board.js";
import { home, other } from "./geometry.js";
import { fill, h, iconButton, s, set } from "./dom.js";
import { load, save } from "./storage.js";

/**
 * @typedef {import("./types.js").Side} Side
 *
 * @typedef {object} Plate what is shown about an army
 * @property {Side} side
 * @property {string} name the player
 * @property {string} text the distance to the goal
 * @property {string} detail
 * @property {number} done the part of the way that lies behind, 0 to 1
 * @property {boolean} turn
 */

/** @type {("edges" | "all" | "none")[]} */
const NAMES = ["edges", "all", "none"];

export class Stage {
  constructor() {
    this.board = new Board();
    /** @type {Side} */
    this.bottom = load("bottom", /** @type {Side} */ ("x")) === "o" ? "o" : "x";
    this.top = h("div.plate.top");
    this.low = h("div.plate.low");
    this.status = h("p.status");
    this.controls = h("div.controls", { role: "toolbar", "aria-label": "Moves" });
    const tools = h(
      "div.tools",
      { role: "toolbar", "aria-label": "Board" },
      iconButton("Turn the board", "flip", () => this.flip(), { "data-action": "flip" }),
      iconButton("Names of cells", "names", () => this.nextNames(), { "data-action": "names" }),
    );
    const frame = h("div.frame", {}, this.board.element, this.top, this.low, tools);
    this.element = h("div.stage", {}, this.status, frame, this.controls);
    this.board.set({ bottom: this.bottom, names: NAMES.find((name) => name === load("names", "edges")) ?? "edges" });
    /** Called after the board was turned. */
    this.onFlip = () => {};
  }

  flip() {
    this.turn(other(this.bottom));
    save("bottom", this.bottom);
    this.onFlip();
  }

  /**
   * Puts the home of a side at the bottom.
   * @param {Side} bottom
   */
  turn(bottom) {
    this.bottom = bottom;
    this.board.set({ bottom });
  }

  nextNames() {
    const next = NAMES[(NAMES.indexOf(this.board.config.names) + 1) % NAMES.length];
    save("names", next);
    this.board.set({ names: next });
  }

  /**
   * Shows the plates of the armies, each at its home.
   * @param {Plate[]} plates
   */
  plates(plates) {
    for (const [element, side] of /** @type {[HTMLElement, Side][]} */ ([
      [this.top, other(this.bottom)],
      [this.low, this.bottom],
    ])) {
      const plate = plates.find((other) => other.side === side);
      element.hidden = !plate;
      if (plate) showPlate(element, plate);
    }
  }

  /**
   * Shows the homes of a board.
   * @param {number} size
   * @param {number} pieces
   */
  homes(size, pieces) {
    return { x: home(size, pieces, "x"), o: home(size, pieces, "o") };
  }
}

/**
 * @param {HTMLElement} element
 * @param {Plate} plate
 */
function showPlate(element, { side, name, text, detail, done, turn }) {
  element.dataset.side = side;
  element.classList.toggle("turn", turn);
  const bar = s(
    "svg",
    { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "rest", width: 100, height: 4 }),
    s("rect", { class: "done", width: Math.round(100 * Math.max(0, Math.min(1, done))), height: 4 }),
  );
  fill(
    element,
    h("p.who", {}, sideBadge(side), h("span.name", {}, name), turn ? h("span.to-move", {}, "to move") : null),
    h("p.way", {}, h("strong", {}, text), " ", h("span", {}, detail)),
    bar,
  );
}

/**
 * Returns the picture of a piece, for texts.
 * @param {Side} side
 */
export function sideBadge(side) {
  const glyph =
    side === "x"
      ? s("path", { class: "glyph", d: "M7 7l6 6M7 13l6-6" })
      : s("circle", { class: "glyph", cx: 10, cy: 10, r: 3.6 });
  const picture = s(
    "svg",
    { class: `badge ${side}`, viewBox: "0 0 20 20", role: "img" },
    s("circle", { class: "body", cx: 10, cy: 10, r: 9 }),
    glyph,
  );
  set(picture, { "aria-label": side });
  return picture;
}
