/**
 * The cells of a board in goal order, and the moves of an army that is alone on it. Cell 0 is the tip of the goal. An army
 * is the list of its cells in ascending order.
 */

import { DIRECTIONS, boardCells } from "./geometry.js";

/**
 * @typedef {object} ArmyMove
 * @property {number} from
 * @property {number} to
 */

/** More cells than a board has. */
export const LIMIT = 128;

/** The cells of a board in goal order, with their rows, neighbours and jumps. */
export class Cells {
  /** @param {number} size */
  constructor(size) {
    const cells = boardCells(size);
    const numbers = new Map(cells.map(({ name }, number) => [name, number]));
    const at = (/** @type {number} */ x, /** @type {number} */ y) =>
      x >= 0 && y >= 0 && x < size && y < size ? cells.findIndex((cell) => cell.x === x && cell.y === y) : -1;
    this.count = cells.length;
    /** The names of the cells for the side `o`; those of `x` are in the opposite order. */
    this.names = [...numbers.keys()];
    this.row = cells.map(({ x, y }) => x + y);
    /** The first cell and the number of cells of each row. */
    this.rows = Array.from({ length: 2 * size - 1 }, (_, row) => ({
      first: this.row.indexOf(row),
      size: Math.min(row + 1, 2 * size - 1 - row),
    }));
    /** The jumps from each cell: the cell that is jumped over, and the cell beyond; -1 beyond the edge. */
    this.jumps = cells.map(({ x, y }) =>
      DIRECTIONS.map(([dx, dy]) => ({ over: at(x + dx, y + dy), to: at(x + 2 * dx, y + 2 * dy) })),
    );
    /** The lower neighbours: the previous cell of the row, and those of the row below, the lower one first. */
    this.lower = new Uint8Array(3 * LIMIT).fill(LIMIT - 1);
    cells.forEach((_, cell) => {
      const near = this.jumps[cell].map(({ over }) => over).filter((over) => over >= 0 && over < cell);
      const below = near.filter((other) => this.row[other] < this.row[cell]).sort((a, b) => a - b);
      if (near.length > below.length) this.lower[3 * cell] = cell - 1;
      below.forEach((other, place) => (this.lower[3 * cell + 1 + place] = other));
    });
  }

  /**
   * Returns the destinations of a piece, in ascending order.
   * @param {Set<number>} others the other pieces
   * @param {number} from
   */
  destinations(others, from) {
    const reached = new Set([from]);
    for (const cell of reached)
      for (const { over, to } of this.jumps[cell]) if (to >= 0 && others.has(over) && !others.has(to)) reached.add(to);
    for (const { over } of this.jumps[from]) if (over >= 0 && !others.has(over)) reached.add(over);
    reached.delete(from);
    return [...reached].sort((a, b) => a - b);
  }

  /**
   * Returns the moves of an army alone on the board.
   * @param {number[]} army
   * @returns {ArmyMove[]}
   */
  moves(army) {
    return army.flatMap((from) => {
      const others = new Set(army.filter((cell) => cell !== from));
      return this.destinations(others, from).map((to) => ({ from, to }));
    });
  }

  /**
   * Returns the cells on which a piece lands during a shortest chain of hops, beginning with its own.
   * @param {number[]} army
   * @param {ArmyMove} move
   * @param {boolean} turned whether the directions are those of the board turned by 180 degrees
   */
  path(army, { from, to }, turned) {
    if (this.jumps[from].some(({ over }) => over === to)) return [from, to];
    const others = new Set(army.filter((cell) => cell !== from));
    /** @type {Map<number, number[]>} */
    const paths = new Map([[from, [from]]]);
    for (const [cell, path] of paths) {
      const jumps = this.jumps[cell];
      for (const direction of jumps.keys()) {
        const jump = jumps[turned ? direction ^ 1 : direction];
        const opens = jump.to >= 0 && others.has(jump.over) && !others.has(jump.to) && !paths.has(jump.to);
        if (opens) paths.set(jump.to, [...path, jump.to]);
      }
    }
    return paths.get(to) ?? [from, to];
  }
}

/**
 * Returns the state after a move.
 * @param {number[]} army
 * @param {ArmyMove} move
 */
export function afterMove(army, { from, to }) {
  return army.map((cell) => (cell === from ? to : cell)).sort((a, b) => a - b);
}

/**
 * Returns the number of bits that are set.
 * @param {number} bits
 */
export function ones(bits) {
  let count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

/**
 * Returns the mirror image of the pieces of a row, which have a bit each.
 * @param {number} pattern
 * @param {number} size the number of bits
 */
export function reversed(pattern, size) {
  let image = 0;
  for (let bit = 0; bit < size; bit++) if (pattern & (1 << bit)) image |= 1 << (size - 1 - bit);
  return image;
}
