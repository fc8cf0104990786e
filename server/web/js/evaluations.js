/** What searches and tables say about the moves of a game. */

import { parsePosition } from "./notation.js";
import { count, resultValue, valueFor, valueHeight, valueText } from "./text.js";
import { other } from "./geometry.js";

/**
 * @typedef {import("./types.js").Info} Info
 * @typedef {import("./types.js").Value} Value
 * @typedef {import("./types.js").MarkLimits} MarkLimits
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./tree.js").Node} Node
 * @typedef {import("./movelist.js").Mistake} Mistake
 * @typedef {import("./session.js").Session} Session
 */

/** The signs of an inaccuracy, a mistake and a blunder, in the order of their limits. */
export const SIGNS = ["?!", "?", "??"];

/**
 * @typedef {object} Judged
 * @property {string} best the best move
 * @property {Value} bestValue
 * @property {Value} value the value of the move of the game
 *
 * @typedef {object} SideSummary the moves of a side
 * @property {number} moves
 * @property {number[]} counts the inaccuracies, the mistakes and the blunders
 * @property {number | null} meanLoss the mean loss in moves of lead or of reward, if every move has one
 */

export class Evaluations {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    /** The losses from which moves are marked, once the server has named them. @type {MarkLimits | null} */
    this.limits = null;
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
   * Returns the value of a position for the player to move, by a search or by the end of the game.
   * @param {Node} node
   * @returns {Value | null}
   */
  valueOf(node) {
    const result = this.session.result(node);
    return result ? resultValue(result, parsePosition(node.position).player) : (this.found.get(node)?.value ?? null);
  }

  /**
   * Returns the best move in place of the move before a node, and the values of both for the player that moved, or null
   * unless both positions were searched.
   * @param {Node} node
   * @returns {Judged | null}
   */
  judge(node) {
    const before = node.parent && this.found.get(node.parent);
    const value = valueFor(this.valueOf(node), "o", "x");
    return before?.value && value ? { best: before.pv[0], bestValue: before.value, value } : null;
  }

  /**
   * Returns why the move before a node is a mistake, or null: by the searches of both positions, or else by distance.
   * @param {Node} node
   * @returns {Mistake | null}
   */
  mistake(node) {
    if (!node.parent || !this.limits) return null;
    const judged = this.judge(node);
    if (!judged) return this.byDistance(node, this.limits);
    const { best, value, bestValue } = judged;
    const sign = best === node.move ? null : signOf(bestValue, value, this.limits);
    return sign ? { sign, text: `${valueText(bestValue)} with ${best}, ${valueText(value)} with this move` } : null;
  }

  /**
   * @param {Node} node
   * @param {MarkLimits} limits
   * @returns {Mistake | null}
   */
  byDistance(node, limits) {
    const moves = this.session.known.get(node.parent?.position ?? "")?.moves ?? [];
    const played = moves.find(({ move }) => move === node.move)?.distance ?? null;
    if (played === null) return null;
    const best = Math.min(...moves.map(({ distance }) => distance ?? Infinity));
    const sign = limitSign(played - best, limits.distance);
    return sign ? { sign, text: `${count(played - best, "move")} longer than the shortest way` } : null;
  }

  /**
   * Returns the marks and the mean loss of the moves of a side, or null unless both positions of every move were
   * searched.
   * @param {Node[]} line the positions of a game
   * @param {Side} side
   * @returns {SideSummary | null}
   */
  summary(line, side) {
    const own = line.filter(({ parent }) => parent && parsePosition(parent.position).player === side);
    const judged = own.map((node) => this.judge(node));
    if (own.length === 0 || judged.includes(null)) return null;
    const signs = own.map((node) => this.mistake(node)?.sign);
    const losses = own.map((node, at) => (judged[at] ? lossOf(node.move, judged[at]) : null));
    // A mean over some of the moves would hide those that lost a proof.
    const isWhole = losses.every((loss) => loss !== null);
    const total = losses.reduce((/** @type {number} */ sum, loss) => sum + Math.max(0, loss ?? 0), 0);
    return {
      moves: own.length,
      counts: SIGNS.map((sign) => signs.filter((found) => found === sign).length),
      meanLoss: isWhole ? Math.round((100 * total) / own.length) / 100 : null,
    };
  }
}

/**
 * Returns the sign of a loss of value, or null.
 * @param {Value} best the value of the best move
 * @param {Value} value the value of another one
 * @param {MarkLimits} limits
 */
export function signOf(best, value, limits) {
  const loss = difference(best, value);
  if (loss !== null) return limitSign(loss, best.kind === "lead" ? limits.lead : limits.reward);
  const lost = valueHeight(best) - valueHeight(value);
  return lost > 1 ? "??" : lost > 0.5 ? "?" : null;
}

/**
 * Returns the loss of a move, 0 for the best one, or null if the values are of different kinds or proven.
 * @param {string} move
 * @param {Judged} judged
 */
function lossOf(move, { best, bestValue, value }) {
  return move === best ? 0 : difference(bestValue, value);
}

/**
 * Returns the difference of two leads, or of two rewards.
 * @param {Value} best
 * @param {Value} value
 */
function difference(best, value) {
  const isNumber = best.kind === value.kind && (best.kind === "lead" || best.kind === "reward");
  return isNumber ? best.value - value.value : null;
}

/**
 * @param {number} loss
 * @param {number[]} limits
 */
function limitSign(loss, limits) {
  return SIGNS.findLast((_, at) => loss >= limits[at]) ?? null;
}
