/** What searches and tables say about the moves of a game. */

import { parsePosition } from "./notation.js";
import { count, valueFor, valueHeight, valueText } from "./text.js";
import { other } from "./geometry.js";

/**
 * @typedef {import("./types.js").Info} Info
 * @typedef {import("./types.js").Value} Value
 * @typedef {import("./tree.js").Node} Node
 * @typedef {import("./movelist.js").Mistake} Mistake
 * @typedef {import("./session.js").Session} Session
 */

/** The losses of lead, in moves, from which a move is marked. @type {[number, string][]} */
const LEAD_LOSSES = [
  [5, "??"],
  [3, "?"],
  [1.5, "?!"],
];
/** The losses of mean reward from which a move is marked. @type {[number, string][]} */
const REWARD_LOSSES = [
  [0.6, "??"],
  [0.4, "?"],
  [0.2, "?!"],
];
/** The losses of distance, in moves, from which a move is marked. @type {[number, string][]} */
const DISTANCE_LOSSES = [
  [3, "??"],
  [2, "?"],
  [1, "?!"],
];

export class Evaluations {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    /** The value of a position depends on the game before it. @type {WeakMap<Node, Info>} */
    this.found = new WeakMap();
  }

  /**
   * Keeps the result of a search if it is the deepest one of the node.
   * @param {Node} node
   * @param {Info} info
   */
  add(node, info) {
    const known = this.found.get(node);
    if (info.value && (!known || known.nodes <= info.nodes)) this.found.set(node, info);
  }

  /**
   * Returns the value of a position for x, by a search of the position or else by the search that chose the move.
   * @param {Node} node
   * @returns {Value | null}
   */
  forX(node) {
    const { player } = parsePosition(node.position);
    const found = this.found.get(node);
    if (found) return valueFor(found.value, player, "x");
    return node.search.value ? valueFor(node.search.value, other(player), "x") : null;
  }

  /**
   * Returns the lead of x by the table, or null.
   * @param {Node} node
   */
  lead(node) {
    return this.session.known.get(node.position)?.lead ?? null;
  }

  /**
   * Returns why the move before a node is a mistake, or null: by the searches of both positions, or else by distance.
   * @param {Node} node
   * @returns {Mistake | null}
   */
  mistake(node) {
    if (!node.parent) return null;
    const [before, after] = [this.found.get(node.parent), this.found.get(node)];
    if (before?.value && after?.value) return this.byValue(node, before, after);
    return this.byDistance(node);
  }

  /**
   * @param {Node} node
   * @param {Info} before
   * @param {Info} after
   * @returns {Mistake | null}
   */
  byValue(node, before, after) {
    const best = before.value;
    const got = valueFor(after.value, "o", "x");
    if (!best || !got || before.pv[0] === node.move) return null;
    const text = `${valueText(best)} with ${before.pv[0]}, ${valueText(got)} with this move`;
    if (best.kind === got.kind && (best.kind === "lead" || best.kind === "reward")) {
      const sign = signOf(best.value - got.value, best.kind === "lead" ? LEAD_LOSSES : REWARD_LOSSES);
      return sign ? { sign, text } : null;
    }
    const loss = valueHeight(best) - valueHeight(got);
    return loss > 0.5 ? { sign: loss > 1 ? "??" : "?", text } : null;
  }

  /**
   * @param {Node} node
   * @returns {Mistake | null}
   */
  byDistance(node) {
    const moves = this.session.known.get(node.parent?.position ?? "")?.moves ?? [];
    const played = moves.find(({ move }) => move === node.move)?.distance ?? null;
    if (played === null) return null;
    const best = Math.min(...moves.map(({ distance }) => distance ?? Infinity));
    const sign = signOf(played - best, DISTANCE_LOSSES);
    return sign ? { sign, text: `${count(played - best, "move")} longer than the shortest way` } : null;
  }
}

/**
 * @param {number} loss
 * @param {[number, string][]} limits
 */
function signOf(loss, limits) {
  return limits.find(([limit]) => loss >= limit)?.[1] ?? null;
}
