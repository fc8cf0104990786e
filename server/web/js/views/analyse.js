/** Analyse: a game with engine lines, distances, variations and comments. */

import { api, isAbort } from "../api.js";
import { announce, button, choice, fill, h, notify, panel, refill, toggle } from "../dom.js";
import { segmentLabels } from "../forms.js";
import { GameGraph } from "../graph.js";
import { showLine } from "../lines.js";
import { LiveSearch } from "../live.js";
import { showGame } from "../movelist.js";
import { showMoves } from "../moves-panel.js";
import { initial, parsePosition, parseRules, printPosition } from "../notation.js";
import { ReviewPanel, SIDES, sideOf, summaryText } from "../review-panel.js";
import { loadButton, loadRecord, pageButton, saveButton } from "../records.js";
import { save, settings } from "../storage.js";
import { shortCount } from "../text.js";
import { Tree } from "../tree.js";
import { showOffer } from "../build-card.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../storage.js").Link} Link
 * @typedef {import("../game-stage.js").Overlay} Overlay
 */

/** The limits of the live search that can be chosen. */
const DEPTHS = [10000, 100000, 1000000, 10000000];
/** The limits per position of the search of a whole game that can be chosen, beside the default of the server. */
const NODE_LIMITS = [20000, 1000000];

/** @type {[Overlay, string][]} */
const OVERLAYS = [
  ["off", "Off"],
  ["change", "Change"],
  ["heat", "Heat map"],
];

