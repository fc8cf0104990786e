/**
 * The board: a picture that shows a position and reports what the user does. The board knows no rules; all that it
 * shows and allows comes from `set`.
 */

import { boardCells, cellAt, parseCell, point } from "./geometry.js";
import { s, set } from "./dom.js";
import { BoardInput } from "./board-input.js";

/**
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./geometry.js").Cell} Cell
 *
 * @typedef {object} Mark a colour and a text of a cell
 * @property {string} tone a name that the style sheet knows, such as "better", "equal", "worse" or "heat-3"
 * @property {string} text
 * @property {string} spoken the text for screen readers
 *
 * @typedef {object} BoardConfig
 * @property {number} size cells along an edge
 * @property {Side} bottom the side whose home is at the bottom
 * @property {Map<string, Side>} pieces
 * @property {{x: string[], o: string[]}} homes
 * @property {"edges" | "all" | "none"} names
 * @property {Map<string, string[]>} destinations the cells that each movable piece can reach
 * @property {Map<string, string[]>} paths the hops of moves, by their text
 * @property {string[]} lastMove the hops of the last move, or no cells
 * @property {Map<string, Mark>} marks
 * @property {{path: string[], tone: string}[]} arrows
 * @property {boolean} animate whether changed pieces glide to their new cells
 * @property {string} label the name of the board for screen readers
 * @property {(cell: string | null) => void} onSelect
 * @property {(from: string, to: string) => void} onMove
 * @property {(cell: string) => void} onClick a cell that is neither a movable piece nor a destination
 */

/** The time of a hop in milliseconds. */
const HOP = 170;

/** @type {BoardConfig} */
const EMPTY = {
  size: 9,
  bottom: "x",
  pieces: new Map(),
  homes: { x: [], o: [] },
  names: "edges",
  destinations: new Map(),
  paths: new Map(),
  lastMove: [],
  marks: new Map(),
  arrows: [],
  animate: true,
  label: "Board",
  onSelect: () => {},
  onMove: () => {},
  onClick: () => {},
};

export class Board {
  constructor() {
    this.config = { ...EMPTY };
    /** @type {string | null} */
    this.selected = null;
    /** @type {Map<string, {group: SVGElement, hole: SVGElement, mark: SVGElement, text: SVGElement}>} */
    this.cells = new Map();
    /** @type {Map<string, {side: Side, element: SVGElement}>} */
    this.pieces = new Map();
    this.layers = {
      ground: s("g", { class: "ground", "aria-hidden": "true" }),
      names: s("g", { class: "names", "aria-hidden": "true" }),
      cells: s("g", { class: "cells", role: "presentation" }),
      trail: s("g", { class: "trail", "aria-hidden": "true" }),
      pieces: s("g", { class: "pieces", "aria-hidden": "true" }),
      arrows: s("g", { class: "arrows", "aria-hidden": "true" }),
      preview: s("g", { class: "arrows", "aria-hidden": "true" }),
    };
    this.element = s("svg", { class: "board", role: "grid" }, markers(), ...Object.values(this.layers));
    this.input = new BoardInput(this);
    this.rebuild();
  }

  /**
   * Changes what the board shows. Members that are missing keep their values.
   * @param {Partial<BoardConfig>} change
   */
  set(change) {
    const old = this.config;
    const config = { ...old, ...change };
    this.config = config;
    if (config.size !== old.size || config.bottom !== old.bottom) this.rebuild();
    if (this.selected && !config.destinations.has(this.selected)) this.selected = null;
    this.placePieces();
    this.drawTrail();
    this.drawNames();
    if (!this.selected) this.drawPreview(null);
    this.refresh();
  }

  /**
   * Selects a movable piece, or none.
   * @param {string | null} cell
   */
  select(cell) {
    const next = cell && this.config.destinations.has(cell) ? cell : null;
    if (next === this.selected) return;
    this.selected = next;
    this.config.onSelect(next);
    this.drawPreview(null);
    this.refresh();
  }

  /** Returns the cells that the selected piece can reach. */
  reachable() {
    return this.selected ? (this.config.destinations.get(this.selected) ?? []) : [];
  }

  /**
   * Returns the cell at a point of the window, or null.
   * @param {{clientX: number, clientY: number}} event
   */
  at(event) {
    return cellAt(this.local(event), this.config.size, this.config.bottom)?.name ?? null;
  }

