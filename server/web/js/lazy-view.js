/** A view whose module is loaded when the view is first shown. */

import { h } from "./dom.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./app.js").View} View
 * @typedef {import("./storage.js").Link} Link
 */

export class LazyView {
  /**
   * @param {App} app
   * @param {{name: string, title: string, short: string, icon: string, wide?: boolean}} about
   * @param {() => Promise<View>} create loads the module and creates the view
   */
  constructor(app, { name, title, short, icon, wide }, create) {
    this.app = app;
    this.name = name;
    this.title = title;
    this.short = short;
    this.icon = icon;
    this.wide = wide;
    this.create = create;
    this.left = h("div");
    this.right = h("div");
    /** @type {View | null} */
    this.view = null;
    /** @type {Promise<void> | null} */
    this.loading = null;
    /** The link to show, while the view is shown. @type {Link | null} */
    this.shown = null;
  }

  /** @param {Link} link */
  show(link) {
    this.shown = link;
    if (this.view) return this.view.show(link);
    this.loading ??= this.load().catch((error) => {
      this.loading = null;
      this.app.fail(error);
    });
  }

  async load() {
    const view = await this.create();
    this.view = view;
    this.left.replaceChildren(...view.left.children);
    this.right.replaceChildren(...view.right.children);
    if (!this.shown) return;
    view.show(this.shown);
    this.app.update();
  }

  hide() {
    this.shown = null;
    this.view?.hide();
  }

  update() {
    this.view?.update();
  }

  /** @param {string} key */
  key(key) {
    return this.view?.key(key) ?? false;
  }

  /** @returns {Link} */
  link() {
    return this.view?.link() ?? { view: this.name };
  }
}
