/** A view whose module is loaded when it is first shown. */

import { h } from "./dom.js";

/**
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("./shell.js").View} View
 * @typedef {import("./storage.js").Link} Link
 * @typedef {"title" | "icon" | "short" | "wide" | "parent"} Frame
 * @typedef {Omit<View, Frame>} Contents
 */

export class LaterView {
  /**
   * @param {Shell} app
   * @param {Pick<View, Frame>} frame what the page shows before the view is loaded
   * @param {() => Promise<Contents>} load
   */
  constructor(app, frame, load) {
    this.title = frame.title;
    this.icon = frame.icon;
    this.short = frame.short;
    this.wide = frame.wide;
    this.parent = frame.parent;
    this.app = app;
    this.load = load;
    /** The panels, which are empty until the view is loaded. @type {HTMLElement} */
    this.left = h("div");
    /** @type {HTMLElement} */
    this.right = h("div");
    /** @type {Contents | null} */
    this.view = null;
    /** The link that is shown once the view is loaded. @type {Link} */
    this.wanted = { view: "" };
    this.loading = false;
  }

  /** @param {Link} link */
  show(link) {
    this.wanted = link;
    if (this.view) this.view.show(link);
    else if (!this.loading) this.begin();
  }

  async begin() {
    this.loading = true;
    try {
      const view = await this.load();
      [this.view, this.left, this.right] = [view, view.left, view.right];
      if (this.app.view !== /** @type {View} */ (this)) return;
      this.app.showPanels();
      view.show(this.wanted);
      this.app.update();
    } catch (error) {
      this.app.fail(error);
    } finally {
      this.loading = false;
    }
  }

  hide() {
    this.view?.hide();
  }

  update() {
    this.view?.update();
  }

  /** @param {string} key */
  key(key) {
    return this.view?.key(key) ?? false;
  }

  link() {
    return this.view?.link() ?? this.wanted;
  }
}
