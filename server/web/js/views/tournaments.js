/** Tournaments: their results so far, and their games. */

import { api } from "../api.js";
import { announce, button, choice, h, panel, refill } from "../dom.js";
import { ENDS, crossTable, ends, sequentialTest, standings, table } from "../results.js";
import { replaceGame } from "../records.js";
import { count } from "../text.js";
import { Tree } from "../tree.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../storage.js").Link} Link
 * @typedef {import("../types.js").Tournament} Tournament
 * @typedef {import("../types.js").TournamentResults} TournamentResults
 * @typedef {import("../types.js").GameRow} GameRow
 * @typedef {import("../types.js").TournamentGame} TournamentGame
 */

/** The games of a page. */
const PAGE = 20;
/** The time between two looks at running tournaments, and at finished ones, in milliseconds. */
const PERIOD = 2000;
const LONG_PERIOD = 10000;
const RESULTS = ["1-0", "0-1", "1/2-1/2"];

export class TournamentsView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Tournament[] | null} */
    this.tournaments = null;
    /** @type {{name: string, error: string}[]} */
    this.unreadable = [];
    /** The name of the shown log. */
    this.log = "";
    /** @type {TournamentResults | null} */
    this.results = null;
    /** @type {{matching: number, games: GameRow[]}} */
    this.games = { matching: 0, games: [] };
    this.filter = { player: "", result: "", end: "", skip: 0 };
    /** Whether the last games are shown as they are played. */
    this.follows = true;
    /** The game whose moves are shown. @type {TournamentGame | null} */
    this.opened = null;
    this.timer = 0;
    /** Whether the last look failed, which is reported once. */
    this.failed = false;
    /** The number of requests for games, of which only the last one counts. */
    this.requests = 0;
    /** The results of games that were seen. */
    this.seen = new Set(RESULTS);
    this.list = h("nav.logs", { "aria-label": "Logs" });
    this.summary = h("div.summary");
    this.filters = h("div.triple");
    this.rows = h("div");
    this.moves = h("div");
    this.gamesPanel = panel("Games", this.filters, this.rows, this.moves);
    this.left = h("div", {}, panel("Tournaments", this.list));
    this.right = h("div", {}, panel("Results", this.summary), this.gamesPanel);
    document.addEventListener("visibilitychange", () => this.log && !document.hidden && this.look());
  }

  /** @param {Link} link */
  show(link) {
    if (link.log && link.log !== this.log) this.choose(link.log);
    this.look();
  }

  hide() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** @returns {Link} */
  link() {
    return { view: "tournaments", ...(this.log ? { log: this.log } : {}) };
  }

  key() {
    return false;
  }

  /** @param {string} log */
  choose(log) {
    // Games of the log that was shown before, which are still to arrive, are not those of this one.
    this.requests++;
    Object.assign(this, { log, results: null, opened: null, follows: true, games: { matching: 0, games: [] } });
    this.filter = { player: "", result: "", end: "", skip: 0 };
  }

  /** Asks for the tournaments and the results, and goes on asking while the view is shown. */
  async look() {
    clearTimeout(this.timer);
    try {
      const { tournaments, unreadable } = await api.tournaments();
      [this.tournaments, this.unreadable, this.failed] = [tournaments, unreadable, false];
      if (!this.log && tournaments.length > 0) this.choose(tournaments[0].name);
      const row = tournaments.find(({ name }) => name === this.log);
      if (row && row.played !== this.results?.played) await this.read();
    } catch (error) {
      if (!this.failed) this.app.fail(error);
      this.failed = true;
    }
    this.app.update();
    clearTimeout(this.timer);
    if (document.body.dataset.view !== "tournaments" || document.hidden) return;
    const running = !this.failed && this.tournaments?.some(({ games, played }) => played < games);
    this.timer = window.setTimeout(() => this.look(), running ? PERIOD : LONG_PERIOD);
  }

  /** Reads the results and the shown games. */
  async read() {
    const { log, results: before } = this;
    const results = await api.tournament(log);
    if (log !== this.log) return;
    this.results = results;
    if (before && results.played > before.played) announce(`${results.played} of ${results.games} games are played.`);
    await this.readGames();
  }

  async readGames() {
    const { log } = this;
    const request = ++this.requests;
    const { player, result, end } = this.filter;
    const wanted = {
      player: player || undefined,
      result: result || undefined,
      end: end.replace("_", "-") || undefined,
    };
    if (this.follows && this.results && this.results.played < this.results.games) {
      const { matching } = await api.games(log, { ...wanted, count: 0 });
      if (request !== this.requests) return;
      this.filter.skip = Math.max(0, matching - PAGE);
    }
    const games = await api.games(log, { ...wanted, skip: this.filter.skip, count: PAGE });
    if (request !== this.requests) return;
    this.games = games;
    for (const { result } of games.games) this.seen.add(result);
    this.app.update();
  }

  /** @param {Partial<TournamentsView["filter"]>} change */
  change(change) {
    this.follows = false;
    Object.assign(this.filter, { skip: 0 }, change);
    this.readGames().catch((error) => this.app.fail(error));
  }

  update() {
    this.drawList();
    this.drawSummary();
    this.gamesPanel.hidden = !this.results;
    this.drawFilters();
    this.drawGames();
    this.drawMoves();
  }

  drawList() {
    const { tournaments, unreadable, log } = this;
    refill(this.list, [tournaments, unreadable, log], () => [
      tournaments?.length === 0 && unreadable.length === 0
        ? h(
            "p.note",
            {},
            "No logs. Play a tournament with ",
            h("code", {}, "sternhalma tournament … --log DIR/NAME.ndjson"),
            ", and start the server with ",
            h("code", {}, "--logs DIR"),
            ".",
          )
        : null,
      ...(tournaments ?? []).map(({ name, games, played }) =>
        h(
          "a.log",
          {
            href: `#view=tournaments&log=${encodeURIComponent(name)}`,
            "aria-current": name === log ? "true" : null,
            "data-key": name,
          },
          h("strong", {}, name),
          h("span.note", {}, played < games ? `${played} of ${count(games, "game")}` : count(games, "game")),
        ),
      ),
      ...unreadable.map(({ name, error }) => h("p", { class: "fault" }, h("strong", {}, name), ` ${error}`)),
    ]);
  }

  drawSummary() {
    const { results } = this;
    const missing = this.log !== "" && !this.tournaments?.some(({ name }) => name === this.log);
    refill(this.summary, [results, missing], () => {
      if (!results) return [h("p.note", {}, missing ? `There is no log ${this.log}.` : "No tournament is shown.")];
      const { name, players, games, played, rounds, curves } = results;
      const bar = h("progress", { max: games, "aria-label": "Games played" });
      bar.value = played;
      return [
        h("h3", {}, name),
        h("p.note", {}, `${gameText(results)}, ${count(players.length, "player")}`),
        h("p", { "data-name": "played" }, `${played} of ${count(games, "game")}`),
        played < games ? bar : null,
        ...rounds.flatMap((round, at) => [
          rounds.length > 1 ? h("h3", {}, round.name || `Round ${at + 1}`) : null,
          standings(round),
          round.entrants.length > 2 ? crossTable(round) : null,
          ends(round),
          ...round.pairings.map((pairing, index) => {
            const curve = curves.find(({ round, pairing }) => round === at && pairing === index);
            return pairing.sprt ? sequentialTest(pairing, pairing.sprt, curve?.points ?? []) : null;
          }),
        ]),
      ];
    });
  }

  drawFilters() {
    const { filter, results } = this;
    refill(this.filters, [filter, results?.players, [...this.seen]], () => {
      const all = /** @type {[string, string]} */ (["", "all"]);
      const field = (
        /** @type {string} */ label,
        /** @type {"player" | "result" | "end"} */ name,
        /** @type {[string, string][]} */ options,
      ) =>
        choice(label, [all, ...options], filter[name], (value) => this.change({ [name]: value }), {
          "data-name": name,
          "data-key": name,
        });
      return [
        field(
          "Player",
          "player",
          (results?.players ?? []).map((player) => [player, player]),
        ),
        field(
          "Result",
          "result",
          [...this.seen].map((result) => [result, result]),
        ),
        field("End", "end", Object.entries(ENDS)),
      ];
    });
  }

  drawGames() {
    const { games, filter } = this;
    refill(this.rows, [games, filter.skip], () => {
      const rows = games.games.map((game) =>
        h(
          "tr",
          {},
          h(
            "td",
            {},
            button(`${game.number}`, () => this.openGame(game.number), {
              "aria-label": `Open game ${game.number}`,
              "data-action": "open-game",
              "data-key": `game-${game.number}`,
            }),
          ),
          h("td", {}, game.players.join(" – ")),
          h("td", {}, game.result),
          h("td", {}, ENDS[game.end.replace("-", "_")] ?? game.end, game.fault ? `: ${game.fault}` : ""),
          h("td", {}, game.plies),
        ),
      );
      const { skip } = filter;
      const last = Math.min(skip + PAGE, games.matching);
      const turn = (/** @type {string} */ text, /** @type {number} */ to, /** @type {boolean} */ disabled) =>
        button(text, () => this.change({ skip: to }), {
          disabled,
          "data-key": text,
          "data-action": text.toLowerCase(),
        });
      return [
        table("Games", ["Game", "Players", "Result", "End", "Plies"], rows),
        h(
          "div.row-actions",
          {},
          turn("Previous", Math.max(0, skip - PAGE), skip === 0),
          turn("Next", skip + PAGE, last >= games.matching),
          h("span.note", {}, games.matching > 0 ? `${skip + 1} to ${last} of ${games.matching}` : "No game matches."),
        ),
      ];
    });
  }

  drawMoves() {
    const { opened } = this;
    refill(this.moves, opened?.number, () =>
      opened
        ? [
            h("h3", { tabindex: -1 }, `Game ${opened.number}: ${opened.players.join(" – ")}, ${opened.result}`),
            h("ol.steps", {}, ...opened.moves.map((move) => h("li", {}, move))),
          ]
        : [],
    );
  }

  /**
   * Opens a game of Chinese Checkers on the board of the analysis, and shows the moves of another one.
   * @param {number} number
   */
  async openGame(number) {
    const { log } = this;
    try {
      const game = await api.game(log, number);
      if (log !== this.log) return;
      if (game.record) {
        const tree = Tree.fromRecord(game.record);
        // The way back leads to this tournament.
        history.replaceState(null, "", `#view=tournaments&log=${encodeURIComponent(log)}`);
        replaceGame(this.app, tree, `This is game ${number}.`);
        this.app.visit({ view: "analyse" });
        return;
      }
      this.opened = game;
      this.drawMoves();
      this.moves.querySelector("h3")?.focus();
    } catch (error) {
      if (log === this.log) this.app.fail(error);
    }
  }
}

/** @param {Tournament} tournament */
function gameText({ game }) {
  const { side, pieces, name } = game;
  if (side && pieces) return `Chinese Checkers, ${side} × ${side}, ${count(Number(pieces), "piece")}`;
  return name ? `${name}` : "A rulesheet";
}
