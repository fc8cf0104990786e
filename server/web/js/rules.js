/** The rules of the game, each with a picture. The page loads this module when the rules are first shown. */

import { diagram } from "./diagram.js";
import { h } from "./dom.js";
import { home } from "./geometry.js";

/** Returns the rules as items of a list. */
export function rules() {
  return [
    card(
      "The aim",
      "Bring your pieces into the opposite corner. Blue (x) starts at the bottom and moves first, orange (o) at the top. Whoever fills the opposite corner first wins.",
      diagram({
        size: 7,
        pieces: 6,
        x: home(7, 6, "x"),
        o: home(7, 6, "o"),
        arrows: [
          { side: "x", path: ["c2", "f5"] },
          { side: "o", path: ["e6", "b3"] },
        ],
        label: "The board: x moves from the bottom corner to the top corner, and o from the top to the bottom.",
      }),
    ),
    card(
      "A step",
      "In your turn you move one piece. A step goes to an empty neighbour, in any of the six directions, also backward.",
      diagram({
        size: 5,
        x: ["c3"],
        destinations: ["b3", "d3", "c2", "c4", "b4", "d2"],
        label: "A piece with dots on its six neighbours.",
      }),
    ),
    card(
      "Jumps",
      "A jump goes over one neighbouring piece of either colour, to the empty cell just behind it. From there the same piece may jump again. Nothing is captured.",
      diagram({
        size: 5,
        x: ["a2", "c3"],
        o: ["b2"],
        arrows: [{ side: "x", path: ["a2", "c2", "c4"] }],
        label: "A piece of x jumps over a piece of o, and then over a piece of x.",
      }),
    ),
    card(
      "Winning",
      "You win when the corner opposite your own is full and at least one piece in it is yours. Pieces that your opponent leaves there count for you, so staying at home does not help.",
      diagram({
        size: 5,
        pieces: 3,
        x: ["e5", "d5"],
        o: ["e4", "b2", "c2"],
        label: "Two pieces of x and one of o fill the corner at the top: x has won.",
      }),
    ),
    card(
      "Forbidden moves",
      "You may not lock a cell of your own corner, so that your opponent can never fill it. Here no orange piece can step or jump to the empty tip any more. The page does not offer such a move, unless it wins.",
      diagram({
        size: 5,
        pieces: 6,
        x: ["a2", "b1", "a3", "c1", "d4"],
        o: ["b2", "c2", "b3"],
        forbidden: ["a1"],
        label: "Four pieces of x around the empty cell a1, which no piece of o can enter.",
      }),
      "forbidden",
    ),
    card(
      "Six or ten pieces",
      "The board is the diamond: the part of the star that two players use. The game of the shop has ten pieces each. With six, the game is shorter and the corners are smaller.",
      diagram({
        size: 9,
        pieces: 10,
        x: home(9, 10, "x"),
        o: home(9, 10, "o"),
        label: "The board at the start of a game with ten pieces each.",
      }),
    ),
  ];
}

/**
 * @param {string} title
 * @param {string} text
 * @param {SVGElement} picture
 * @param {import("./howto.js").Rule} [rule]
 */
function card(title, text, picture, rule) {
  const target = rule ? { "data-rule": rule, tabindex: -1 } : {};
  return h("li", target, picture, h("div", {}, h("h3", {}, title), h("p", {}, text)));
}
