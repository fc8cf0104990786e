/** The page: its views, its settings and the keys that work everywhere. */

import { ApiError, api, hasCode } from "./api.js";
import { Builds } from "./build-card.js";
import { Evaluations } from "./evaluations.js";
import { GameStage } from "./game-stage.js";
import { Session } from "./session.js";
import { fill, h, icon } from "./dom.js";
import { element, listenForKeys } from "./frame.js";
import { HowTo } from "./howto.js";
import { LaterView } from "./later-view.js";
import { Shell } from "./shell.js";
import { AnalyseView } from "./views/analyse.js";
import { DistancesView } from "./views/distances.js";
import { EditorView } from "./views/editor.js";
import { PlayView } from "./views/play.js";
import { PuzzlesView } from "./views/puzzles.js";
import { RulesheetsView } from "./views/rulesheets.js";
import { TablesView } from "./views/tables.js";

/**
 * @typedef {import("./types.js").TableInfo} TableInfo
 * @typedef {import("./types.js").Player} Player
 */

export class App extends Shell {
  constructor() {
    super();
    this.session = new Session();
    this.evaluations = new Evaluations(this.session);
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
    /** The node expansions of a search without limits. */
    this.nodes = 0;
    /** The policies of rulesheets. @type {Player[]} */
    this.policies = [];
    this.facts = api;
    /** @type {Record<string, import("./shell.js").View>} */
    this.views = {
      play: new PlayView(this),
      friend: new LaterView(this, { title: "Play with a friend", icon: "link", parent: "play" }, async () => {
        const { FriendView } = await import("./views/friend.js");
        return new FriendView(this);
      }),
      analyse: new AnalyseView(this),
      distances: new DistancesView(this),
      puzzles: new PuzzlesView(this),
      editor: new EditorView(this),
      tables: new TablesView(this),
      tournaments: new LaterView(
        this,
        { title: "Tournaments", short: "Matches", icon: "cup", wide: true },
        async () => {
          const { TournamentsView } = await import("./views/tournaments.js");
          return new TournamentsView(this);
        },
      ),
      rulesheets: new RulesheetsView(this),
    };
    this.howto = new HowTo(this.main, (error) => this.fail(error));
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
    super.drawFrame();
    const help = element("help");
    fill(help, icon("help"), h("span", {}, "How to play"));
    help.addEventListener("click", () => this.howto.open());
    this.howto.welcome();
  }

  /** @param {import("./storage.js").Link} link */
  viewOf(link) {
    return link.position ? "analyse" : "play";
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
      const { players, levels, nodes, rules, marks, policies } = await api.players();
      [this.players, this.levels, this.nodes, this.policies] = [players, levels, nodes, policies];
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
   * Returns whether an error is an answer of the server or invalid input. Others are faults of the page.
   * @param {unknown} error
   */
  isExpected(error) {
    return error instanceof ApiError || super.isExpected(error);
  }

  /**
   * Returns the action beside an error: a move that seals a goal leads to its rule.
   * @param {unknown} error
   */
  remedy(error) {
    if (!hasCode(error, "sealed-goal")) return undefined;
    return { text: "The rule", run: () => this.howto.open("forbidden") };
  }
}
