/** Play: a game between people and players of the program. */

import { api, delay, isAbort } from "../api.js";
import { other } from "../geometry.js";
import { announce, button, choice, fill, h, panel, refill, toggle } from "../dom.js";
import { boardChoice, chosenRules, rulesChoice, segmentLabels, segments } from "../forms.js";
import { ruleLink } from "../howto.js";
import { showGame } from "../movelist.js";
import { showMoves } from "../moves-panel.js";
import { initial, parseRules, printPosition } from "../notation.js";
import { pageButton, replaceGame, saveButton } from "../records.js";
import { save, settings } from "../storage.js";
import { forbiddenText, resultText, roundedValue, valueText } from "../text.js";
import { Tree } from "../tree.js";
import { showOffer } from "../build-card.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../types.js").Side} Side
 * @typedef {import("../types.js").Limits} Limits
 */

/** The players that have levels with noise. */
const LEVELLED = ["sternhalma"];
/** The seconds per move that can be chosen. */
const TIMES = [0.5, 1, 3, 10, 30];
/** The least time between a move and the reply, in milliseconds. */
const PAUSE = 500;
/** The node expansions of a hint. */
const HINT = 30000;

/** The side of the board on which the games of different sizes are played. */
const SIDE = 9;
/** The games that are offered at first: the pieces of an army, and a text. @type {[number, string][]} */
const GAMES = [
  [6, "6 pieces"],
  [10, "10, as in the shop"],
];

/** @type {[string, string][]} */
const SEATS = [
  ["x", "You play x"],
  ["o", "You play o"],
  ["both", "Two people"],
  ["none", "Engines"],
];

