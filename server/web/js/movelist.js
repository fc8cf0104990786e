/** The moves of a game as a list, with variations, comments and marked mistakes. */

import { h, refill, unseen } from "./dom.js";
import { moveNumber, parsePosition } from "./notation.js";
import { valueText } from "./text.js";

/**
 * @typedef {import("./tree.js").Node} Node
 * @typedef {import("./tree.js").Tree} Tree
 *
 * @typedef {object} Mistake
 * @property {string} sign "?!", "?" or "??"
 * @property {string} text the reason
 */

/**
 * @typedef {object} Options
 * @property {(node: Node) => void} go
 * @property {(node: Node) => Mistake | null} mistake
 */

/**
 * Shows the moves of a game.
 * @param {HTMLElement} element
 * @param {Tree} tree
 * @param {Options} options
 */
export function showGame(element, tree, options) {
  const start = parsePosition(tree.root.position);
  const rows = new Rows(tree, options, start.ply, start.player);
  rows.add(tree.root);
  const key = rows.key;
  const empty = tree.root.children.length === 0 && tree.root.comments.length === 0;
  if (!refill(element, key, () => (empty ? [h("p.note", {}, "No moves yet.")] : rows.elements))) return;
  const current = element.querySelector("[aria-current]");
  if (current instanceof HTMLElement) scrollWithin(element, current);
}

/**
 * Scrolls a list so that an element can be seen, without moving the page.
 * @param {HTMLElement} list
 * @param {HTMLElement} element
 */
function scrollWithin(list, element) {
  const [outer, inner] = [list.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 8;
  if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 8;
}

/** The numbers of games, which distinguish two equal games. @type {WeakMap<Tree, number>} */
const numbers = new WeakMap();
let games = 0;

/** @param {Tree} tree */
function numberOf(tree) {
  const number = numbers.get(tree) ?? ++games;
  numbers.set(tree, number);
  return number;
}

class Rows {
  /**
   * @param {Tree} tree
   * @param {Options} options
   * @param {number} ply
   * @param {import("./types.js").Side} first the side that moves first
   */
  constructor(tree, options, ply, first) {
    this.tree = tree;
    this.options = options;
    this.ply = ply;
    this.first = first;
    /** @type {HTMLElement[]} */
    this.elements = [];
    /** @type {HTMLElement | null} */
    this.row = null;
    /** What determines the list. @type {unknown[]} */
    this.key = [numberOf(tree), ply, first];
  }

  /**
   * Adds the first line after a node.
   * @param {Node} root
   */
  add(root) {
    this.comments(root.comments);
    for (let node = root; node.children[0]; node = node.children[0]) {
      const [next, ...others] = node.children;
      this.move(next);
      this.comments(next.comments);
      for (const other of others) this.block(h("div.variation", {}, ...this.inline(other, true)));
    }
  }

  /** @param {Node} node */
  move(node) {
    const isX = this.side(node) === "x";
    if (isX || !this.row) {
      const number = h("span.number", {}, `${this.number(node)}.`);
      this.row = h("div.row", {}, number, isX ? null : h("span.gap", {}, "…"));
      this.elements.push(this.row);
    }
    this.row.append(this.button(node));
    if (!isX) this.row = null;
  }

  /** @param {string[]} comments */
  comments(comments) {
    this.key.push(comments);
    for (const comment of comments) this.block(h("p.comment", {}, comment));
  }

  /** @param {HTMLElement} element */
  block(element) {
    this.elements.push(element);
    this.row = null;
  }

  /**
   * Returns a variation that begins with a node.
   * @param {Node} node
   * @param {boolean} numbered
   * @returns {(HTMLElement | string)[]}
   */
  inline(node, numbered) {
    /** @type {(HTMLElement | string)[]} */
    this.key.push(node.before);
    const parts = node.before.map((comment) => h("span.comment", {}, comment));
    let shown = numbered;
    for (let at = /** @type {Node | undefined} */ (node); at; at = at.children[0]) {
      const isX = this.side(at) === "x";
      if (isX || shown) parts.push(h("span.number", {}, `${this.number(at)}${isX ? "." : "…"}`));
      this.key.push(at.comments);
      parts.push(this.button(at), ...at.comments.map((comment) => h("span.comment", {}, comment)));
      shown = at.comments.length > 0;
      const others = at === node ? [] : (at.parent?.children.slice(1) ?? []);
      for (const other of others) parts.push(h("div.variation", {}, ...this.inline(other, true)));
    }
    return parts;
  }

  /** @param {Node} node */
  button(node) {
    const mistake = this.options.mistake(node);
    const [from, to] = node.move.split("-");
    const value = node.search.value ? `, value ${valueText(node.search.value)}` : "";
    this.key.push(node.depth, node.move, node === this.tree.current, mistake, value);
    const about = `${mistake ? `, ${mistake.text}` : ""}${value}`;
    const current = node === this.tree.current;
    return h(
      "button.move",
      {
        type: "button",
        "aria-current": current ? "step" : null,
        title: mistake?.text,
        "data-move": node.move,
        "data-key": `${node.depth}:${node.position}`,
        click: () => this.options.go(node),
      },
      unseen(`${this.side(node)} `),
      h("span", {}, to ? `${from}–${to}` : "pass"),
      mistake ? h("span.mistake", { "data-sign": mistake.sign }, mistake.sign) : null,
      about ? unseen(about) : null,
    );
  }

  /** @param {Node} node */
  number(node) {
    return moveNumber(this.ply + node.depth - 1);
  }

  /** @param {Node} node */
  side(node) {
    const odd = node.depth % 2 === 1;
    return odd === (this.first === "x") ? "x" : "o";
  }
}
