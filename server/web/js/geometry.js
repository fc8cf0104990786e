/** The cells of the diamond: names, places on the screen, rows and homes. */

/** @typedef {import("./types.js").Side} Side */

/** The sizes of a board. */
export const SIZES = [3, 4, 5, 6, 7, 8, 9, 10, 11];

/** The height of a row, if neighbours of a row are 1 apart. */
export const RISE = Math.sqrt(3) / 2;

const LETTERS = "abcdefghijk";

/**
 * @typedef {object} Cell
 * @property {number} x the column, from 0
 * @property {number} y the line, from 0
 * @property {string} name
 */

/**
 * Returns the name of a cell.
 * @param {number} x
 * @param {number} y
 */
export function cellName(x, y) {
  return `${LETTERS[x]}${y + 1}`;
}

/**
 * Returns the column and line of a cell, or null if the text names no cell of the board.
 * @param {string} name
 * @param {number} size
 * @returns {Cell | null}
 */
export function parseCell(name, size) {
  const match = /^([a-k])([1-9]|1[01])$/i.exec(name.trim());
  if (!match) return null;
  const x = LETTERS.indexOf(match[1].toLowerCase());
  const y = Number(match[2]) - 1;
  return x < size && y < size ? { x, y, name: cellName(x, y) } : null;
}

/**
 * Returns the cells of a board in board order: by row, and within a row by column.
 * @param {number} size
 * @returns {Cell[]}
 */
export function boardCells(size) {
  const cells = [];
  for (let row = 0; row <= 2 * (size - 1); row++) {
    for (let x = Math.max(0, row - size + 1); x <= Math.min(row, size - 1); x++) {
      cells.push({ x, y: row - x, name: cellName(x, row - x) });
    }
  }
  return cells;
}

/**
 * Returns the cells on which an army starts.
 * @param {number} size
 * @param {number} pieces
 * @param {Side} side
 * @returns {string[]}
 */
export function home(size, pieces, side) {
  const cells = boardCells(size);
  const first = side === "x" ? cells.slice(0, pieces) : cells.slice(cells.length - pieces);
  return first.map((cell) => cell.name);
}

/**
 * Returns the cells that an army has to reach.
 * @param {number} size
 * @param {number} pieces
 * @param {Side} side
 */
export function goal(size, pieces, side) {
  return home(size, pieces, other(side));
}

/**
 * Returns the opponent of a side.
 * @param {Side} side
 * @returns {Side}
 */
export function other(side) {
  return side === "x" ? "o" : "x";
}

/**
 * Returns the largest number of pieces of two armies on a board.
 * @param {number} size
 */
export function mostPieces(size) {
  return Math.min(15, Math.floor((size * size) / 2));
}

/**
 * Returns the point of a cell, with neighbours 1 apart and the middle of the board at (0, 0). The home of `bottom` is
 * at the bottom.
 * @param {{x: number, y: number}} cell
 * @param {number} size
 * @param {Side} bottom
 */
export function point(cell, size, bottom) {
  const across = (cell.x - cell.y) / 2;
  const up = (cell.x + cell.y - (size - 1)) * RISE;
  return bottom === "x" ? { x: across, y: -up } : { x: -across, y: up };
}

/**
 * Returns the cell nearest to a point, or null if none is within 0.6.
 * @param {{x: number, y: number}} at
 * @param {number} size
 * @param {Side} bottom
 * @returns {Cell | null}
 */
export function cellAt(at, size, bottom) {
  const sign = bottom === "x" ? 1 : -1;
  const across = 2 * sign * at.x;
  const row = (-sign * at.y) / RISE + (size - 1);
  const rounded = Math.round(row);
  let best = null;
  let least = 0.6;
  for (const candidate of [rounded - 1, rounded, rounded + 1]) {
    const x = Math.round((candidate + across) / 2);
    const y = candidate - x;
    if (x < 0 || y < 0 || x >= size || y >= size) continue;
    const place = point({ x, y }, size, bottom);
    const far = Math.hypot(place.x - at.x, place.y - at.y);
    if (far < least) [best, least] = [{ x, y, name: cellName(x, y) }, far];
  }
  return best;
}

/**
 * Returns the neighbours of a cell.
 * @param {Cell} cell
 * @param {number} size
 */
export function neighbours(cell, size) {
  return DIRECTIONS.map(([dx, dy]) => at(cell.x + dx, cell.y + dy, size)).filter((found) => found !== null);
}

/** The six directions of a step. */
export const DIRECTIONS = [
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
  [1, -1],
  [-1, 1],
];

/**
 * Returns the rows by which the pieces of an army are short of its goal. The sum is 0 in the goal.
 * @param {string[]} cells
 * @param {number} size
 * @param {Side} side
 */
export function rowsToGo(cells, size, side) {
  const rows = (/** @type {string[]} */ names) =>
    names.reduce((sum, name) => {
      const cell = parseCell(name, size);
      const row = cell ? cell.x + cell.y : 0;
      return sum + (side === "x" ? row : 2 * (size - 1) - row);
    }, 0);
  return rows(goal(size, cells.length, side)) - rows(cells);
}

/**
 * Returns the cell that an arrow key leads to, or null at the edge. Up and down lead to the next row, to its cell
 * nearest to the place across (in half steps) that the caller remembers.
 * @param {Cell} from
 * @param {"left" | "right" | "up" | "down"} key
 * @param {number} across
 * @param {number} size
 * @param {Side} bottom
 * @returns {Cell | null}
 */
export function step(from, key, across, size, bottom) {
  const turned = bottom === "x" ? 1 : -1;
  if (key === "left" || key === "right") {
    const dx = (key === "right" ? 1 : -1) * turned;
    return at(from.x + dx, from.y - dx, size);
  }
  const up = (key === "up" ? 1 : -1) * turned;
  const choices = [at(from.x + up, from.y, size), at(from.x, from.y + up, size)];
  const far = (/** @type {Cell} */ cell) => Math.abs((cell.x - cell.y) * turned - across);
  const found = choices.filter((cell) => cell !== null);
  return found.sort((a, b) => far(a) - far(b))[0] ?? null;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @returns {Cell | null}
 */
function at(x, y, size) {
  return x >= 0 && y >= 0 && x < size && y < size ? { x, y, name: cellName(x, y) } : null;
}