export class PlayView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = "Play";
    /** @type {import("../dom.js").Icon} */
    this.icon = "play";
    this.settings = settings("play", {
      who: "x",
      x: "sternhalma",
      o: "sternhalma",
      strengthX: "level-3",
      strengthO: "level-3",
      size: 9,
      pieces: 6,
      rules: "",
      distances: false,
    });
    this.running = true;
    /** @type {AbortController | null} */
    this.search = null;
    /** The node that the player to move searches. @type {import("../tree.js").Node | null} */
    this.searched = null;
    /** The last hint, or what else is to be said about a node. @type {{node: import("../tree.js").Node | null, arrows: {path: string[], tone: string}[], text: string}} */
    this.note = { node: null, arrows: [], text: "" };
    this.said = "";
    this.setup = h("div.form");
    this.offer = h("div.offer");
    this.moves = h("div.moves");
    this.actions = h("div.actions");
    this.legal = h("div.move-groups");
    this.allMoves = h("details.more", { toggle: () => app.update() }, h("summary", {}, "All legal moves"), this.legal);
    this.left = h("div", {}, panel("Game", this.setup), this.offer);
    this.forbidden = h("p.note", { hidden: true });
    this.right = h("div", {}, panel("Moves", this.moves, this.forbidden, this.allMoves, this.actions));
    this.drawSetup();
  }

  show() {
    this.app.session.changed();
  }

  hide() {
    this.stop();
  }

  link() {
    return this.app.session.link();
  }

  /** @param {string} key */
  key(key) {
    return this.app.session.stepKey(key);
  }

  /** @param {Side} side */
  isHuman(side) {
    const { who } = this.settings;
    return who === "both" || who === side;
  }

  /** @param {Side} side */
  nameOf(side) {
    if (!this.isHuman(side)) return this.settings[side];
    return this.settings.who === "both" ? `Player ${side}` : "You";
  }

  /**
   * Returns the player of a side at its level, and its limits.
   * @param {Side} side
   * @returns {{player: string} & Limits}
   */
  opponent(side) {
    const player = this.settings[side];
    const [kind, number] = this.settings[side === "x" ? "strengthX" : "strengthO"].split("-");
    if (kind === "time") return { player, seconds: Number(number) };
    const { levels } = this.app;
    const level = levels[Number(number) - 1] ? number : "3";
    return {
      player: LEVELLED.includes(player) ? `${player},level=${level}` : player,
      nodes: levels[Number(level) - 1],
    };
  }

  /** @param {Partial<PlayView["settings"]>} change */
  change(change) {
    Object.assign(this.settings, change);
    save("play", this.settings);
    this.stop();
    this.drawSetup();
    this.app.session.changed();
  }

  /** The chosen rule set, or the newest one. */
  get rules() {
    return chosenRules(this.app.session.ruleSets, this.settings.rules);
  }

  newGame() {
    const { size, pieces, who } = this.settings;
    const tree = new Tree(printPosition(initial(size, pieces)));
    tree.rules = parseRules(this.rules?.name ?? "paper", this.app.session.ruleSets);
    tree.setTag("Event", "a game in the browser");
    tree.setTag("PlayerX", this.nameOf("x"));
    tree.setTag("PlayerO", this.nameOf("o"));
    this.stop();
    this.running = true;
    if (who === "x" || who === "o") this.app.stage.turn(who);
    announce(`New game on a board of ${size} by ${size} with ${pieces} pieces each.`);
    replaceGame(this.app, tree, "This is a new game.", () => {
      this.stop();
      this.running = this.settings.who !== "none";
    });
  }

  drawSetup() {
    const { settings: now } = this;
    const players = /** @type {[string, string][]} */ (
      this.app.players.map(({ name, about }) => [name, about ? `${name} – ${about}` : name])
    );
    const strengths = /** @type {[string, string][]} */ ([
      ...this.app.levels.map((_, at) => [`level-${at + 1}`, `Level ${at + 1}`]),
      ...TIMES.map((time) => [`time-${time}`, `${time} s per move`]),
    ]);
    const both = now.who === "none";
    /** @param {Side} side */
    const engine = (side) => {
      if (this.isHuman(side)) return null;
      const name = both ? `Player ${side}` : "Opponent";
      const change = (/** @type {string} */ value) =>
        this.change(
          both ? { [side === "x" ? "strengthX" : "strengthO"]: value } : { strengthX: value, strengthO: value },
        );
      const strength = side === "x" ? now.strengthX : now.strengthO;
      return h(
        "div.pair",
        {},
        choice(name, players, now[side], (value) => this.change({ [side]: value }), { "data-name": `player-${side}` }),
        choice(both ? `Strength of ${side}` : "Strength", strengths, strength, change, {
          "data-name": `strength-${side}`,
        }),
      );
    };
    fill(
      this.setup,
      h(
        "fieldset.segments.four",
        {},
        h("legend", {}, "Players"),
        ...segmentLabels("who", SEATS, now.who, (who) => this.change({ who })),
      ),
      engine("x"),
      engine("o"),
      segments("Game", "game", GAMES, now.size === SIDE ? now.pieces : null, (pieces) =>
        this.change({ size: SIDE, pieces }),
      ),
      boardChoice(now, (board) => this.change(board)),
      rulesChoice(this.app.session.ruleSets, now.rules, (rules) => this.change({ rules }), {
        "data-name": "rules",
        "aria-describedby": "about-rules",
      }),
      h(
        "p.note",
        { id: "about-rules" },
        `${this.rules?.explanation ?? ""} `,
        ruleLink(this.app.howto, "The rule in a picture", "forbidden"),
      ),
      button("New game", () => this.newGame(), {
        primary: true,
        icon: "plus",
        "data-action": "new-game",
        "data-key": "new-game",
      }),
      button("Play with a friend", () => this.app.visit({ view: "friend" }), {
        icon: "link",
        "data-action": "friend",
        "data-key": "friend",
      }),
      toggle("Show distances", now.distances, (on) => this.change({ distances: on }), { "data-name": "distances" }),
    );
    this.drawn = this.app.players;
  }

  update() {
    const { app } = this;
    const { session } = app;
    if (this.drawn !== app.players) this.drawSetup();
    const over = this.over();
    const human = this.isHuman(session.placement.player);
    app.game.show({
      movable: human && !over,
      overlay: this.settings.distances ? "change" : "off",
      names: { x: this.nameOf("x"), o: this.nameOf("o") },
      arrows: this.noteHere()?.arrows ?? [],
      play: (move) => this.play(move),
      actions: this.quickActions(over),
    });
    showGame(this.moves, session.tree, {
      go: (node) => session.go(node),
      mistake: (node) => (this.settings.distances ? app.evaluations.mistake(node) : null),
    });
    showOffer(this.offer, app, session.placement.size, session.pieces);
    this.drawReport(over);
    const moves = human && !over && this.allMoves.open ? (session.facts?.moves ?? []) : [];
    showMoves(this.legal, moves, (row) => this.play(row.move));
    const forbidden = human && !over ? forbiddenText(session.facts?.forbidden ?? []) : "";
    refill(this.forbidden, forbidden, () => [forbidden, " ", ruleLink(app.howto, "The rule", "forbidden")]);
    this.forbidden.hidden = !forbidden;
    refill(this.actions, "", () => [
      button("Analyse", () => app.visit({ view: "analyse" }), { icon: "chart", "data-action": "analyse" }),
      saveButton(app),
      pageButton(app),
      button("Link", () => app.share(), { icon: "link", "data-action": "share" }),
      h("p.note", {}, "A link opens the game on this server. To send the game to somebody, save it as a page."),
    ]);
    this.sayMove();
    if (!human && !over) this.think();
  }

  /** Returns the result of the shown position as a sentence, or an empty text. */
  over() {
    const { session } = this.app;
    const { tree, node } = session;
    const result = session.result(node);
    if (result) return resultText(result);
    if (tree.result === "*" || node.children.length > 0) return "";
    return tree.result === "1-0"
      ? "o resigned: x wins."
      : tree.result === "0-1"
        ? "x resigned: o wins."
        : "The game is drawn.";
  }

  /** Returns the note about the shown position. */
  noteHere() {
    return this.note.node === this.app.session.node ? this.note : null;
  }

  /** @param {string} over */
  drawReport(over) {
    const { session, stage } = this.app;
    if (session.fault) return;
    const { player } = session.placement;
    const first = session.node.parent ? "" : " Choose a piece.";
    const back = !this.isHuman(player) && session.node.children.length > 0;
    const turn = back
      ? "An earlier position."
      : !this.isHuman(player)
        ? this.running
          ? `${this.nameOf(player)} thinks…`
          : "Paused."
        : this.settings.who === "both"
          ? `${player} to move.${first}`
          : `Your move.${first}`;
    stage.status.textContent = over || this.noteHere()?.text || turn;
    stage.status.dataset.kind = over ? "over" : "";
  }

  /**
   * Returns the buttons below the board.
   * @param {string} over
   */
  quickActions(over) {
    const { session } = this.app;
    const { node } = session;
    const human = this.isHuman(session.placement.player) && !over;
    const must_pass = human && session.facts?.moves[0]?.move === "pass";
    const pause = this.settings.who === "none" && !over;
    return [
      pause
        ? button(this.running ? "Pause" : "Continue", () => this.pause(), {
            icon: this.running ? "pause" : "play",
            "data-action": "pause",
            "data-key": "pause",
          })
        : null,
      must_pass ? button("Pass", () => this.play("pass"), { primary: true, "data-action": "pass" }) : null,
      this.settings.who === "none"
        ? null
        : button("Undo", () => this.undo(), {
            icon: "undo",
            disabled: !node.parent,
            "data-action": "undo",
            "data-key": "undo",
          }),
      this.settings.who === "none"
        ? null
        : button("Hint", () => this.hint(), {
            icon: "bulb",
            disabled: !human,
            "data-action": "hint",
            "data-key": "hint",
          }),
      this.settings.who === "none"
        ? null
        : button("Resign", () => this.resign(), {
            icon: "flag",
            disabled: !human,
            "data-action": "resign",
            "data-key": "resign",
          }),
    ].filter((item) => item !== null);
  }

  /** @param {string} move */
  play(move) {
    this.stop();
    this.app.session.play(move, { promote: true });
  }

  /**
   * Goes back to the last position in which a person moves. Moves at the end of the game are removed; at an earlier
   * position the moves after it stay.
   */
  undo() {
    const { session } = this.app;
    this.stop();
    session.tree.result = "*";
    const last = session.node;
    let node = last.parent;
    let side = other(session.placement.player);
    while (node?.parent && !this.isHuman(side)) [node, side] = [node.parent, other(side)];
    session.go(node);
    if (last.children.length > 0) return;
    const first = last.line()[(node?.depth ?? 0) + 1];
    if (first) session.tree.remove(first);
    session.changed();
  }

  resign() {
    const { session } = this.app;
    this.stop();
    session.tree.result = session.placement.player === "x" ? "0-1" : "1-0";
    announce(this.over());
    session.changed();
  }

  pause() {
    this.running = !this.running;
    if (!this.running) this.stop();
    this.app.update();
  }

  stop() {
    this.search?.abort();
    this.search = null;
    this.searched = null;
  }

  /** Lets the player of the side to move choose a move. */
  async think() {
    const { session } = this.app;
    const { node } = session;
    const { player } = session.placement;
    if (!this.running || !session.facts || node.children.length > 0 || this.searched === node) return;
    this.stop();
    this.searched = node;
    const search = new AbortController();
    this.search = search;
    try {
      const [best] = await Promise.all([
        api.analyse(node.game(), { rules: session.rules, ...this.opponent(player) }, () => {}, search.signal),
        delay(PAUSE, search.signal),
      ]);
      if (search.signal.aborted) return;
      this.search = null;
      const move = best.move ?? best.pv[0];
      const played = session.play(move, { promote: true });
      played.search = {
        value: roundedValue(best.value),
        depth: best.depth || null,
        nodes: best.nodes || null,
        seconds: Math.round(1000 * best.seconds) / 1000,
      };
    } catch (error) {
      if (isAbort(error)) return;
      this.search = null;
      this.running = false;
      this.note = { node, arrows: [], text: "The player did not move." };
      this.app.fail(error);
      this.app.update();
    }
  }

  async hint() {
    const { session } = this.app;
    const { node } = session;
    this.stop();
    const search = new AbortController();
    this.search = search;
    try {
      const options = { player: "sternhalma", rules: session.rules, nodes: HINT };
      const best = await api.analyse(node.game(), options, () => {}, search.signal);
      if (session.node !== node) return;
      const move = best.move ?? best.pv[0];
      const path = session.facts?.moves.find((row) => row.move === move)?.path;
      const arrows = path && path.length > 1 ? [{ path, tone: "best" }] : [];
      this.note = { node, arrows, text: `Hint: ${move.replace("-", "–")} (${valueText(best.value)}).` };
      announce(`Hint: ${move.replace("-", " to ")}, value ${valueText(best.value)}.`);
    } catch (error) {
      if (!isAbort(error)) this.app.fail(error);
    } finally {
      if (this.search === search) this.search = null;
      this.app.update();
    }
  }

  /** Says the last move to screen readers, once its result is known. */
  sayMove() {
    const { session } = this.app;
    const { node } = session;
    if (!session.facts || this.said === node.position) return;
    this.said = node.position;
    const mover = other(session.placement.player);
    const move = node.parent ? `${this.nameOf(mover)}: ${node.move.replace("-", " to ")}. ` : "";
    announce(`${move}${this.over() || this.app.game.statusText()}`);
  }
}
