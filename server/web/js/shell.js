/** What pages with several views share: the frame, the links, and the view that is shown. */

import { fill, h, icon, notify, set } from "./dom.js";
import { element, showTheme } from "./frame.js";
import { Stage } from "./stage.js";
import { parseLink, printLink } from "./storage.js";

/**
 * @typedef {import("./storage.js").Link} Link
 *
 * @typedef {object} View
 * @property {string} title
 * @property {string} [short] the title in a narrow window
 * @property {import("./dom.js").Icon} icon
 * @property {HTMLElement} left the panels before the board
 * @property {HTMLElement} right the panels after the board
 * @property {boolean} [wide] whether the view has no board
 * @property {string} [parent] the view that leads to this one, which then has no tab of its own
 * @property {boolean} [opening] whether the view waits for what it will show
 * @property {(link: Link) => void} show
 * @property {() => void} hide
 * @property {() => void} update
 * @property {(key: string) => boolean} key handles a key, and returns whether it did
 * @property {() => Link} link
 */

/** @param {View} view */
const titles = ({ title, short }) =>
  short ? [h("span.long", {}, title), h("span.short", {}, short)] : [h("span", {}, title)];

/** A page with several views. */
export class Shell {
  constructor() {
    this.stage = new Stage();
    /** @type {Record<string, View>} */
    this.views = {};
    this.viewName = "";
    this.pending = false;
    this.main = element("main");
    this.left = h("div.side.left");
    this.right = h("div.side.right");
  }

  get view() {
    return this.views[this.viewName];
  }

  /**
   * Returns the view for a link without a view.
   * @param {Link} _link
   */
  viewOf(_link) {
    return Object.keys(this.views)[0];
  }

  drawFrame() {
    const tabs = Object.entries(this.views).filter(([, view]) => !view.parent);
    const links = tabs.map(([name, view]) =>
      h("a", { href: `#view=${name}`, "data-view": name }, icon(view.icon), ...titles(view)),
    );
    fill(element("views"), ...links);
    this.main.replaceChildren(this.left, this.stage.element, this.right);
    showTheme(element("theme"));
  }

  /**
   * Shows what a link names.
   * @param {string} hash
   */
  follow(hash) {
    const link = parseLink(hash);
    const named = link.view in this.views ? link.view : this.viewOf(link);
    if (this.viewName !== named) this.open(named);
    try {
      this.view.show(link);
    } catch (error) {
      this.fail(error);
    }
    this.update();
  }

  /** @param {string} name */
  open(name) {
    if (this.viewName) this.view.hide();
    this.viewName = name;
    const { view } = this;
    this.showPanels();
    document.body.dataset.view = name;
    document.title = `${view.title} · Sternhalma`;
    this.main.classList.toggle("wide", view.wide === true);
    this.stage.element.hidden = view.wide === true;
    this.stage.board.select(null);
    for (const link of element("views").children)
      set(link, { "aria-current": link.getAttribute("data-view") === (view.parent ?? name) ? "page" : null });
  }

  showPanels() {
    this.left.replaceChildren(this.view.left);
    this.right.replaceChildren(this.view.right);
  }

  /**
   * Opens a view as if its link had been followed.
   * @param {Link} link
   */
  visit(link) {
    const hash = printLink(link);
    if (location.hash === hash) this.follow(hash);
    else location.hash = hash;
  }

  /** Draws the view again before the next frame. */
  update() {
    if (this.pending) return;
    this.pending = true;
    queueMicrotask(() => {
      this.pending = false;
      this.view?.update();
    });
  }

  /**
   * Shows an error to the user.
   * @param {unknown} error
   */
  fail(error) {
    const text = error instanceof Error ? error.message : String(error);
    notify(text, "error", this.remedy(error));
    if (!this.isExpected(error)) console.error(error);
  }

  /**
   * Returns the action beside an error, if there is one.
   * @param {unknown} _error
   * @returns {{text: string, run: () => void} | undefined}
   */
  remedy(_error) {
    return undefined;
  }

  /** Copies a link to the shown view. */
  async share() {
    const address = `${location.origin}${location.pathname}${printLink(this.view.link())}`;
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      notify("The link is copied.");
    } catch {
      notify("The link is in the address bar.");
    }
  }

  /**
   * Returns whether an error is invalid input. Others are faults of the page.
   * @param {unknown} error
   */
  isExpected(error) {
    return Object(error).constructor === Error;
  }
}
