/** One army alone on the board: its moves, distances and history, for the views that use a table. */

import { isAbort } from "./api.js";
import { rowsToGo } from "./geometry.js";
import { h, iconButton, refill } from "./dom.js";
import { destinations } from "./game-stage.js";
import { changeMarks, heatMarks, pieceMarks } from "./marks.js";
import { distanceText } from "./text.js";

/**
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").TableInfo} TableInfo
 * @typedef {import("./board.js").Mark} Mark
 *
 * @typedef {object} Step
 * @property {string[]} cells
 * @property {string[]} path the hops of the move before
 */

export class Solo {
  /**
   * @param {import("./types.js").TablesApp} app
   * @param {() => void} changed
   */
  constructor(app, changed) {
    this.app = app;
    this.changed = changed;
    /** @type {TableInfo | null} */
    this.table = null;
    /** @type {Side} */
    this.player = "x";
    /** @type {Step[]} */
    this.steps = [];
    this.index = 0;
    /** @type {State | null} */
    this.state = null;
    this.fault = "";
    /** @type {Map<string, Mark> | null} */
    this.heat = null;
    this.abort = new AbortController();
    this.heatAbort = new AbortController();
  }

  get cells() {
    return this.steps[this.index]?.cells ?? [];
  }

  get text() {
    return this.cells.join(",");
  }

  /**
   * Shows a state as the beginning of a new history.
   * @param {TableInfo} table
   * @param {Side} player
   * @param {string[]} cells
   */
  start(table, player, cells) {
    this.table = table;
    this.player = player;
    this.steps = [{ cells, path: [] }];
    this.index = 0;
    this.load();
  }

  /**
   * Moves a piece, and forgets the moves after the shown state.
   * @param {string[]} path
   */
  play(path) {
    const [from, to] = [path[0], path[path.length - 1]];
    const cells = this.cells.map((cell) => (cell === from ? to : cell));
    this.steps = [...this.steps.slice(0, this.index + 1), { cells, path }];
    this.index++;
    this.load();
  }

  /** @param {number} index */
  go(index) {
    const next = Math.max(0, Math.min(this.steps.length - 1, index));
    if (next === this.index) return;
    this.index = next;
    this.load();
  }

  /** Asks for the distance and the moves of the shown state. */
  load() {
    const { table } = this;
    this.abort.abort();
    this.abort = new AbortController();
    this.state = null;
    this.heat = null;
    this.fault = "";
    this.changed();
    if (!table || this.cells.length === 0) return;
    this.app.facts.state(table.name, this.text, this.player, this.abort.signal).then(
      (state) => {
        this.state = state;
        this.changed();
      },
      (error) => {
        if (isAbort(error)) return;
        this.fault = error.message;
        this.changed();
      },
    );
  }

  /** @param {string} key */
  key(key) {
    /** @type {Record<string, number>} */
    const targets = { ArrowLeft: this.index - 1, ArrowRight: this.index + 1, Home: 0, End: this.steps.length - 1 };
    if (!(key in targets)) return false;
    this.go(targets[key]);
    return true;
  }

  /**
   * Shows the army on the stage.
   * @param {{overlay: "off" | "change" | "heat", movable: boolean, status: string, left?: number, arrows?: {path: string[], tone: string}[]}} options
   */
  show({ overlay, movable, status, left, arrows = [] }) {
    const { stage } = this.app;
    const { table, state, player } = this;
    const size = table?.side ?? 9;
    const moves = movable && state ? state.moves : [];
    this.overlay = overlay;
    stage.board.set({
      size,
      pieces: new Map(this.cells.map((cell) => [cell, player])),
      homes: table ? stage.homes(size, table.pieces) : { x: [], o: [] },
      destinations: destinations(moves),
      paths: new Map(moves.map((row) => [row.move, row.path])),
      lastMove: this.steps[this.index]?.path ?? [],
      arrows,
      marks: this.marks(stage.board.selected),
      label: `Board with the army of ${player} alone. ${status}`,
      onSelect: (cell) => this.selected(cell),
      onMove: (from, to) => this.play(moves.find(({ move }) => move === `${from}-${to}`)?.path ?? [from, to]),
      onClick: () => {},
    });
    stage.plates(table ? [this.plate(left)] : []);
    stage.status.textContent = this.fault || status;
    stage.status.dataset.kind = this.fault ? "error" : "";
    refill(stage.controls, ["solo", this.index, this.steps.length], () => [h("div.steps", {}, ...this.controls())]);
  }

  /**
   * @param {number} [left] the moves that are left in a puzzle
   * @returns {import("./stage.js").Plate}
   */
  plate(left) {
    const size = this.table?.side ?? 9;
    const rows = rowsToGo(this.cells, size, this.player);
    const whole = rowsToGo(this.app.stage.homes(size, this.cells.length)[this.player], size, this.player);
    return {
      side: this.player,
      name: `Army of ${this.player}`,
      text: left !== undefined ? `${left}` : this.state ? distanceText(this.state) : "…",
      detail: `${(left ?? this.state?.distance) === 1 ? "move" : "moves"} ${left === undefined ? "to go" : "left"}`,
      done: whole > 0 ? 1 - rows / whole : 0,
      turn: false,
    };
  }

  /**
   * @param {string | null} selected
   * @returns {Map<string, Mark>}
   */
  marks(selected) {
    const { state, overlay } = this;
    if (!state || overlay === "off") return new Map();
    if (!selected) return pieceMarks(state.moves);
    return overlay === "heat" && this.heat ? this.heat : changeMarks(state.moves, selected);
  }

  /** @param {string | null} cell */
  selected(cell) {
    const { stage } = this.app;
    this.heat = null;
    this.heatAbort.abort();
    stage.board.set({ marks: this.marks(cell) });
    if (!cell || this.overlay !== "heat" || !this.table) return;
    this.heatAbort = new AbortController();
    this.app.facts.heat(this.table.name, this.text, this.player, cell, this.heatAbort.signal).then(
      (cells) => {
        this.heat = heatMarks(cells, cell);
        stage.board.set({ marks: this.marks(stage.board.selected) });
      },
      (error) => !isAbort(error) && this.app.fail(error),
    );
  }

  controls() {
    const end = this.steps.length - 1;
    return [
      iconButton("First state (Home)", "first", () => this.go(0), { disabled: this.index === 0, "data-key": "first" }),
      iconButton("Back (←)", "previous", () => this.go(this.index - 1), {
        disabled: this.index === 0,
        "data-key": "previous",
      }),
      iconButton("Forward (→)", "next", () => this.go(this.index + 1), {
        disabled: this.index >= end,
        "data-key": "next",
      }),
      iconButton("Last state (End)", "last", () => this.go(end), { disabled: this.index >= end, "data-key": "last" }),
    ];
  }
}