  /**
   * Returns a point of the window in units of the board.
   * @param {{clientX: number, clientY: number}} event
   */
  local({ clientX, clientY }) {
    const matrix = /** @type {SVGSVGElement} */ (this.element).getScreenCTM();
    return matrix ? new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse()) : { x: 99, y: 99 };
  }

  /**
   * Returns the place of a cell.
   * @param {string} name
   */
  place(name) {
    const { size, bottom } = this.config;
    return point(parseCell(name, size) ?? { x: 0, y: 0 }, size, bottom);
  }

  /** Draws the empty board for the size and the orientation. */
  rebuild() {
    const { size, bottom } = this.config;
    const [width, height] = [size + 0.9, (size - 1) * 2 * Math.sqrt(0.75) + 1.9];
    set(this.element, { viewBox: `${-width / 2} ${-height / 2} ${width} ${height}` });
    this.element.style.setProperty("--columns", String(width));
    this.element.style.setProperty("--ratio", String(width / height));
    const last = size - 1;
    const corners = [
      [0, 0],
      [last, 0],
      [last, last],
      [0, last],
    ].map(([x, y]) => point({ x, y }, size, bottom));
    const points = corners.map(({ x, y }) => `${x},${y}`).join(" ");
    this.layers.ground.replaceChildren(s("polygon", { points }));
    this.cells.clear();
    this.pieces.clear();
    this.layers.pieces.replaceChildren();
    const rows = new Map();
    for (const cell of boardCells(size)) {
      const row = cell.x + cell.y;
      if (!rows.has(row)) rows.set(row, s("g", { role: "row" }));
      rows.get(row).append(this.cellElement(cell));
    }
    const ordered = [...rows.values()];
    this.layers.cells.replaceChildren(...(bottom === "x" ? ordered.reverse() : ordered));
    for (const row of ordered) if (bottom !== "x") row.replaceChildren(...[...row.children].reverse());
    this.input.reset();
  }

  /**
   * @param {Cell} cell
   */
  cellElement(cell) {
    const { x, y } = this.place(cell.name);
    const hole = s("circle", { class: "hole", r: 0.37 });
    const mark = s("circle", { class: "mark", r: 0.37 });
    const text = s("text", { class: "label", "aria-hidden": "true" });
    const attributes = {
      class: "cell",
      role: "gridcell",
      tabindex: -1,
      "data-cell": cell.name,
      transform: `translate(${x} ${y})`,
    };
    const group = s("g", attributes, s("circle", { class: "target", r: 0.5 }), hole, mark, text);
    this.cells.set(cell.name, { group, hole, mark, text });
    return group;
  }

  /** Moves, adds and removes pieces so that they agree with the configuration. */
  placePieces() {
    const { pieces, animate, lastMove } = this.config;
    const gone = [...this.pieces].filter(([cell, { side }]) => pieces.get(cell) !== side);
    for (const [cell] of gone) this.pieces.delete(cell);
    const fresh = [...pieces].filter(([cell]) => !this.pieces.has(cell));
    const single = gone.length === 1 && fresh.length === 1;
    for (const [cell, side] of fresh) {
      const index = gone.findIndex(([, piece]) => piece.side === side);
      const [from, piece] = index < 0 ? [null, this.newPiece(side)] : gone.splice(index, 1)[0];
      this.pieces.set(cell, piece);
      this.movePiece(piece.element, cell);
      if (from && animate && single) this.animate(piece.element, hops(from, cell, lastMove));
    }
    for (const [, { element }] of gone) element.remove();
  }

  /**
   * @param {Side} side
   */
  newPiece(side) {
    const glyph =
      side === "x"
        ? s("path", { class: "glyph", d: "M-.12-.12L.12.12M-.12.12L.12-.12" })
        : s("circle", { class: "glyph", r: 0.13 });
    const element = s("g", { class: `piece ${side}` }, s("circle", { class: "body", r: 0.37 }), glyph, s("text", {}));
    this.layers.pieces.append(element);
    return { side, element };
  }

  /**
   * @param {SVGElement} element
   * @param {string} cell
   */
  movePiece(element, cell) {
    const { x, y } = this.place(cell);
    element.style.transform = `translate(${x}px, ${y}px)`;
  }

  /**
   * @param {SVGElement} element
   * @param {string[]} path
   */
  animate(element, path) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const places = path.map((cell) => this.place(cell));
    const frames = places.flatMap(({ x, y }, at) => {
      const rest = { transform: `translate(${x}px, ${y}px)` };
      const next = places[at + 1];
      if (!next) return [rest];
      const middle = { transform: `translate(${(x + next.x) / 2}px, ${(y + next.y) / 2}px) scale(1.16)` };
      return [rest, middle];
    });
    this.layers.pieces.append(element);
    element.animate(frames, { duration: Math.min(HOP * (path.length - 1) + 60, 1200), easing: "ease-in-out" });
  }

  /** Draws the last move and the arrows. */
  drawTrail() {
    const { lastMove, arrows } = this.config;
    const trail =
      lastMove.length > 1
        ? [
            this.polyline(lastMove, "last"),
            this.ring(lastMove[0], "from"),
            this.ring(lastMove[lastMove.length - 1], "to"),
          ]
        : [];
    this.layers.trail.replaceChildren(...trail);
    this.layers.arrows.replaceChildren(...arrows.map(({ path, tone }) => this.arrow(path, tone)));
  }

  /**
   * @param {string[]} path
   * @param {string} name
   */
  polyline(path, name) {
    const points = path
      .map((cell) => this.place(cell))
      .map(({ x, y }) => `${x},${y}`)
      .join(" ");
    return s("polyline", { class: name, points });
  }

  /**
   * @param {string[]} path
   * @param {string} tone
   */
  arrow(path, tone) {
    const places = path.map((cell) => this.place(cell));
    const last = places.length - 1;
    const points = [
      toward(places[0], places[1], 0.38),
      ...places.slice(1, last),
      toward(places[last], places[last - 1], 0.3),
    ];
    const text = points.map(({ x, y }) => `${x},${y}`).join(" ");
    return s("polyline", { class: `arrow ${tone}`, points: text, "marker-end": `url(#head-${tone})` });
  }

  /**
   * @param {string} cell
   * @param {string} name
   */
  ring(cell, name) {
    const { x, y } = this.place(cell);
    return s("circle", { class: name, cx: x, cy: y, r: 0.45 });
  }

  /**
   * Shows the hops of the move to a destination of the selected piece.
   * @param {string | null} to
   */
  drawPreview(to) {
    const path = to && this.selected ? this.config.paths.get(`${this.selected}-${to}`) : null;
    this.layers.preview.replaceChildren(...(path ? [this.arrow(path, "preview")] : []));
  }

  /** Draws the names at the edges. */
  drawNames() {
    const { size, names, bottom } = this.config;
    const labels = [];
    for (let i = 0; names === "edges" && i < size; i++) {
      const edge = bottom === "x" ? 0 : size - 1;
      const [left, right] = [point({ x: edge, y: i }, size, bottom), point({ x: i, y: edge }, size, bottom)];
      labels.push(s("text", { x: left.x - 0.57, y: left.y + 0.36 }, i + 1));
      labels.push(s("text", { x: right.x + 0.57, y: right.y + 0.36 }, "abcdefghijk"[i]));
    }
    this.layers.names.replaceChildren(...labels);
  }

  /** Updates the classes and texts of cells and pieces. */
  refresh() {
    const { config, selected } = this;
    const reachable = new Set(this.reachable());
    set(this.element, {
      "aria-label": config.label,
      class: `board${config.names === "all" ? " named" : ""}${selected ? " selecting" : ""}`,
    });
    for (const [name, parts] of this.cells) {
      const mark = config.marks.get(name);
      const piece = config.pieces.get(name);
      const home = config.homes.x.includes(name) ? " home-x" : config.homes.o.includes(name) ? " home-o" : "";
      const movable = config.destinations.has(name) ? " movable" : "";
      const target = reachable.has(name) ? " destination" : "";
      const chosen = name === selected ? " selected" : "";
      set(parts.group, {
        class: `cell${home}${movable}${target}${chosen}${mark ? ` marked ${mark.tone}` : ""}`,
        "aria-selected": name === selected ? "true" : null,
        "aria-label": [
          name,
          piece ? `piece of ${piece}` : "empty",
          target && "destination",
          chosen && "selected",
          !chosen && movable && "can move",
          mark?.spoken,
        ]
          .filter(Boolean)
          .join(", "),
      });
      parts.text.textContent = piece ? "" : mark?.text || (config.names === "all" ? name : "");
      this.refreshPiece(name, mark);
    }
  }

  /**
   * @param {string} name
   * @param {Mark | undefined} mark
   */
  refreshPiece(name, mark) {
    const piece = this.pieces.get(name);
    if (!piece) return;
    const text = mark?.text || (this.config.names === "all" ? name : "");
    set(piece.element, {
      class: `piece ${piece.side}${text ? " labelled" : ""}${name === this.selected ? " selected" : ""}`,
    });
    const label = piece.element.querySelector("text");
    if (label) label.textContent = text;
  }
}

/**
 * Returns the hops from a cell to another: those of the last move, forwards or backwards, or else a straight line.
 * @param {string} from
 * @param {string} to
 * @param {string[]} path
 */
function hops(from, to, path) {
  const [first, last] = [path[0], path[path.length - 1]];
  if (first === from && last === to) return path;
  return first === to && last === from ? [...path].reverse() : [from, to];
}

/**
 * Returns the point at a distance from another one, in the direction of a third one.
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 * @param {number} far
 */
function toward(from, to, far) {
  const part = far / (Math.hypot(to.x - from.x, to.y - from.y) || 1);
  return { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) };
}

function markers() {
  const head = (/** @type {string} */ tone) =>
    s(
      "marker",
      {
        id: `head-${tone}`,
        class: `head ${tone}`,
        viewBox: "0 0 10 10",
        refX: 5,
        refY: 5,
        markerWidth: 3.4,
        markerHeight: 3.4,
        orient: "auto",
      },
      s("path", { d: "M0 0L10 5L0 10z" }),
    );
  return s("defs", {}, ...["preview", "best", "line"].map(head));
}
