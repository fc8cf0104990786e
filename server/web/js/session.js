/** The game that is shown: its tree, and what the server says about its positions. */

import { ApiError, api, isAbort } from "./api.js";
import { initial, parsePosition, printPosition } from "./notation.js";
import { load, save } from "./storage.js";
import { resultTag } from "./text.js";
import { Tree } from "./tree.js";

/**
 * @typedef {import("./types.js").Position} Position
 * @typedef {import("./types.js").MoveRow} MoveRow
 * @typedef {import("./tree.js").Node} Node
 */

/** The positions whose answers are kept. */
const KEPT = 4000;
/** The time until a position is asked for again after a failure of the server, in milliseconds. */
const RETRY = 3000;

export class Session {
  /** @param {{kept?: boolean}} [options] whether the browser keeps the game */
  constructor({ kept = true } = {}) {
    this.kept = kept;
    this.tree = new Tree(printPosition(initial(9, 6)));
    /** The rule sets of the program, the newest first. @type {import("./types.js").Rules[]} */
    this.ruleSets = [];
    /** @type {Map<string, Position>} */
    this.known = new Map();
    /** @type {Map<string, Promise<Position>>} */
    this.asked = new Map();
    /** The reason why the server says nothing about a position. @type {Map<string, string>} */
    this.faults = new Map();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    this.storing = 0;
  }

  get node() {
    return this.tree.current;
  }

  /** The rule set of the game, or undefined for the default. */
  get rules() {
    return this.tree.rules;
  }

  /** What the server says about the shown position, or undefined while it is asked. */
  get facts() {
    return this.known.get(this.node.position);
  }

  /** The reason why there are no facts, or undefined. */
  get fault() {
    return this.faults.get(this.node.position);
  }

  get placement() {
    return parsePosition(this.node.position);
  }

  /** The number of pieces of an army. */
  get pieces() {
    return [...this.placement.pieces.values()].filter((side) => side === "x").length;
  }

  /**
   * Calls a function after every change, and returns one that ends this.
   * @param {() => void} listener
   */
  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Reports a change, and asks for the facts of the shown position. */
  changed() {
    clearTimeout(this.storing);
    if (this.kept) this.storing = window.setTimeout(() => this.store(), 300);
    if (!this.facts && !this.fault)
      this.ask(this.node.position).then(
        () => this.report(),
        () => this.report(),
      );
    this.report();
  }

  report() {
    const result = this.result(this.node);
    if (result && this.node.children.length === 0 && this.node.isMain()) this.tree.result = resultTag(result);
    for (const listener of [...this.listeners]) listener();
  }

  /**
   * Returns what the server says about a position.
   * @param {string} position
   * @returns {Promise<Position>}
   */
  ask(position) {
    const known = this.known.get(position);
    if (known) return Promise.resolve(known);
    const asked = this.asked.get(position);
    if (asked) return asked;
    const { rules } = this;
    const answer = api.position(position, rules).then((facts) => {
      if (this.known.size >= KEPT) this.known.clear();
      // A game with other rules may be shown by now.
      if (rules === this.rules) this.known.set(position, facts);
      return facts;
    });
    this.asked.set(position, answer);
    answer.catch((error) => !isAbort(error) && this.failed(position, error)).finally(() => this.asked.delete(position));
    return answer;
  }

  /**
   * Keeps the reason why there are no facts. A position that is not invalid is asked for again after a while.
   * @param {string} position
   * @param {Error} error
   */
  failed(position, error) {
    this.faults.set(position, error.message);
    if (error instanceof ApiError && error.status === 400) return;
    setTimeout(() => [this.faults.delete(position), this.changed()], RETRY);
  }

  /** Forgets all answers, for example after a table was built. */
  forget() {
    this.known.clear();
    this.faults.clear();
    this.changed();
  }

  /**
   * Shows a node of the game.
   * @param {Node | null | undefined} node
   */
  go(node) {
    if (!node || node === this.node) return;
    this.tree.current = node;
    this.changed();
  }

  /**
   * Steps through the game with the arrow keys, and returns whether the key is one of them.
   * @param {string} key
   */
  stepKey(key) {
    const { node, tree } = this;
    const line = tree.shownLine();
    /** @type {Record<string, Node | null | undefined>} */
    const targets = {
      ArrowLeft: node.parent,
      ArrowRight: node.children[0],
      Home: tree.root,
      End: line[line.length - 1],
    };
    if (!(key in targets)) return false;
    this.go(targets[key]);
    return true;
  }

  /**
   * Plays a move of the shown position.
   * @param {string} move
   * @param {{promote?: boolean}} [options]
   */
  play(move, { promote = false } = {}) {
    const node = this.tree.play(move);
    if (promote) this.tree.promote(node);
    this.changed();
    return node;
  }

  /**
   * Shows a new game from a position, with the rules of the shown game.
   * @param {string} position
   */
  begin(position) {
    const tree = new Tree(position);
    tree.rules = this.rules;
    this.show(tree);
  }

  /**
   * Shows another game.
   * @param {Tree} tree
   */
  show(tree) {
    if (tree.rules !== this.rules) {
      this.known.clear();
      this.asked.clear();
      this.faults.clear();
    }
    this.tree = tree;
    this.changed();
  }

  /**
   * Returns the hops of the move before a node.
   * @param {Node} node
   * @returns {string[]}
   */
  path(node) {
    if (!node.parent || node.move === "pass") return [];
    const row = this.known.get(node.parent.position)?.moves.find(({ move }) => move === node.move);
    return row?.path ?? node.move.split("-");
  }

  /**
   * Returns the result at a node, by the facts, and by the passes and repetitions before it.
   * @param {Node} node
   */
  result(node) {
    if (node.move === "pass" && node.parent?.move === "pass") return "draw";
    const repetitions = this.ruleSets.find(({ name }) => name === this.rules)?.repetitions ?? null;
    if (repetitions !== null && node.occurrences() >= repetitions) return "draw";
    return this.known.get(node.position)?.result ?? null;
  }

  /** Returns the moves to the shown position. */
  movesHere() {
    return this.node
      .line()
      .slice(1)
      .map(({ move }) => move);
  }

  /** Returns the permalink of the shown position: the start, the moves to it, and the rules unless they are `paper`. */
  link() {
    return { position: this.tree.root.position, moves: this.movesHere().join(","), rules: this.rules ?? "" };
  }

  store() {
    save("game", { record: this.tree.toRecord(), moves: this.movesHere() });
  }

  /** Shows the game that the browser has kept, if there is one. */
  restore() {
    const stored = load("game", /** @type {any} */ (null));
    if (!stored) return;
    try {
      const tree = Tree.fromRecord(stored.record);
      for (const move of stored.moves) {
        const next = tree.current.children.find((child) => child.move === move);
        if (next) tree.current = next;
      }
      this.tree = tree;
    } catch {
      save("game", undefined);
    }
  }
}
