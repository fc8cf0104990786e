/** The legal moves as buttons: in groups by the change of distance, or by piece. */

import { h, refill, unseen } from "./dom.js";
import { changeTone, count, distanceText, signed } from "./text.js";

/** @typedef {import("./types.js").MoveRow} MoveRow */

/** @type {[string, string, string][]} */
const GROUPS = [
  ["better", "Better", "nearer the goal"],
  ["equal", "Equal", "same distance"],
  ["worse", "Worse", "farther from the goal"],
  ["unknown", "Outside the table", "distance not known"],
];

/**
 * Shows moves as buttons.
 * @param {Element} element
 * @param {MoveRow[]} moves best first
 * @param {(row: MoveRow) => void} play
 */
export function showMoves(element, moves, play) {
  const known = moves.some((row) => row.change !== null);
  refill(element, moves, () => (known ? byChange(moves, play) : byPiece(moves, play)));
}

/** The groups that the user has opened or closed. @type {Map<string, boolean>} */
const opened = new Map();

/**
 * @param {MoveRow[]} moves
 * @param {(row: MoveRow) => void} play
 */
function byChange(moves, play) {
  const groups = GROUPS.map(([tone, title, about]) => {
    const rows = moves.filter((row) => changeTone(row.change) === tone);
    if (rows.length === 0) return null;
    const heading = h(
      "summary",
      {},
      h("span.tone", { "data-tone": tone }),
      h("span.title", {}, title),
      h("span.number", {}, rows.length),
      h("span.about", {}, about),
    );
    const details = h(
      "details.group",
      { "data-tone": tone, toggle: () => opened.set(tone, details.open) },
      heading,
      h("div.chips", {}, ...rows.map((row) => chip(row, play))),
    );
    details.open = opened.get(tone) ?? (tone !== "worse" || rows.length === moves.length);
    return details;
  });
  return [shortest(moves), ...groups];
}

/**
 * Returns a sentence about the number of shortest moves.
 * @param {MoveRow[]} moves
 */
function shortest(moves) {
  const best = Math.min(...moves.map((row) => row.distance ?? Infinity));
  const number = moves.filter((row) => row.distance === best).length;
  return h(
    "p.note",
    {},
    `${number} of ${count(moves.length, "move")} ${number === 1 ? "leads" : "lead"} to the least distance, ${best}.`,
  );
}

/**
 * @param {MoveRow[]} moves
 * @param {(row: MoveRow) => void} play
 */
function byPiece(moves, play) {
  const sources = [...new Set(moves.map((row) => row.move.split("-")[0]))];
  return sources.map((from) => {
    const rows = moves.filter((row) => row.move.split("-")[0] === from);
    return h(
      "div.by-piece",
      { role: "group", "aria-label": `Moves of ${from}` },
      h("span.from", {}, from),
      h("div.chips", {}, ...rows.map((row) => chip(row, play, true))),
    );
  });
}

/**
 * @param {MoveRow} row
 * @param {(row: MoveRow) => void} play
 * @param {boolean} [short] whether the source is left out
 */
function chip(row, play, short = false) {
  const [from, to] = row.move.split("-");
  const label = to ? [short ? unseen(`${from}–`) : `${from}–`, to] : ["pass"];
  const change = row.change === null ? "" : `, change ${signed(row.change)}`;
  const distance =
    row.distance === null
      ? []
      : [
          h("span.distance", {}, distanceText(row)),
          unseen(`${row.distance === 1 ? "move" : "moves"} to the goal${change}`),
        ];
  const attributes = {
    type: "button",
    "data-move": row.move,
    "data-key": row.move,
    "data-tone": changeTone(row.change),
    click: () => play(row),
  };
  return h("button.chip", attributes, h("span", {}, ...label), ...distance);
}
