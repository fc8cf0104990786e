/** The summary of a searched game, and the way from mistake to mistake. */

import { button, h, refill } from "./dom.js";
import { sideBadge } from "./stage.js";
import { count } from "./text.js";

/**
 * @typedef {import("./evaluations.js").Evaluations} Evaluations
 * @typedef {import("./evaluations.js").SideSummary} SideSummary
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./tree.js").Node} Node
 * @typedef {import("./types.js").Side} Side
 *
 * @typedef {object} ReviewHost
 * @property {Session} session
 * @property {Evaluations} evaluations
 */

/** What the mean loss is. */
const LOSS = "A move loses what the best move promised more. A move that turns out better than that loses nothing.";

/** @type {Side[]} */
export const SIDES = ["x", "o"];

export class ReviewPanel {
  /**
   * @param {ReviewHost} host
   * @param {(side: Side) => void} [learn] begins to learn from the mistakes of a side
   */
  constructor(host, learn) {
    this.host = host;
    this.learn = learn;
    this.element = h("div.review");
  }

  /** Returns the marked moves of the shown line. */
  mistakes() {
    const { session, evaluations } = this.host;
    return session.tree.shownLine().filter((node) => evaluations.mistake(node) !== null);
  }

  /** Shows the summary of the shown line. */
  show() {
    const { session, evaluations } = this.host;
    const line = session.tree.shownLine();
    const rows = SIDES.map((side) => ({ side, name: nameOf(session, side), found: evaluations.summary(line, side) }));
    const marked = this.mistakes();
    const own = (/** @type {Side} */ side) => marked.filter((node) => sideOf(node) === side).length;
    const now = evaluations.mistake(session.node);
    const text = now ? `${session.node.move.replace("-", "–")} ${now.sign} ${now.text}` : "";
    const key = [rows, marked.length, SIDES.map(own), text];
    const isSearched = rows.some(({ found }) => found !== null);
    refill(this.element, key, () => [
      ...rows.map(({ side, name, found }) => (found ? summaryRow(side, name, found) : null)),
      text ? h("p.mistake-now", {}, text) : null,
      h(
        "div.row-actions",
        {},
        marked.length > 0
          ? button("Next mistake", () => this.next(), { icon: "next", "data-action": "mistake", "data-key": "mistake" })
          : null,
        ...SIDES.map((side) => {
          const { learn } = this;
          if (!learn || !isSearched || own(side) === 0) return null;
          return button(`Learn from ${side}: ${own(side)}`, () => learn(side), {
            icon: "bulb",
            title: `Find a better move for each of the ${count(own(side), "marked move")} of ${side}`,
            "data-action": `learn-${side}`,
            "data-key": `learn-${side}`,
          });
        }),
      ),
    ]);
  }

  /** Returns the move before the shown position as a sentence for screen readers, with its mistake. */
  spoken() {
    const { session, evaluations } = this.host;
    const { move } = session.node;
    if (!move) return "";
    const mistake = evaluations.mistake(session.node);
    return `${move.replace("-", " to ")}${mistake ? `: ${spokenSign(mistake.sign)}, ${mistake.text}` : ""}. `;
  }

  /** Goes to the next marked move of the line; after the last one, to the first. Returns whether there is one. */
  next() {
    const { session } = this.host;
    const marked = this.mistakes();
    const next = marked.find(({ depth }) => depth > session.node.depth) ?? marked[0];
    if (!next) return false;
    session.go(next);
    return true;
  }
}

/**
 * Returns the side that made the move before a node.
 * @param {Node} node
 * @returns {Side}
 */
export function sideOf(node) {
  return / o \d+$/.test(node.parent?.position ?? "") ? "o" : "x";
}

/**
 * @param {Session} session
 * @param {Side} side
 */
function nameOf({ tree }, side) {
  return tree.tag(side === "x" ? "PlayerX" : "PlayerO") || `Player ${side}`;
}

/**
 * Returns the word for a sign.
 * @param {string} sign
 */
export function spokenSign(sign) {
  return sign === "??" ? "blunder" : sign === "?" ? "mistake" : "inaccuracy";
}

/**
 * Returns the summary of a side as the command `analyse --game` prints it.
 * @param {SideSummary} found
 */
export function summaryText({ moves, counts, meanLoss }) {
  const [inaccuracies, mistakes, blunders] = counts;
  const marks = [
    count(inaccuracies, "inaccuracy", "inaccuracies"),
    count(mistakes, "mistake"),
    count(blunders, "blunder"),
  ].join(", ");
  return `${marks} in ${count(moves, "move")}${meanLoss === null ? "" : `, mean loss ${meanLoss.toFixed(2)}`}`;
}

/**
 * @param {Side} side
 * @param {string} name
 * @param {SideSummary} found
 */
function summaryRow(side, name, found) {
  return h(
    "p.side-summary",
    { "data-side": side, title: found.meanLoss === null ? null : LOSS },
    sideBadge(side),
    h("span", {}, h("strong", {}, name), ": ", summaryText(found)),
  );
}
