/** How to play: the rules of the game with pictures, in a dialog that every view can open. */

import { button, h, iconButton } from "./dom.js";
import { diagram } from "./diagram.js";
import { home } from "./geometry.js";
import { load, save } from "./storage.js";

/** @typedef {"forbidden"} Rule the rules to which texts of the page lead */

export class HowTo {
  /** @param {HTMLElement} main the element before which the offer to a new visitor appears */
  constructor(main) {
    this.main = main;
    /** @type {HTMLDialogElement | null} */
    this.dialog = null;
    /** @type {HTMLElement | null} */
    this.offer = null;
  }

  /** Offers the rules to a visitor who has not seen the offer before. */
  welcome() {
    if (load("welcomed", false)) return;
    const text = h("p", {}, h("strong", {}, "New here?"), " The rules take a minute.");
    const read = button("How to play", () => this.open(), { primary: true, "data-action": "welcome-rules" });
    const close = iconButton("Close this offer", "close", () => this.dismiss(), { "data-action": "welcome-close" });
    this.offer = h("section.welcome", { "aria-label": "For new visitors" }, text, read, close);
    this.main.before(this.offer);
  }

  /** Removes the offer, and does not make it again. */
  dismiss() {
    save("welcomed", true);
    this.offer?.remove();
    this.offer = null;
  }

  /**
   * Shows the rules.
   * @param {Rule} [rule] the rule to begin with
   */
  open(rule) {
    this.dismiss();
    this.dialog ??= this.create();
    this.dialog.showModal();
    this.dialog.scrollTop = 0;
    for (const card of this.dialog.querySelectorAll("[data-rule]"))
      card.classList.toggle("sought", card.getAttribute("data-rule") === rule);
    const sought = rule ? this.dialog.querySelector(`[data-rule="${rule}"]`) : null;
    if (!(sought instanceof HTMLElement)) return;
    sought.scrollIntoView({ block: "nearest" });
    sought.focus({ preventScroll: true });
  }

  create() {
    const dialog = h("dialog.howto", {
      "aria-labelledby": "howto-title",
      click: (/** @type {MouseEvent} */ event) => event.target === dialog && dialog.close(),
    });
    dialog.append(
      h(
        "div.howto-head",
        {},
        h("h2", { id: "howto-title" }, "How to play"),
        iconButton("Close", "close", () => dialog.close(), { "data-action": "howto-close" }),
      ),
      h("ol.rules", {}, ...rules()),
      h(
        "p.note",
        {},
        "Players take turns. You must move if you can, and you pass only without a legal move. ",
        "The third time the same position occurs, the game is a draw. ",
        "Press a piece and then a marked cell to move; Hint shows a good move.",
      ),
    );
    document.body.append(dialog);
    return dialog;
  }
}

/**
 * Creates a button in a text that leads to a rule.
 * @param {HowTo} howto
 * @param {string} text
 * @param {Rule} rule
 */
export function ruleLink(howto, text, rule) {
  return h("button.link", { type: "button", "data-action": `rule-${rule}`, click: () => howto.open(rule) }, text);
}

/** The rules, each with a picture. */
function rules() {
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
 * @param {Rule} [rule]
 */
function card(title, text, picture, rule) {
  const target = rule ? { "data-rule": rule, tabindex: -1 } : {};
  return h("li", target, picture, h("div", {}, h("h3", {}, title), h("p", {}, text)));
}
