/** A game as a tree: moves with variations, comments and the results of searches. */

import { afterMove, parsePosition, printPosition } from "./notation.js";

/**
 * @typedef {import("./types.js").GameRecord} GameRecord
 * @typedef {import("./types.js").RecordNode} RecordNode
 * @typedef {import("./types.js").RecordLine} RecordLine
 * @typedef {import("./types.js").Value} Value
 */

/** A position of a game, with the move that led to it. */
export class Node {
  /** The number of plies since the root. */
  depth = 0;

  /**
   * @param {Node | null} parent
   * @param {string} move the move before the position; empty at the root
   * @param {string} position
   */
  constructor(parent, move, position) {
    this.parent = parent;
    this.move = move;
    this.position = position;
    /** The first child continues the line; the others begin variations. @type {Node[]} */
    this.children = [];
    /** Comments after the move. @type {string[]} */
    this.comments = [];
    /** Comments before the move, at the start of a variation. @type {string[]} */
    this.before = [];
    /** The data of the choice of the move, as in a record. @type {Pick<RecordNode, "value" | "depth" | "nodes" | "seconds" | "data">} */
    this.search = {};
    if (parent) this.depth = parent.depth + 1;
  }

  /** Returns the nodes from the root to this one. */
  line() {
    const nodes = [];
    for (let node = /** @type {Node | null} */ (this); node; node = node.parent) nodes.push(node);
    return nodes.reverse();
  }

  /** Returns the nodes after this one on its first line. */
  continuation() {
    const nodes = [];
    for (let node = this.children[0]; node; node = node.children[0]) nodes.push(node);
    return nodes;
  }

  /** Returns the game to this node: the position of the root and the moves. @returns {import("./types.js").PlayedGame} */
  game() {
    const [root, ...nodes] = this.line();
    return { position: root.position, moves: nodes.map(({ move }) => move).join(",") || undefined };
  }

  /** Returns whether the node is on the first line of the whole game. */
  isMain() {
    let node = /** @type {Node} */ (this);
    while (node.parent && node.parent.children[0] === node) node = node.parent;
    return node.parent === null;
  }

  /** Returns how often the armies and the side to move have occurred on the line to this node. */
  occurrences() {
    // The last field is the number of moves.
    const placement = (/** @type {Node} */ { position }) => position.slice(0, position.lastIndexOf(" "));
    return this.line().filter((before) => placement(before) === placement(this)).length;
  }
}

/** A game with its variations and the place that is shown. */
export class Tree {
  /** @param {string} position */
  constructor(position) {
    this.root = new Node(null, "", position);
    this.current = this.root;
    /** @type {[string, string][]} */
    this.tags = [];
    /** The result of the first line. A change of that line makes it unknown. @type {GameRecord["result"]} */
    this.result = "*";
    /** @type {number | undefined} */
    this.plyLimit = undefined;
    /** The rule set, or undefined for the default. @type {import("./types.js").RuleSet | undefined} */
    this.rules = undefined;
  }

  /**
   * Returns the position after a move at a node, which the game need not have.
   * @param {Node} node
   * @param {string} move
   */
  after(node, move) {
    return printPosition(afterMove(parsePosition(node.position), move));
  }

  /**
   * Returns the child of a node with a move, and adds it if it is missing.
   * @param {Node} node
   * @param {string} move
   * @param {string} [position] the position after the move
   */
  add(node, move, position) {
    const known = node.children.find((child) => child.move === move);
    if (known) return known;
    const child = new Node(node, move, position ?? this.after(node, move));
    node.children.push(child);
    if (child.isMain()) this.result = "*";
    return child;
  }

  /**
   * Plays a move after the current node and shows the result.
   * @param {string} move
   * @param {string} [position]
   */
  play(move, position) {
    this.current = this.add(this.current, move, position);
    return this.current;
  }

  /** Returns the nodes of the line that is shown: to the current node, and on along first children. */
  shownLine() {
    return [...this.current.line(), ...this.current.continuation()];
  }

