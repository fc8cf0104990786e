/** Shows a two-player game on the stage: pieces, moves, distances, plates and the buttons to step through it. */

import { api, isAbort } from "./api.js";
import { army } from "./notation.js";
import { h, iconButton, refill } from "./dom.js";
import { rowsToGo } from "./geometry.js";
import { count, distanceText, resultText } from "./text.js";
import { changeMarks, heatMarks, pieceMarks } from "./marks.js";

/**
 * @typedef {Pick<import("./app.js").App, "session" | "stage" | "fail">} Host
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").MoveRow} MoveRow
 * @typedef {import("./types.js").Position} Position
 * @typedef {import("./board.js").Mark} Mark
 * @typedef {"off" | "change" | "heat"} Overlay
 *
 * @typedef {object} GameOptions
 * @property {boolean} movable whether the user may play a move
 * @property {Overlay} overlay
 * @property {{x: string, o: string}} names the players
 * @property {{path: string[], tone: string}[]} arrows
 * @property {(move: string) => void} play
 * @property {HTMLElement[]} [actions] buttons beside those that step through the game
 */

export class GameStage {
  /** @param {Host} app */
  constructor(app) {
    this.app = app;
    /** @type {GameOptions} */
    this.options = { movable: true, overlay: "off", names: { x: "x", o: "o" }, arrows: [], play: () => {} };
    /** The heat map of the selected piece. @type {Map<string, Mark> | null} */
    this.heat = null;
    this.abort = new AbortController();
  }

  /**
   * Shows the current position of the session.
   * @param {GameOptions} options
   */
  show(options) {
    this.options = options;
    const { session, stage } = this.app;
    const { size, pieces } = session.placement;
    const facts = session.facts;
    const over = session.result(session.node) !== null;
    const moves = options.movable && facts && !over ? facts.moves : [];
    stage.board.set({
      size,
      pieces,
      homes: stage.homes(size, session.pieces),
      destinations: destinations(moves),
      paths: new Map(moves.map((row) => [row.move, row.path])),
      lastMove: session.path(session.node),
      arrows: options.arrows,
      marks: this.marks(stage.board.selected),
      label: `Board, ${size} by ${size}. ${this.turnText()} Arrow keys move between cells, Enter selects and plays.`,
      onSelect: (cell) => this.selected(cell),
      onMove: (from, to) => options.play(`${from}-${to}`),
      onClick: () => {},
    });
    stage.plates([this.plate("o"), this.plate("x")]);
    stage.status.textContent = this.statusText();
    stage.status.dataset.kind = session.fault ? "error" : over ? "over" : "";
    const actions = options.actions ?? [];
    const { node, tree } = session;
    const key = [node.depth, node.position, tree.shownLine().length, actions.map((action) => action.outerHTML)];
    refill(stage.controls, key, () => [h("div.steps", {}, ...this.controls()), ...actions]);
  }

  /**
   * Returns the marks of the cells.
   * @param {string | null} selected
   * @returns {Map<string, Mark>}
   */
  marks(selected) {
    const { overlay, movable } = this.options;
    const facts = this.app.session.facts;
    if (!facts || facts.result || overlay === "off" || !movable) return new Map();
    if (!selected) return pieceMarks(facts.moves);
    if (overlay === "heat" && this.heat) return this.heat;
    return changeMarks(facts.moves, selected);
  }

  /** @param {string | null} cell */
  selected(cell) {
    const { session, stage } = this.app;
    this.heat = null;
    this.abort.abort();
    stage.board.set({ marks: this.marks(cell) });
    const facts = session.facts;
    if (!cell || this.options.overlay !== "heat" || !facts?.table) return;
    this.abort = new AbortController();
    this.loadHeat(facts, cell, this.abort.signal).catch((error) => !isAbort(error) && this.app.fail(error));
  }

  /**
   * @param {Position} facts
   * @param {string} cell
   * @param {AbortSignal} signal
   */
  async loadHeat(facts, cell, signal) {
    const { session, stage } = this.app;
    const state = army(session.placement, facts.player).join(",");
    const cells = await api.heat(facts.table ?? "", state, facts.player, cell, signal);
    const { pieces } = session.placement;
    this.heat = heatMarks(
      cells.filter((other) => other.cell === cell || !pieces.has(other.cell)),
      cell,
    );
    stage.board.set({ marks: this.marks(stage.board.selected) });
  }

  /**
   * @param {Side} side
   * @returns {import("./stage.js").Plate}
   */
  plate(side) {
    const { session } = this.app;
    const { size, player } = session.placement;
    const distance = session.facts?.distances[side];
    const rows = rowsToGo(army(session.placement, side), size, side);
    const whole = rowsToGo(this.app.stage.homes(size, session.pieces)[side], size, side);
    const known = distance && distance.distance !== null;
    return {
      side,
      name: this.options.names[side],
      text: known ? distanceText(distance) : `${rows}`,
      detail: known ? `${distance.distance === 1 ? "move" : "moves"} to go` : `${rows === 1 ? "row" : "rows"} to go`,
      done: whole > 0 ? 1 - rows / whole : 0,
      turn: player === side && !session.result(session.node),
    };
  }

  turnText() {
    const { session } = this.app;
    const result = session.result(session.node);
    return result ? resultText(result) : `${session.placement.player} to move.`;
  }

  statusText() {
    const { session } = this.app;
    const facts = session.facts;
    if (session.fault) return session.fault;
    const lead = facts?.lead;
    if (!facts || facts.result || lead === null || lead === undefined) return this.turnText();
    const race =
      lead === 0
        ? "The race is level."
        : `${lead > 0 ? "x" : "o"} is ${count(Math.abs(lead), "move")} nearer to its goal.`;
    return `${this.turnText()} ${race}${facts.separated ? " The armies no longer meet." : ""}`;
  }

  controls() {
    const { session } = this.app;
    const { node, tree } = session;
    const end = tree.shownLine();
    const last = end[end.length - 1];
    return [
      iconButton("First position (Home)", "first", () => session.go(tree.root), {
        disabled: !node.parent,
        "data-key": "first",
      }),
      iconButton("Move back (←)", "previous", () => session.go(node.parent), {
        disabled: !node.parent,
        "data-key": "previous",
      }),
      iconButton("Move forward (→)", "next", () => session.go(node.children[0]), {
        disabled: node === last,
        "data-key": "next",
      }),
      iconButton("Last position (End)", "last", () => session.go(last), {
        disabled: node === last,
        "data-key": "last",
      }),
    ];
  }
}

/**
 * Returns the destinations of each piece.
 * @param {MoveRow[]} moves
 */
export function destinations(moves) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const { move } of moves) {
    const [from, to] = move.split("-");
    if (to) found.set(from, [...(found.get(from) ?? []), to]);
  }
  return found;
}
