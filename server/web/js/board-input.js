/** Pointer, touch and keyboard on the board. */

import { parseCell, step } from "./geometry.js";
import { set } from "./dom.js";

/** @typedef {import("./board.js").Board} Board */

/** The movement, in cells, from which a press is a drag. */
const DRAG = 0.22;

/** @type {Record<string, "left" | "right" | "up" | "down">} */
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export class BoardInput {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** The press that has not ended. @type {{id: number, from: string, again: boolean, x: number, y: number, moved: boolean} | null} */
    this.press = null;
    /** The cell that the Tab key reaches. @type {string | null} */
    this.focus = null;
    this.across = 0;
    const listeners = {
      pointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      pointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      pointerup: (/** @type {PointerEvent} */ event) => this.up(event),
      pointercancel: () => this.cancel(),
      pointerleave: () => this.board.drawPreview(null),
      keydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      focusin: (/** @type {FocusEvent} */ event) => this.focused(event),
    };
    set(board.element, listeners);
  }

  /** Forgets presses, and makes one cell reachable by the Tab key. */
  reset() {
    this.press = null;
    const { cells } = this.board;
    const name = this.focus && cells.has(this.focus) ? this.focus : "a1";
    this.focus = null;
    this.point(name);
  }

  /** @param {PointerEvent} event */
  down(event) {
    const { board } = this;
    if (event.button !== 0 || this.press) return;
    const cell = board.at(event);
    if (!cell) return board.select(null);
    this.point(cell);
    if (!board.config.destinations.has(cell)) return this.activate(cell);
    const again = board.selected === cell;
    const { x, y } = board.local(event);
    this.press = { id: event.pointerId, from: cell, again, x, y, moved: false };
    board.element.setPointerCapture(event.pointerId);
    board.select(cell);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { board, press } = this;
    if (!press) return board.drawPreview(this.destination(event));
    if (event.pointerId !== press.id) return;
    const { x, y } = board.local(event);
    press.moved ||= Math.hypot(x - press.x, y - press.y) > DRAG;
    const piece = board.pieces.get(press.from);
    if (!press.moved || !piece) return;
    piece.element.classList.add("dragged");
    piece.element.style.transform = `translate(${x}px, ${y}px)`;
    board.drawPreview(this.destination(event));
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { board, press } = this;
    if (!press || event.pointerId !== press.id) return;
    const to = press.moved ? this.destination(event) : null;
    this.cancel();
    if (to) this.play(press.from, to, false);
    else if (!press.moved && press.again) board.select(null);
  }

  /** Puts a dragged piece back. */
  cancel() {
    const { board, press } = this;
    this.press = null;
    const piece = press && board.pieces.get(press.from);
    if (!press || !piece) return;
    piece.element.classList.remove("dragged");
    board.movePiece(piece.element, press.from);
  }

  /**
   * Returns the destination of the selected piece at a point, or null.
   * @param {PointerEvent} event
   */
  destination(event) {
    const cell = this.board.at(event);
    return cell && this.board.reachable().includes(cell) ? cell : null;
  }

  /**
   * Plays, selects or reports a cell.
   * @param {string} cell
   */
  activate(cell) {
    const { board } = this;
    if (board.selected && board.reachable().includes(cell)) return this.play(board.selected, cell, true);
    if (board.config.destinations.has(cell)) return board.select(board.selected === cell ? null : cell);
    board.select(null);
    board.config.onClick(cell);
  }

  /**
   * @param {string} from
   * @param {string} to
   * @param {boolean} animate
   */
  play(from, to, animate) {
    const { board } = this;
    board.select(null);
    // A piece that was dragged is already there.
    const { animate: kept } = board.config;
    board.config.animate = kept && animate;
    board.config.onMove(from, to);
    board.config.animate = kept;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { board } = this;
    const cell = this.focus && parseCell(this.focus, board.config.size);
    if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      const { size, bottom } = board.config;
      const next = step(cell, arrow, this.across, size, bottom);
      if (next) this.point(next.name, true);
      if (next && (arrow === "left" || arrow === "right")) this.across = this.column(next);
    } else if (event.key === "Enter" || event.key === " ") {
      this.activate(cell.name);
    } else if (event.key === "Escape" && board.selected) {
      board.select(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {FocusEvent} event */
  focused(event) {
    const cell = event.target instanceof Element && event.target.closest("[data-cell]")?.getAttribute("data-cell");
    if (!cell) return;
    if (cell !== this.focus) this.point(cell);
    this.board.drawPreview(this.board.reachable().includes(cell) ? cell : null);
  }

  /**
   * Makes a cell the one that the Tab key reaches.
   * @param {string} name
   * @param {boolean} [focus] whether the cell gets the focus too
   */
  point(name, focus = false) {
    const { cells, config } = this.board;
    if (this.focus) cells.get(this.focus)?.group.setAttribute("tabindex", "-1");
    const group = cells.get(name)?.group;
    if (!group) return;
    const moved = this.focus !== name;
    this.focus = name;
    group.setAttribute("tabindex", "0");
    const cell = parseCell(name, config.size);
    if (cell && moved && !focus) this.across = this.column(cell);
    if (focus) group.focus();
  }

  /**
   * @param {{x: number, y: number}} cell
   */
  column(cell) {
    return (cell.x - cell.y) * (this.board.config.bottom === "x" ? 1 : -1);
  }
}