export class AnalyseView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = "Analyse";
    /** @type {import("../dom.js").Icon} */
    this.icon = "chart";
    this.settings = settings("analyse", {
      engine: false,
      player: "sternhalma",
      lines: 3,
      nodes: 1000000,
      gameNodes: 0,
      overlay: "change",
    });
    this.live = new LiveSearch(() => this.found());
    /** @type {AbortController | null} */
    this.whole = null;
    this.asking = false;
    this.progress = "";
    /** @type {import("../tree.js").Node | null} */
    this.said = null;
    this.overlays = h("fieldset.segments");
    this.list = h("div.move-groups");
    this.offer = h("div.offer");
    this.engine = h("div.form");
    this.lines = h("ol.lines", { "aria-label": "Lines" });
    this.state = h("p.note");
    this.graph = new GameGraph((node) => this.app.session.go(node));
    this.whole_button = h("div.row-actions");
    this.review = new ReviewPanel(app, (side) => this.learn(side));
    /** @type {import("../lesson.js").Lesson | null} */
    this.lesson = null;
    this.study = h("div");
    this.moves = h("div.moves");
    this.tools = h("div.row-actions");
    this.comment = h("textarea", {
      rows: 2,
      placeholder: "A comment on this move",
      "aria-label": "Comment on this move",
      "data-name": "comment",
      input: () => this.writeComment(),
    });
    this.paste = h("textarea", {
      rows: 3,
      placeholder: "Paste a record or a position",
      "aria-label": "Record or position",
      "data-name": "paste",
    });
    this.left = h("div", {}, this.study, panel("Moves and distances", this.overlays, this.list), this.offer);
    this.right = h(
      "div",
      {},
      panel("Engine", this.engine, this.lines, this.state),
      panel(
        "Game",
        this.graph.element,
        this.whole_button,
        this.review.element,
        this.moves,
        this.comment,
        this.tools,
        this.fileTools(),
      ),
    );
    this.drawEngine();
  }

  /** @param {Link} link */
  show(link) {
    const { session } = this.app;
    if (link.position) {
      const tree = treeOf(link, session.ruleSets);
      const known = nodeOf(session.tree, tree);
      if (!known) return session.show(tree);
      session.tree.current = known;
    }
    session.changed();
  }

  hide() {
    this.live.stop();
    this.whole?.abort();
    this.lesson?.end();
  }

  link() {
    return this.app.session.link();
  }

  /** @param {string} key */
  key(key) {
    if (key.toLowerCase() === "n" && !this.lesson) return this.review.next();
    return this.app.session.stepKey(key);
  }

  /** @param {Partial<AnalyseView["settings"]>} change */
  change(change) {
    Object.assign(this.settings, change);
    save("analyse", this.settings);
    this.drawEngine();
    if (change.overlay) this.app.stage.board.select(null);
    this.app.update();
  }

  drawEngine() {
    const { settings: now } = this;
    const players = /** @type {[string, string][]} */ (this.app.players.map(({ name }) => [name, name]));
    const lines = /** @type {[string, string][]} */ (
      [1, 2, 3, 5].map((number) => [`${number}`, number === 1 ? "1 line" : `${number} lines`])
    );
    const limits = /** @type {[string, string][]} */ (
      DEPTHS.map((nodes) => [`${nodes}`, `${shortCount(nodes)} states`])
    );
    fill(
      this.engine,
      toggle("Search this position", now.engine, (on) => this.change({ engine: on }), {
        "data-name": "engine",
        "data-key": "engine",
      }),
      choice("Player", players, now.player, (value) => this.change({ player: value }), {
        "data-name": "engine-player",
      }),
      h(
        "div.pair",
        {},
        choice("Lines", lines, `${now.lines}`, (value) => this.change({ lines: Number(value) }), {
          "data-name": "engine-lines",
        }),
        choice("Up to", limits, `${now.nodes}`, (value) => this.change({ nodes: Number(value) }), {
          "data-name": "engine-nodes",
        }),
      ),
    );
    this.drawn = this.app.players;
    fill(
      this.overlays,
      h("legend", {}, "Distances on the board"),
      ...segmentLabels("overlay", OVERLAYS, /** @type {Overlay} */ (now.overlay), (overlay) =>
        this.change({ overlay }),
      ),
    );
  }

  fileTools() {
    const open = h(
      "details.more",
      {},
      h("summary", {}, "Paste a record or a position"),
      this.paste,
      button("Show", () => this.showPasted(), { "data-action": "show-pasted" }),
    );
    return h(
      "div",
      {},
      h(
        "div.row-actions",
        {},
        loadButton(this.app),
        saveButton(this.app),
        pageButton(this.app),
        button("Link", () => this.app.share(), { icon: "link", "data-action": "share" }),
        button("Edit position", () => this.app.visit({ view: "editor", position: this.app.session.node.position }), {
          icon: "pencil",
          "data-action": "edit",
        }),
      ),
      open,
    );
  }

  async showPasted() {
    const text = this.paste.value.trim();
    if (!text) return;
    try {
      const position = text === "startpos" ? initial(9, 6) : parsePosition(text);
      this.app.session.begin(printPosition(position));
      this.paste.value = "";
    } catch {
      if (await loadRecord(this.app, text)) this.paste.value = "";
    }
  }

  update() {
    const { app } = this;
    const { session } = app;
    if (this.drawn !== app.players) this.drawEngine();
    const { tree, node } = session;
    const { lesson } = this;
    // Another game, or a change of this one, ends the lesson.
    if (lesson && !tree.nodes().includes(lesson.node)) return lesson.end();
    const hides = lesson !== null && !lesson.isOpen();
    app.game.show({
      movable: lesson === null || node === lesson.task,
      overlay: /** @type {Overlay} */ (hides ? "off" : this.settings.overlay),
      names: { x: tree.tag("PlayerX") || "Player x", o: tree.tag("PlayerO") || "Player o" },
      arrows: lesson ? lesson.arrows() : this.bestArrow(),
      play: (move) => this.play(move),
      actions: [],
    });
    this.study.hidden = lesson === null;
    lesson?.show();
    const over = session.result(node) !== null;
    if (hides) refill(this.list, "hidden", () => [h("p.note", {}, "Hidden until the task is solved.")]);
    else if (session.facts && !over) showMoves(this.list, session.facts.moves, (row) => this.play(row.move));
    else
      refill(this.list, [session.fault, over], () => [
        h("p.note", {}, session.fault ?? (over ? "The game is over." : "…")),
      ]);
    showOffer(this.offer, app, session.placement.size, session.pieces);
    this.drawGame();
    this.search(over);
    this.drawLines();
    this.say();
  }

  /**
   * Plays a move, or lets the lesson judge it.
   * @param {string} move
   */
  play(move) {
    if (this.lesson) this.lesson.try(move);
    else this.app.session.play(move);
  }

  /**
   * Begins to learn from the marked moves of a side.
   * @param {import("../types.js").Side} side
   */
  async learn(side) {
    const { app } = this;
    const loaded = await import("../lesson.js").catch((error) => app.fail(error));
    if (!loaded || this.lesson || app.view !== /** @type {import("../shell.js").View} */ (this)) return;
    const { Lesson } = loaded;
    // A move without a search of both positions cannot be compared with others.
    const nodes = this.review.mistakes().filter((node) => sideOf(node) === side && app.evaluations.judge(node));
    if (nodes.length === 0) return;
    this.live.stop();
    app.stage.turn(side);
    const search = { player: this.settings.player, nodes: this.gameNodes };
    this.lesson = new Lesson(app, nodes, search, () => {
      this.lesson = null;
      // The lesson has spoken last.
      this.said = app.session.node;
      this.study.replaceChildren();
      app.update();
    });
    this.study.replaceChildren(panel("Learn from mistakes", this.lesson.element));
    app.update();
    this.study.scrollIntoView({ block: "nearest" });
  }

  drawGame() {
    const { session, evaluations } = this.app;
    const { tree, node } = session;
    showGame(this.moves, tree, {
      go: (other) => session.go(other),
      // The text of a mistake has the solution.
      mistake: (other) => (this.lesson ? null : evaluations.mistake(other)),
    });
    this.review.element.hidden = this.lesson !== null;
    this.review.show();
    if (document.activeElement !== this.comment) this.comment.value = node.comments.join("\n\n");
    const line = tree.shownLine();
    this.graph.show(session, evaluations);
    this.askFor(line);
    const isSearching = this.whole !== null;
    const limits = [...NODE_LIMITS, this.app.nodes].sort((a, b) => a - b);
    refill(this.whole_button, [line.length < 2, isSearching, this.progress, limits, this.gameNodes], () => [
      line.length < 2
        ? null
        : button(isSearching ? "Stop" : "Search the whole game", () => this.searchGame(), {
            icon: isSearching ? "close" : "chart",
            "data-action": "search-game",
            "data-key": "search-game",
          }),
      this.progress ? h("span.note", {}, this.progress) : null,
      line.length < 2 || isSearching
        ? null
        : choice(
            "States per position",
            limits.map((nodes) => [`${nodes}`, shortCount(nodes)]),
            `${this.gameNodes}`,
            (value) => this.change({ gameNodes: Number(value) }),
            { "data-name": "game-nodes", "data-key": "game-nodes" },
          ),
    ]);
    const branch = node.parent !== null;
    refill(this.tools, [branch, node.isMain()], () => [
      branch && !node.isMain()
        ? button("Make main line", () => this.promote(), { icon: "up", "data-action": "promote" })
        : null,
      branch ? button("Delete from here", () => this.remove(), { icon: "trash", "data-action": "delete" }) : null,
    ]);
  }

  /** The node expansions per position when a whole game is searched. */
  get gameNodes() {
    return this.settings.gameNodes || this.app.nodes;
  }

  promote() {
    const { session } = this.app;
    session.tree.promote(session.node);
    session.changed();
  }

  remove() {
    const { session } = this.app;
    session.tree.remove(session.node);
    session.changed();
  }

  /**
   * Asks for the distances of the positions of a line, one after another.
   * @param {import("../tree.js").Node[]} line
   */
  async askFor(line) {
    const { session } = this.app;
    const next = line.find(({ position }) => !session.known.has(position) && !session.faults.has(position));
    if (!next || this.asking) return;
    this.asking = true;
    await session.ask(next.position).catch(() => {});
    this.asking = false;
    if (this.app.view === this) this.app.update();
  }

  writeComment() {
    const { session } = this.app;
    session.node.comments = this.comment.value.trim()
      ? this.comment.value
          .split(/\n{2,}/)
          .map((text) => text.trim())
          .filter(Boolean)
      : [];
    session.changed();
  }

  /** @param {boolean} over */
  search(over) {
    const { session } = this.app;
    if (!this.settings.engine || over || this.whole || this.lesson || !session.facts) return this.live.stop();
    this.live.start(session.node, {
      player: this.settings.player,
      lines: this.settings.lines,
      nodes: this.settings.nodes,
      rules: session.rules,
    });
  }

  /** Keeps what the live search has found, and shows it. */
  found() {
    const best = this.live.lines[0];
    if (best && this.live.node) this.app.evaluations.add(this.live.node, best);
    this.app.update();
  }

  linesHere() {
    return this.settings.engine && this.live.node === this.app.session.node ? this.live.lines : [];
  }

  bestArrow() {
    const move = this.linesHere()[0]?.pv[0];
    const path = this.app.session.facts?.moves.find((row) => row.move === move)?.path;
    return path && path.length > 1 ? [{ path, tone: "best" }] : [];
  }

  drawLines() {
    const { session } = this.app;
    const lines = this.linesHere();
    while (this.lines.children.length > lines.length) this.lines.lastElementChild?.remove();
    while (this.lines.children.length < lines.length) this.lines.append(h("li"));
    lines.forEach((info, at) =>
      showLine(this.lines.children[at], info, session.node.position, (moves) => this.playLine(moves)),
    );
    const best = lines[0];
    const cost = best ? `depth ${best.depth} · ${shortCount(best.nodes)} states · ${best.seconds.toFixed(1)} s` : "";
    const state =
      this.live.error ||
      (session.result(session.node)
        ? ""
        : this.settings.engine
          ? this.live.running
            ? `Searching… ${cost}`
            : cost
          : "");
    this.state.textContent = state;
    this.state.hidden = !state;
  }

  /** @param {string[]} moves */
  playLine(moves) {
    const { session } = this.app;
    for (const move of moves) session.tree.play(move);
    session.changed();
  }

  /** Searches every position of the shown line, or stops this. */
  async searchGame() {
    if (this.whole) return this.whole.abort();
    const { session, evaluations } = this.app;
    const line = session.tree.shownLine();
    const nodes = this.gameNodes;
    this.whole = new AbortController();
    this.live.stop();
    try {
      for (const [at, node] of line.entries()) {
        this.progress = `${at} of ${line.length}`;
        this.app.update();
        const facts = await session.ask(node.position);
        if (facts.result || session.result(node)) continue;
        const info = await api.analyse(
          node.game(),
          { player: this.settings.player, rules: session.rules, nodes },
          () => {},
          this.whole.signal,
        );
        evaluations.add(node, info);
      }
      notify("The game is searched. Mistakes are marked in the list.");
      announce(SIDES.map((side) => this.spokenSummary(side)).join(" "));
    } catch (error) {
      if (!isAbort(error)) this.app.fail(error);
    }
    this.whole = null;
    this.progress = "";
    this.app.update();
  }

  /** @param {import("../types.js").Side} side */
  spokenSummary(side) {
    const { session, evaluations } = this.app;
    const found = evaluations.summary(session.tree.shownLine(), side);
    return found ? `${side}: ${summaryText(found)}.` : "";
  }

  say() {
    const { session } = this.app;
    if (!session.facts || this.lesson || this.said === session.node) return;
    this.said = session.node;
    announce(`${this.review.spoken()}${this.app.game.statusText()}`);
  }
}

/**
 * Returns the game of a link, at the end of its moves.
 * @param {Link} link
 * @param {import("../types.js").Rules[]} ruleSets
 */
function treeOf({ position, moves = "", rules = "paper" }, ruleSets) {
  const start = position === "startpos" ? initial(9, 6) : parsePosition(position);
  const tree = new Tree(printPosition(start));
  tree.rules = parseRules(rules, ruleSets);
  for (const move of moves.split(",").filter(Boolean)) tree.play(move);
  return tree;
}

/**
 * Returns the node of a game that another game shows, or null if the first has no such moves.
 * @param {Tree} tree
 * @param {Tree} other
 */
function nodeOf(tree, other) {
  if (tree.root.position !== other.root.position || tree.rules !== other.rules) return null;
  let node = tree.root;
  for (const { move } of other.current.line().slice(1)) {
    const next = node.children.find((child) => child.move === move);
    if (!next) return null;
    node = next;
  }
  return node;
}
