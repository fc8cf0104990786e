/** The positions of a saved game, which the file has in few characters. */

import { parsePosition } from "./notation.js";

/**
 * @typedef {import("./types.js").Distance} Distance
 * @typedef {import("./types.js").MoveRow} MoveRow
 * @typedef {import("./types.js").Position} Position
 *
 * @typedef {object} ShortPosition
 * @property {string} [x] the distance of the army: `=12`, or `<12` for an upper bound
 * @property {string} [o]
 * @property {import("./types.js").Result} [result]
 * @property {boolean} separated
 * @property {string} moves the hops of the moves with the distances after them: `c1-c3-e3=11 a1-a2=12`
 */

/**
 * Returns a position as the server describes it.
 * @param {string} position
 * @param {ShortPosition} short
 * @param {string | null} table the name of the table of the distances
 * @returns {Position}
 */
export function positionOf(position, short, table) {
  const { size, pieces, player, ply } = parsePosition(position);
  const distances = { x: distanceOf(short.x ?? ""), o: distanceOf(short.o ?? "") };
  return {
    position,
    side: size,
    pieces: [...pieces.values()].filter((side) => side === "x").length,
    player,
    ply,
    result: short.result ?? null,
    table,
    distances,
    lead: difference(distances.o, distances.x),
    separated: short.separated,
    moves: short.moves
      .split(" ")
      .filter(Boolean)
      .map((text) => moveOf(text, distances[player])),
    rules: "paper",
    forbidden: [],
  };
}

/**
 * @param {string} text
 * @param {Distance} before
 * @returns {MoveRow}
 */
function moveOf(text, before) {
  const [, hops, distance] = /^([^=<]*)(.*)$/s.exec(text) ?? ["", "", ""];
  const after = distanceOf(distance);
  const path = hops === "pass" ? [] : hops.split("-");
  const move = path.length > 0 ? `${path[0]}-${path[path.length - 1]}` : hops;
  return { move, path, ...after, change: difference(after, before) };
}

/**
 * @param {string} text
 * @returns {Distance}
 */
function distanceOf(text) {
  return text ? { distance: Number(text.slice(1)), exact: text.startsWith("=") } : { distance: null, exact: null };
}

/**
 * @param {Distance} of
 * @param {Distance} from
 */
function difference(of, from) {
  return of.distance === null || from.distance === null ? null : of.distance - from.distance;
}
