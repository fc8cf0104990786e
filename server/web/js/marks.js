/** Colours and numbers of cells, from distances. */

import { changeTone, distanceSpoken, distanceText, signed } from "./text.js";

/**
 * @typedef {import("./types.js").MoveRow} MoveRow
 * @typedef {import("./types.js").HeatCell} HeatCell
 * @typedef {import("./board.js").Mark} Mark
 */

/** The largest difference with a colour of its own. */
const SHADES = 3;

/**
 * Returns the marks of the destinations of a piece: the change of distance.
 * @param {MoveRow[]} moves
 * @param {string} from
 * @returns {Map<string, Mark>}
 */
export function changeMarks(moves, from) {
  const rows = moves.filter((row) => row.move.startsWith(`${from}-`));
  return new Map(rows.flatMap((row) => (row.change === null ? [] : [[row.move.split("-")[1], changeMark(row)]])));
}

/**
 * Returns the marks of the movable pieces: the change of distance by the best move of each.
 * @param {MoveRow[]} moves best first
 * @returns {Map<string, Mark>}
 */
export function pieceMarks(moves) {
  /** @type {Map<string, Mark>} */
  const marks = new Map();
  for (const row of moves) {
    const [from, to] = row.move.split("-");
    if (to && row.change !== null && !marks.has(from))
      marks.set(from, { ...changeMark(row), spoken: `best change ${signed(row.change)}` });
  }
  return marks;
}

/**
 * @param {MoveRow} row
 * @returns {Mark}
 */
function changeMark(row) {
  const change = row.change ?? 0;
  const bound = row.exact ? "" : "≤";
  return {
    tone: `${changeTone(change)}${row.exact ? "" : " bound"}`,
    text: `${bound}${signed(change)}`,
    spoken: `change ${signed(change)}, ${distanceSpoken(row)}`,
  };
}

/**
 * Returns the marks of a heat map: the distance if the piece stood on each cell.
 * @param {HeatCell[]} cells
 * @param {string} own the cell of the piece
 * @returns {Map<string, Mark>}
 */
export function heatMarks(cells, own) {
  const now = cells.find(({ cell }) => cell === own)?.distance ?? null;
  return new Map(
    cells.flatMap((heat) => {
      if (heat.distance === null) return [];
      const difference = now === null ? 0 : heat.distance - now;
      const shade = Math.min(SHADES, Math.abs(difference));
      const tone = difference < 0 ? `cool-${shade}` : difference > 0 ? `warm-${shade}` : "same";
      const spoken = `if the piece stood here: ${distanceSpoken(heat)}`;
      return [
        [
          heat.cell,
          { tone: `heat ${tone}${heat.exact ? "" : " bound"}`, text: distanceText(heat).replace(" ", ""), spoken },
        ],
      ];
    }),
  );
}
