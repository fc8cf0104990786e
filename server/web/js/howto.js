/** How to play: the rules of the game with pictures, in a dialog that every view can open. */

import { button, h, iconButton } from "./dom.js";
import { load, save } from "./storage.js";

/** @typedef {"forbidden"} Rule the rules to which texts of the page lead */

export class HowTo {
  /**
   * @param {HTMLElement} main the element before which the offer to a new visitor appears
   * @param {(error: unknown) => void} fail
   */
  constructor(main, fail) {
    this.main = main;
    this.fail = fail;
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
  async open(rule) {
    const loaded = await import("./rules.js").catch(this.fail);
    if (!loaded) return;
    this.dismiss();
    this.dialog ??= this.create(loaded.rules());
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    for (const card of this.dialog.querySelectorAll("[data-rule]"))
      card.classList.toggle("sought", card.getAttribute("data-rule") === rule);
    const sought = rule ? this.dialog.querySelector(`[data-rule="${rule}"]`) : null;
    if (!(sought instanceof HTMLElement)) return;
    sought.scrollIntoView({ block: "nearest" });
    sought.focus({ preventScroll: true });
  }

  /** @param {HTMLElement[]} rules */
  create(rules) {
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
      h("ol.rules", {}, ...rules),
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
