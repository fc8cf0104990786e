/** Position strings, moves and armies as text. */

import { SIZES, boardCells, cellName, home, other, parseCell } from "./geometry.js";

/** @typedef {import("./types.js").Side} Side */

/**
 * @typedef {object} Placement the pieces on a board, the player to move and the plies played
 * @property {number} size
 * @property {Map<string, Side>} pieces
 * @property {Side} player
 * @property {number} ply
 */

/**
 * Parses a position string.
 * @param {string} text
 * @returns {Placement}
 * @throws {Error} if the text is not a position string
 */
export function parsePosition(text) {
  const [rows, player = "x", ply = "0", ...rest] = text.trim().split(/\s+/);
  const lines = rows.split("/");
  const size = lines.length;
  if (!SIZES.includes(size)) throw new Error(`expected 3 to 11 rows joined by "/", got ${size}`);
  if (!/^[xo]$/i.test(player)) throw new Error(`expected the player to move, x or o, got "${player}"`);
  if (!/^\d{1,9}$/.test(ply)) throw new Error(`expected the number of plies, got "${ply}"`);
  if (rest.length > 0) throw new Error(`expected rows, player and ply, got "${rest[0]}" after them`);
  /** @type {Map<string, Side>} */
  const pieces = new Map();
  lines.forEach((line, from_top) => {
    const y = size - 1 - from_top;
    parseRow(line, size).forEach((side, x) => side && pieces.set(cellName(x, y), side));
  });
  return { size, pieces, player: player.toLowerCase() === "x" ? "x" : "o", ply: Number(ply) };
}

/**
 * @param {string} line
 * @param {number} size
 * @returns {(Side | null)[]}
 */
function parseRow(line, size) {
  /** @type {(Side | null)[]} */
  const row = [];
  for (const [token] of line.matchAll(/\d+|./gsu)) {
    if (/^[xo]$/i.test(token)) {
      row.push(token.toLowerCase() === "x" ? "x" : "o");
    } else if (/^\d+$/.test(token)) {
      // A long run is cut short so that it cannot fill the memory; the row is refused below.
      for (let run = Math.min(Number(token), size + 1); run > 0; run--) row.push(null);
    } else {
      throw new Error(`expected x, o or a number of empty cells, got "${token}"`);
    }
  }
  if (row.length !== size) throw new Error(`expected ${size} cells in the row "${line}"`);
  return row;
}

/**
 * Prints a position string.
 * @param {Placement} placement
 */
export function printPosition({ size, pieces, player, ply }) {
  const lines = [];
  for (let y = size - 1; y >= 0; y--) {
    let line = "";
    let run = 0;
    for (let x = 0; x < size; x++) {
      const side = pieces.get(cellName(x, y));
      if (side) [line, run] = [line + (run || "") + side, 0];
      else run++;
    }
    lines.push(line + (run || ""));
  }
  return `${lines.join("/")} ${player} ${ply}`;
}

/**
 * Returns the initial position of a board.
 * @param {number} size
 * @param {number} pieces
 * @returns {Placement}
 */
export function initial(size, pieces) {
  /** @type {Map<string, Side>} */
  const placed = new Map();
  home(size, pieces, "x").forEach((cell) => placed.set(cell, "x"));
  home(size, pieces, "o").forEach((cell) => placed.set(cell, "o"));
  return { size, pieces: placed, player: "x", ply: 0 };
}

/**
 * Returns the cells of an army in board order.
 * @param {Placement} placement
 * @param {Side} side
 */
export function army({ size, pieces }, side) {
  return boardCells(size)
    .map((cell) => cell.name)
    .filter((name) => pieces.get(name) === side);
}

/**
 * Parses the cells of an army, separated by commas or blanks.
 * @param {string} text
 * @param {number} size
 * @returns {string[]}
 * @throws {Error} if a word is not a cell, or a cell is given twice
 */
export function parseArmy(text, size) {
  const cells = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => {
      const cell = parseCell(word, size);
      if (!cell) throw new Error(`expected a cell of the ${size} × ${size} board, got "${word}"`);
      return cell.name;
    });
  if (new Set(cells).size < cells.length) throw new Error("a cell is given twice");
  return cells;
}

/**
 * Returns the cells of a move, or null for a pass.
 * @param {string} move
 * @returns {{from: string, to: string} | null}
 */
export function ends(move) {
  const [from, to] = move.split("-");
  return to ? { from, to } : null;
}

/**
 * Returns the move that a text means, such as "c1-e3", "c1e3" or "c1 e3", or null.
 * @param {string} text
 * @param {number} size
 */
export function parseMove(text, size) {
  const match = /^([a-k]\d{1,2})[\s-]*([a-k]\d{1,2})$/i.exec(text.trim());
  if (!match) return text.trim().toLowerCase() === "pass" ? "pass" : null;
  const from = parseCell(match[1], size);
  const to = parseCell(match[2], size);
  return from && to ? `${from.name}-${to.name}` : null;
}

/**
 * Returns the rule set with a name, or undefined for `paper`, which games without rules have.
 * @param {string} text
 * @param {import("./types.js").Rules[]} rules all rule sets
 * @returns {import("./types.js").RuleSet | undefined}
 */
export function parseRules(text, rules) {
  if (text === "paper") return undefined;
  const found = rules.find(({ name }) => name === text);
  if (!found) throw new Error(`expected the rules ${rules.map(({ name }) => name).join(" or ")}, got "${text}"`);
  return found.name;
}

/**
 * Returns the placement after a move of the player to move. The move is not checked against the rules.
 * @param {Placement} placement
 * @param {string} move
 * @returns {Placement}
 */
export function afterMove(placement, move) {
  const pieces = new Map(placement.pieces);
  const cells = ends(move);
  if (cells) {
    const side = pieces.get(cells.from);
    pieces.delete(cells.from);
    if (side) pieces.set(cells.to, side);
  }
  return { ...placement, pieces, player: other(placement.player), ply: placement.ply + 1 };
}

/**
 * Returns the number that a move has in a record: the moves of x are counted.
 * @param {number} ply the plies before the move
 */
export function moveNumber(ply) {
  return Math.floor(ply / 2) + 1;
}

/**
 * Returns the cells of the state with a rank.
 * @param {bigint} rank
 * @param {number} size
 * @param {number} pieces
 * @param {Side} side
 * @returns {string[]}
 * @throws {Error} if there is no such state
 */
export function unrank(rank, size, pieces, side) {
  const cells = goalOrder(size, side);
  if (rank < 0n || rank >= choose(cells.length, pieces)) {
    throw new Error(`expected a rank below ${choose(cells.length, pieces)}, got ${rank}`);
  }
  const found = [];
  let index = cells.length - 1;
  for (let left = pieces; left > 0; left--) {
    while (choose(index, left) > rank) index--;
    rank -= choose(index, left);
    found.push(cells[index]);
  }
  return found;
}

/**
 * Returns the cells from the goal tip of a side on.
 * @param {number} size
 * @param {Side} side
 */
function goalOrder(size, side) {
  const names = boardCells(size).map((cell) => cell.name);
  return side === "o" ? names : names.reverse();
}

/**
 * Returns the number of sets of `k` among `n`.
 * @param {number} n
 * @param {number} k
 */
export function choose(n, k) {
  let product = 1n;
  for (let i = 0; i < k; i++) product = (product * BigInt(n - i)) / BigInt(i + 1);
  return n < k ? 0n : product;
}
