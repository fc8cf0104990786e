/** Play with a friend: a game of two people on two devices, which the server keeps. */

import { hasCode, isAbort } from "../api.js";
import { announce, button, h, notify, panel, refill } from "../dom.js";
import { boardChoice, chosenRules, rulesChoice, segments } from "../forms.js";
import { GameStage } from "../game-stage.js";
import { forgetSeat, gameLinks, games, isLocal, keepReport, keepSeat, keptReport, lastGame, seatIn } from "../games.js";
import { other } from "../geometry.js";
import { showGame } from "../movelist.js";
import { initial, parseRules, printPosition } from "../notation.js";
import { pageButton, replaceGame, saveButton } from "../records.js";
import { Session } from "../session.js";
import { save, settings } from "../storage.js";
import { forbiddenText, resultTag, resultText } from "../text.js";
import { Tree } from "../tree.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../games.js").Place} Place
 * @typedef {import("../types.js").Access} Access
 * @typedef {import("../types.js").LiveGame} LiveGame
 * @typedef {import("../types.js").Seat} Seat
 * @typedef {import("../types.js").Side} Side
 */

/** @type {[Side, string][]} */
const SIDES = [
  ["x", "x, first"],
  ["o", "o, second"],
];

export class FriendView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.settings = settings("friend", { size: 9, pieces: 6, rules: "", player: "x" });
    /** The game of the view, apart from that of the other views. */
    this.session = new Session({ kept: false });
    this.session.on(() => app.update());
    this.game = new GameStage({ session: this.session, stage: app.stage, fail: (error) => app.fail(error) });
    /** The name of the game, or an empty text before it begins. */
    this.name = "";
    /** The seat of this browser. @type {Place | null} */
    this.seat = null;
    /** The last state of the game. @type {LiveGame | null} */
    this.report = null;
    /** @type {Access | null} */
    this.access = null;
    /** The reason why there is no game. */
    this.fault = "";
    /** Whether the server does not have the game, or has it no longer. */
    this.gone = false;
    this.lost = false;
    /** Whether a request is sent. */
    this.busy = false;
    /** Whether the next press on the button resigns. */
    this.resigning = false;
    this.abort = new AbortController();
    this.setup = h("div.form");
    this.moves = h("div.moves");
    this.actions = h("div.actions");
    this.forbidden = h("p.note", { hidden: true });
    this.left = h("div", {}, panel("Play with a friend", this.setup));
    this.right = h("div", {}, panel("Moves", this.moves, this.forbidden, this.actions));
  }

  /** @param {import("../storage.js").Link} link */
  show(link) {
    this.session.ruleSets = this.app.session.ruleSets;
    if (link.game) this.follow(link.game);
    else this.prepare();
  }

  hide() {
    this.abort.abort();
  }

  link() {
    return { view: "friend", game: this.name };
  }

  /** @param {string} key */
  key(key) {
    return this.session.stepKey(key);
  }

  /** Shows the board of the next game. */
  prepare() {
    this.leave("");
    const { size, pieces } = this.settings;
    const tree = new Tree(printPosition(initial(size, pieces)));
    tree.rules = parseRules(this.rules, this.session.ruleSets);
    this.session.show(tree);
    this.app.stage.turn(this.settings.player === "o" ? "o" : "x");
  }

  /**
   * Leaves the shown game for another one.
   * @param {string} name
   */
  leave(name) {
    this.abort.abort();
    this.abort = new AbortController();
    this.name = name;
    this.seat = name ? seatIn(name) : null;
    [this.report, this.fault, this.gone, this.lost] = [null, "", false, false];
    [this.busy, this.resigning] = [false, false];
  }

  /**
   * Shows a game and its changes.
   * @param {string} name
   */
  async follow(name) {
    this.leave(name);
    const { signal } = this.abort;
    try {
      const lost = () => [(this.lost = true), this.app.update()];
      await games.follow(name, (report) => signal.aborted || this.receive(report), lost, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      if (hasCode(error, "unknown-game")) return this.lose();
      this.fault = error instanceof Error ? error.message : String(error);
      this.app.update();
    }
  }

  /** Shows that the server does not have the game any more. A player sees the last known state. */
  lose() {
    const known = this.seat && keptReport(this.name);
    if (known && !this.report) this.receive(known);
    this.abort.abort();
    this.gone = true;
    forgetSeat(this.name);
    announce(this.statusText());
    this.app.update();
  }

  /**
   * Shows the state of the game. A person who looks at an earlier position stays there.
   * @param {LiveGame} report
   */
  receive(report) {
    const before = this.report;
    // The event of an earlier state may arrive after the answer to a later move.
    if (before && report.moves.length < before.moves.length) return;
    this.report = report;
    if (this.seat) keepReport(report);
    this.resigning = false;
    this.lost = false;
    if (!this.access) this.findAccess();
    const tree = before ? this.session.tree : this.newTree(report);
    const line = [tree.root, ...tree.root.continuation()];
    let last = line[line.length - 1];
    const follows = tree.current === last;
    const fresh = report.moves.slice(last.depth);
    for (const move of fresh) last = tree.add(last, move);
    if (follows) tree.current = last;
    tree.result = resultTag(report.result ?? null);
    this.session.show(tree);
    if (before && (fresh.length > 0 || report.result !== before.result || report.joined.length > before.joined.length))
      this.say(fresh[fresh.length - 1]);
  }

  /** Asks how others reach the page. Without an answer, the next state of the game asks again. */
  async findAccess() {
    this.access = await games.access().catch(() => null);
    this.app.update();
  }

  /** @param {LiveGame} report */
  newTree({ position, rules }) {
    const tree = new Tree(position);
    tree.rules = parseRules(rules, this.session.ruleSets);
    tree.setTag("Event", "a game between friends");
    this.app.stage.turn(this.seat?.player ?? "x");
    return tree;
  }

  /**
   * Says the state of the game to screen readers, with the last move.
   * @param {string | undefined} move
   */
  say(move) {
    const mover = other(this.report?.player ?? "x");
    const played = move ? `${this.nameOf(mover)}: ${move.replace("-", " to ")}. ` : "";
    announce(`${played}${this.statusText()}`);
  }

  /**
   * Sends a request. Another one must wait for its end.
   * @template T
   * @param {() => Promise<T>} send
   * @param {(answer: T) => void} then
   */
  async send(send, then) {
    if (this.busy) return;
    const { signal } = this.abort;
    this.busy = true;
    this.app.update();
    try {
      const answer = await send();
      if (!signal.aborted) then(answer);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      if (hasCode(error, "unknown-game")) this.lose();
      else this.app.fail(error);
    } finally {
      if (!signal.aborted) this.busy = false;
      this.app.update();
    }
  }

  /** @param {Seat} seat */
  sit(seat) {
    keepSeat(seat);
    this.app.visit(this.linkTo(seat.game.game));
  }

  /** @param {string} game */
  linkTo(game) {
    return { view: "friend", game };
  }

  begin() {
    const { size: side, pieces, player } = this.settings;
    const game = { side, pieces, rules: this.rules, player: /** @type {Side} */ (player) };
    this.send(
      () => games.begin(game),
      (seat) => this.sit(seat),
    );
  }

  join() {
    this.send(
      () => games.join(this.name),
      (seat) => this.sit(seat),
    );
  }

  /** @param {string} move */
  play(move) {
    const { name, seat, report, abort } = this;
    if (!seat || !report) return;
    this.resigning = false;
    this.send(
      () => games.play(name, { seat: seat.seat, ply: report.moves.length, move }, abort.signal),
      (answer) => this.receive(answer),
    );
  }

  resign() {
    const { name, seat } = this;
    if (!seat) return;
    if (!this.resigning) {
      this.resigning = true;
      this.app.update();
      return;
    }
    this.send(
      () => games.resign(name, seat.seat),
      (answer) => this.receive(answer),
    );
  }

  rematch() {
    const { name, seat } = this;
    if (!seat) return;
    this.send(
      () => games.rematch(name, seat.seat),
      (next) => this.sit(next),
    );
  }

  /** The links of the game, one for each network of the server. */
  links() {
    return this.access ? gameLinks(this.name, this.access, location) : [];
  }

  /** @param {string} link */
  async copy(link) {
    try {
      await navigator.clipboard.writeText(link);
      notify("The link is copied.");
    } catch {
      // Browsers let only pages with a secure address write to the clipboard.
      const field = this.setup.querySelector("input");
      field?.select();
      notify("Copy the marked link.");
    }
  }

  /** Returns whether a person with a seat is to move in the last position. */
  isTurn() {
    const { report, seat, session } = this;
    if (!report || report.result || this.isLost()) return false;
    return seat?.player === report.player && !session.node.children.length;
  }

  /** Returns whether the game cannot continue on this page. */
  isLost() {
    return this.gone || this.fault !== "";
  }

  /** Returns whether a seat is free. */
  isOpen() {
    return (this.report?.joined.length ?? 2) < 2;
  }

  /** @param {Side} side */
  nameOf(side) {
    if (!this.report) return side === this.settings.player ? "You" : "Friend";
    if (!this.seat) return this.report.joined.includes(side) ? `Player ${side}` : "Free";
    return side === this.seat.player ? "You" : "Friend";
  }

  /** Returns the end of the game as a sentence, or an empty text. */
  over() {
    const { result, end, player } = this.report ?? {};
    if (!result) return "";
    if (end === "resigned") return `${other(result === "x" ? "x" : "o")} resigned: ${result} wins.`;
    if (end === "repetition") return "The game is drawn: the position has occurred three times.";
    if (end === "ply-limit") return "The game is drawn: it has reached the limit of moves.";
    return player ? resultText(result) : "";
  }

  statusText() {
    const { report, seat, session } = this;
    if (this.fault) return this.fault;
    if (this.gone) return `${this.over()} The server ${report ? "no longer has" : "does not have"} this game.`.trim();
    if (!this.name) return "Choose a board, and send the link to a friend.";
    if (this.lost) return "The connection is lost. Trying again…";
    if (!report) return "Asking for the game…";
    if (report.result) return `${this.over()}${report.rematch && seat ? " Your friend plays again." : ""}`;
    if (session.node.children.length > 0) return "An earlier position.";
    if (!seat) return this.isOpen() ? `A friend invites you to play ${this.freeSide()}.` : `${report.player} to move.`;
    if (this.isOpen()) return "Send the link to your friend.";
    return seat.player === report.player ? "Your move." : "Your friend is to move.";
  }

  freeSide() {
    return this.report?.joined.includes("x") ? "o" : "x";
  }

  update() {
    const { app, session, seat } = this;
    const turn = this.isTurn() && !this.busy && !this.lost;
    this.game.show({
      movable: turn,
      overlay: "off",
      names: { x: this.nameOf("x"), o: this.nameOf("o") },
      arrows: [],
      play: (move) => this.play(move),
      actions: this.quickActions(),
    });
    const { status } = app.stage;
    status.textContent = session.fault || this.statusText();
    const isFault = this.isLost() || this.lost || session.fault;
    status.dataset.kind = isFault ? "error" : this.over() ? "over" : "";
    document.title = `${this.isTurn() ? "Your move" : "Play with a friend"} · Sternhalma`;
    showGame(this.moves, session.tree, { go: (node) => session.go(node), mistake: () => null });
    const forbidden = turn ? forbiddenText(session.facts?.forbidden ?? []) : "";
    this.forbidden.textContent = forbidden;
    this.forbidden.hidden = !forbidden;
    const host = this.host;
    // A player who looks for the best move during the game would not play alone.
    const isOpen = Boolean(this.over()) || this.isLost() || !seat;
    refill(this.actions, [session.tree.root.position, this.name, this.report === null, isOpen], () =>
      this.report
        ? [
            saveButton(host),
            ...(isOpen
              ? [pageButton(host), button("Analyse", () => this.analyse(), { icon: "chart", "data-action": "analyse" })]
              : []),
          ]
        : [],
    );
    this.drawSetup();
  }

  /** The game of the view, for the functions that save it. */
  get host() {
    return { session: this.session, fail: (/** @type {unknown} */ error) => this.app.fail(error) };
  }

  analyse() {
    const tree = Tree.fromRecord(this.session.tree.toRecord());
    replaceGame(this.app, tree, "The game with your friend is open.");
    this.app.visit({ view: "analyse" });
  }

  /** Returns the buttons below the board. */
  quickActions() {
    const { report, seat, session } = this;
    const off = { disabled: this.busy };
    if (!this.name)
      return [button("Create a link", () => this.begin(), { ...off, primary: true, "data-action": "begin" })];
    if (this.isLost())
      return [...(report?.moves.length ? [saveButton(this.host)] : []), this.another("New game", { primary: true })];
    if (!report) return [];
    if (!seat) {
      const text = `Play ${this.freeSide()}`;
      return this.isOpen() && !report.result
        ? [button(text, () => this.join(), { ...off, primary: true, "data-action": "join" })]
        : [];
    }
    if (report.result)
      return [button("Play again", () => this.rematch(), { ...off, primary: true, "data-action": "rematch" })];
    const pass = this.isTurn() && session.facts?.moves[0]?.move === "pass";
    return [
      this.isOpen() && this.links()[0]
        ? button("Copy the link", () => this.copy(this.links()[0]), { primary: true, "data-action": "copy" })
        : null,
      pass ? button("Pass", () => this.play("pass"), { ...off, primary: true, "data-action": "pass" }) : null,
      button(this.resigning ? "Really resign?" : "Resign", () => this.resign(), {
        ...off,
        icon: "flag",
        "data-action": "resign",
        "data-key": "resign",
      }),
    ].filter((item) => item !== null);
  }

  drawSetup() {
    const { name, seat, report, fault, gone, access, settings: now, session } = this;
    const key = [name, seat, report?.joined, fault, gone, access, now, session.ruleSets.length, lastGame()];
    refill(this.setup, key, () => {
      if (!name) return this.form();
      if (gone) return [h("p", { "data-name": "gone" }, goneText(report)), this.another()];
      return fault ? [this.another()] : report ? this.about(report) : [];
    });
  }

  /**
   * Returns a button that leaves the game for the form of another one.
   * @param {string} [text]
   * @param {{primary?: boolean}} [options]
   */
  another(text = "Another game with a friend", options = {}) {
    return button(text, () => this.app.visit({ view: "friend" }), {
      icon: "plus",
      "data-action": "another",
      "data-key": "another",
      ...options,
    });
  }

  /**
   * Returns the facts of a game and the links to it.
   * @param {LiveGame} report
   */
  about({ rules }) {
    const { seat, session } = this;
    const { size } = session.placement;
    const about = session.ruleSets.find(({ name }) => name === rules)?.about ?? rules;
    const role = seat ? `You play ${seat.player}` : this.isOpen() ? `You may play ${this.freeSide()}` : "You watch";
    const links = this.links();
    const text = this.isOpen() ? "Link for your friend" : "Link to watch";
    return [
      h("p", {}, `${role} on a board of ${size} × ${size} with ${session.pieces} pieces each. Rules: ${about}.`),
      ...links.map((link) => this.linkField(text, link)),
      seat && this.isOpen() && links.length > 0 && isLocal(new URL(links[0]).hostname)
        ? h(
            "p.note",
            { "data-name": "local" },
            "This link works on this machine alone. Start the server with --bind 0.0.0.0 to play on two devices.",
          )
        : null,
      this.another(),
    ];
  }

  /**
   * @param {string} text
   * @param {string} link
   */
  linkField(text, link) {
    const input = h("input", { type: "text", readonly: true, value: link, "data-name": "link", "data-key": link });
    return h(
      "div.inline",
      {},
      h("label.field", {}, h("span", {}, text), input),
      button("Copy", () => this.copy(link), { "data-key": `copy ${link}` }),
    );
  }

  /** The name of the chosen rule set, or of the newest one. */
  get rules() {
    return chosenRules(this.session.ruleSets, this.settings.rules)?.name ?? "paper";
  }

  /** @param {Partial<FriendView["settings"]>} change */
  change(change) {
    Object.assign(this.settings, change);
    save("friend", this.settings);
    this.prepare();
  }

  /** Returns the form of a new game. */
  form() {
    const { settings: now } = this;
    const last = lastGame();
    return [
      h("p.note", {}, "Each of you opens the page of this server. Both see every move at once."),
      segments("You play", "friend-side", SIDES, /** @type {Side} */ (now.player), (player) => this.change({ player })),
      boardChoice(now, (board) => this.change(board), "friend-"),
      rulesChoice(this.session.ruleSets, now.rules, (rules) => this.change({ rules }), {
        "data-name": "friend-rules",
        "data-key": "friend-rules",
      }),
      last
        ? button("Back to your last game", () => this.app.visit(this.linkTo(last)), {
            icon: "undo",
            "data-action": "last-game",
            "data-key": "last-game",
          })
        : null,
    ];
  }
}

/**
 * Returns why there is no game, and what can still be done with it.
 * @param {LiveGame | null} report the last known state
 */
function goneText(report) {
  const why = "The server keeps games in memory only: they end when it stops, or some time after the last move.";
  return report?.moves.length ? `${why} This page still has the moves. Save the record to keep them.` : why;
}