  /** Returns all nodes, in variations too. */
  nodes() {
    const found = [this.root];
    for (const node of found) found.push(...node.children);
    return found;
  }

  /** Returns all nodes in the order of the record: each move before its variations. */
  recordOrder() {
    const found = [this.root];
    const follow = (/** @type {Node} */ node) => {
      for (let at = node; at.children[0]; at = at.children[0]) {
        const [next, ...others] = at.children;
        found.push(next);
        for (const other of others) {
          found.push(other);
          follow(other);
        }
      }
    };
    follow(this.root);
    return found;
  }

  /**
   * Removes a node and everything after it. The node before it is shown if the current one is removed.
   * @param {Node} node
   */
  remove(node) {
    const { parent } = node;
    if (!parent) return;
    if (node.isMain()) this.result = "*";
    if (this.current.line().includes(node)) this.current = parent;
    parent.children = parent.children.filter((child) => child !== node);
  }

  /**
   * Makes the line of a node the first one at every branch on the way to it.
   * @param {Node} node
   */
  promote(node) {
    if (!node.isMain()) this.result = "*";
    for (const step of node.line()) {
      if (!step.parent) continue;
      step.parent.children = [step, ...step.parent.children.filter((child) => child !== step)];
    }
  }

  /**
   * Returns the value of a tag, or an empty text.
   * @param {string} name
   */
  tag(name) {
    return this.tags.find(([known]) => known === name)?.[1] ?? "";
  }

  /**
   * Sets a tag. An empty value removes it.
   * @param {string} name
   * @param {string} value
   */
  setTag(name, value) {
    const tags = this.tags.filter(([known]) => known !== name);
    this.tags = value ? [...tags, [name, value]] : tags;
  }

  /** Returns the game as the server prints it. @returns {GameRecord} */
  toRecord() {
    return {
      tags: this.tags,
      position: this.root.position,
      ...(this.plyLimit === undefined ? {} : { ply_limit: this.plyLimit }),
      ...(this.rules === undefined ? {} : { rules: this.rules }),
      comments: this.root.comments,
      game: lineAfter(this.root),
      result: this.result,
    };
  }

  /**
   * Returns the game of a record.
   * @param {GameRecord} record
   * @param {Node[]} [order] receives the node of each position of the record, in its order
   */
  static fromRecord(record, order = []) {
    const tree = new Tree(record.position);
    tree.tags = record.tags.map(([name, value]) => [name, value]);
    tree.plyLimit = record.ply_limit;
    tree.rules = record.rules;
    tree.root.comments = [...(record.comments ?? [])];
    order.push(tree.root);
    addLine(tree, tree.root, record.game, order);
    tree.result = record.result;
    return tree;
  }
}

/**
 * Returns the line after a node, with its variations.
 * @param {Node} node
 * @returns {RecordNode[]}
 */
function lineAfter(node) {
  const line = [];
  for (let at = node; at.children[0]; at = at.children[0]) {
    const [next, ...others] = at.children;
    const variations = others.map((other) => ({
      comments: other.before,
      game: [recordNode(other), ...lineAfter(other)],
    }));
    line.push({ ...recordNode(next), ...(variations.length > 0 ? { variations } : {}) });
  }
  return line;
}

/**
 * @param {Node} node
 * @returns {RecordNode}
 */
function recordNode(node) {
  return { move: node.move, ...node.search, ...(node.comments.length > 0 ? { comments: node.comments } : {}) };
}

/**
 * Adds a line of a record after a node.
 * @param {Tree} tree
 * @param {Node} node
 * @param {RecordNode[]} line
 * @param {Node[]} order
 */
function addLine(tree, node, line, order) {
  for (const { move, comments, variations, ...search } of line) {
    const child = tree.add(node, move);
    child.comments = [...child.comments, ...(comments ?? [])];
    child.search = search;
    order.push(child);
    for (const variation of variations ?? []) {
      addLine(tree, node, variation.game, order);
      const first = node.children.find((other) => other.move === variation.game[0]?.move);
      if (first && first !== child) first.before = [...(variation.comments ?? [])];
    }
    node = child;
  }
}
