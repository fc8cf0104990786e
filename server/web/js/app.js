/** The page: its views, its settings and the keys that work everywhere. */

import { ApiError, api } from "./api.js";
import { Builds } from "./build-card.js";
import { Evaluations } from "./evaluations.js";
import { GameStage } from "./game-stage.js";
import { Session } from "./session.js";
import { Stage } from "./stage.js";
import { fill, h, icon, notify, set } from "./dom.js";
import { element, listenForKeys, showTheme } from "./frame.js";
import { HowTo } from "./howto.js";
import { parseLink, printLink } from "./storage.js";
import { AnalyseView } from "./views/analyse.js";
import { DistancesView } from "./views/distances.js";
import { EditorView } from "./views/editor.js";
import { FriendView } from "./views/friend.js";
import { PlayView } from "./views/play.js";
import { PuzzlesView } from "./views/puzzles.js";
import { RulesheetsView } from "./views/rulesheets.js";
import { TablesView } from "./views/tables.js";
import { TournamentsView } from "./views/tournaments.js";

/**
 * @typedef {import("./storage.js").Link} Link
 * @typedef {import("./types.js").TableInfo} TableInfo
 * @typedef {import("./types.js").Player} Player
 *
 * @typedef {object} View
 * @property {string} title
 * @property {string} [short] the title in a narrow window
 * @property {import("./dom.js").Icon} icon
 * @property {HTMLElement} left the panels before the board
 * @property {HTMLElement} right the panels after the board
 * @property {boolean} [wide] whether the view has no board
 * @property {string} [parent] the view that leads to this one, which then has no tab of its own
 * @property {(link: Link) => void} show
 * @property {() => void} hide
 * @property {() => void} update
 * @property {(key: string) => boolean} key handles a key, and returns whether it did
 * @property {() => Link} link
 */

/** @param {View} view */
const titles = ({ title, short }) =>
  short ? [h("span.long", {}, title), h("span.short", {}, short)] : [h("span", {}, title)];

export class App {
  constructor() {
    this.session = new Session();
    this.evaluations = new Evaluations(this.session);
    this.stage = new Stage();
    this.game = new GameStage(this);
    this.builds = new Builds(this);
    /** @type {TableInfo[]} */
    this.tables = [];
    /** @type {{name: string, error: string}[]} */
    this.unreadable = [];
    /** Whether the server deletes tables. */
    this.deletes = false;
    /** @type {Player[]} */
    this.players = [{ name: "sternhalma", about: null }];
    /** The node expansions per move of the levels, from level 1. @type {number[]} */
    this.levels = [];
    /** The policies of rulesheets. @type {Player[]} */
    this.policies = [];
    /** @type {Record<string, View>} */
    this.views = {
      play: new PlayView(this),
      friend: new FriendView(this),
      analyse: new AnalyseView(this),
      distances: new DistancesView(this),
      puzzles: new PuzzlesView(this),
      editor: new EditorView(this),
      tables: new TablesView(this),
      tournaments: new TournamentsView(this),
      rulesheets: new RulesheetsView(this),
    };
    this.viewName = "";
    this.pending = false;
    this.main = element("main");
    this.howto = new HowTo(this.main);
    this.left = h("div.side.left");
    this.right = h("div.side.right");
  }

  get view() {
    return this.views[this.viewName];
  }

  async start() {
    this.drawFrame();
    // Games need the rule sets.
    while (!(await this.refreshPlayers())) await new Promise((resolve) => setTimeout(resolve, 1000));
    // The first game has the rules that the view Play proposes.
    this.session.tree.rules = this.session.ruleSets[0]?.name;
    this.session.restore();
    this.session.on(() => this.update());
    this.builds.listeners.add(() => this.update());
    this.stage.onFlip = () => this.update();
    addEventListener("hashchange", () => this.follow(location.hash));
    listenForKeys(this.stage, (key) => this.view.key(key));
    this.follow(location.hash);
    await Promise.all([this.refreshTables(), this.builds.refresh()]);
    this.session.changed();
  }

  drawFrame() {
    const tabs = Object.entries(this.views).filter(([, view]) => !view.parent);
    const links = tabs.map(([name, view]) =>
      h("a", { href: `#view=${name}`, "data-view": name }, icon(view.icon), ...titles(view)),
    );
    fill(element("views"), ...links);
    this.main.replaceChildren(this.left, this.stage.element, this.right);
    const help = element("help");
    fill(help, icon("help"), h("span", {}, "How to play"));
    help.addEventListener("click", () => this.howto.open());
    showTheme(element("theme"));
    this.howto.welcome();
  }

  /**
   * Shows what a link names.
   * @param {string} hash
   */
  follow(hash) {
    const link = parseLink(hash);
    const named = link.view in this.views ? link.view : link.position ? "analyse" : "play";
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
    this.left.replaceChildren(view.left);
    this.right.replaceChildren(view.right);
    document.body.dataset.view = name;
    document.title = `${view.title} · Sternhalma`;
    this.main.classList.toggle("wide", view.wide === true);
    this.stage.element.hidden = view.wide === true;
    this.stage.board.select(null);
    for (const link of element("views").children)
      set(link, { "aria-current": link.getAttribute("data-view") === (view.parent ?? name) ? "page" : null });
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

  async refreshTables() {
    try {
      const { tables, unreadable, deletes } = await api.tables();
      [this.tables, this.unreadable, this.deletes] = [tables, unreadable, deletes];
    } catch (error) {
      this.fail(error);
    }
    this.update();
  }

  /** Returns whether the server answered. */
  async refreshPlayers() {
    try {
      const { players, levels, rules, marks, policies } = await api.players();
      [this.players, this.levels, this.policies] = [players, levels, policies];
      this.evaluations.limits = marks;
      this.session.ruleSets = rules;
      this.update();
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /**
   * Shows an error to the user.
   * @param {unknown} error
   */
  fail(error) {
    const text = error instanceof Error ? error.message : String(error);
    const isForbidden = text.includes("seals the goal");
    notify(text, "error", isForbidden ? { text: "The rule", run: () => this.howto.open("forbidden") } : undefined);
    // Other errors than answers of the server and invalid input are faults of the page.
    if (!(error instanceof ApiError) && Object(error).constructor !== Error) console.error(error);
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
}
