/** The lines of a search: the value, and the moves as buttons. */

import { h, refill } from "./dom.js";
import { parsePosition } from "./notation.js";
import { valueFor, valueHeight, valueText } from "./text.js";

/** @typedef {import("./types.js").Info} Info */

/** The moves of a line that are shown. */
const SHOWN = 10;

/**
 * Shows a line.
 * @param {Element} element
 * @param {Info} info
 * @param {string} position the position that was searched
 * @param {(moves: string[]) => void} play plays the moves of the line up to the pressed one
 */
export function showLine(element, info, position, play) {
  refill(element, [position, info], () => {
    const value = valueFor(info.value, parsePosition(position).player, "x");
    const moves = info.pv.slice(0, SHOWN).map((move, at) =>
      h(
        "button.pv",
        {
          type: "button",
          "data-move": move,
          "data-key": `pv-${info.line}-${at}`,
          title: "Play the line to this move",
          click: () => play(info.pv.slice(0, at + 1)),
        },
        move.replace("-", "–"),
      ),
    );
    return [
      h(
        "span.value",
        {
          "data-sign": value && valueHeight(value) >= 0 ? "x" : "o",
          title: `depth ${info.depth}, ${info.nodes} states, for x`,
        },
        valueText(value),
      ),
      h("span.pvs", {}, ...moves),
    ];
  });
}
