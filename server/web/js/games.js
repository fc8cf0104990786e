/** The client of games between people: its requests, the changes of a game, and the seats that the browser keeps. */

import { ApiError, EVENTS, delay, events, get, isAbort, post, request } from "./api.js";
import { load, printLink, save } from "./storage.js";

/**
 * @typedef {import("./types.js").LiveGame} LiveGame
 * @typedef {import("./types.js").Seat} Seat
 * @typedef {import("./types.js").Access} Access
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").RuleSet} RuleSet
 *
 * @typedef {{seat: string, player: Side}} Place the secret and the side of a player
 */

/** The time until a lost connection is tried again, in milliseconds. */
const RETRY = 1000;
/** The longest silence of a connection, in milliseconds. The server sends a sign of life every 15 seconds. */
const SILENCE = 40000;
/** The seats that the browser keeps. */
const KEPT = 20;

/** @param {string} game */
const path = (game, rest = "") => `api/games/${encodeURIComponent(game)}${rest}`;

export const games = {
  /** @returns {Promise<Access>} */
  access: () => get("api/access"),

  /** @type {(game: {side: number, pieces: number, rules: RuleSet, player: Side}) => Promise<Seat>} */
  begin: (game) => post("api/games", game),

  /** @type {(game: string) => Promise<Seat>} */
  join: (game) => post(path(game, "/join"), {}),

  /** @type {(game: string, seat: string) => Promise<LiveGame>} */
  resign: (game, seat) => post(path(game, "/resign"), { seat }),

  /** @type {(game: string, seat: string) => Promise<Seat>} */
  rematch: (game, seat) => post(path(game, "/rematch"), { seat }),

  /**
   * Plays a move. While the server cannot be reached, the request is repeated.
   * @param {string} game
   * @param {{seat: string, ply: number, move: string}} move
   * @param {AbortSignal} signal
   * @returns {Promise<LiveGame>}
   */
  play: async (game, move, signal) => {
    for (;;) {
      try {
        return await post(path(game, "/moves"), move, signal);
      } catch (error) {
        if (!isPassing(error)) throw error;
        await delay(RETRY, signal);
      }
    }
  },

  /**
   * Reports the state of a game at once and after each change, until `signal` is aborted. A lost connection is tried
   * again.
   * @param {string} game
   * @param {(report: LiveGame) => void} report
   * @param {() => void} lost called when the connection is lost
   * @param {AbortSignal} signal
   * @throws {ApiError} if the server does not know the game
   */
  follow: async (game, report, lost, signal) => {
    for (;;) {
      try {
        await connection(game, report, signal);
      } catch (error) {
        if (!isPassing(error)) throw error;
        lost();
      }
      await delay(RETRY, signal);
    }
  },
};

/**
 * Reports the states of a game until the connection ends.
 * @param {string} game
 * @param {(report: LiveGame) => void} report
 * @param {AbortSignal} signal
 */
async function connection(game, report, signal) {
  const silence = new AbortController();
  const silent = () => silence.abort(new ApiError(0, "The server is silent."));
  let timer = setTimeout(silent, SILENCE);
  // A browser that leaves its network keeps the connection open for a while.
  globalThis.addEventListener("offline", silent);
  try {
    const options = { signal: AbortSignal.any([signal, silence.signal]), headers: EVENTS };
    for await (const { event, data } of events(await request(path(game, "/events"), options))) {
      clearTimeout(timer);
      timer = setTimeout(silent, SILENCE);
      if (event === "game") report(JSON.parse(data));
    }
  } finally {
    clearTimeout(timer);
    globalThis.removeEventListener("offline", silent);
  }
}

/**
 * Returns whether a request may succeed later: the server cannot be reached, or is busy.
 * @param {unknown} error
 */
function isPassing(error) {
  if (isAbort(error)) return false;
  // The body of an answer ends with a `TypeError` if the connection is lost.
  return error instanceof TypeError || (error instanceof ApiError && (error.status === 0 || error.status >= 502));
}

/** The seats by the names of their games, the last one last. */
function seats() {
  return load("seats", /** @type {Record<string, Place>} */ ({}));
}

/**
 * Returns the seat of this browser in a game, if it has one.
 * @param {string} game
 * @returns {Place | null}
 */
export function seatIn(game) {
  return seats()[game] ?? null;
}

/** Returns the name of the last game in which this browser has a seat. */
export function lastGame() {
  return Object.keys(seats()).pop() ?? null;
}

/**
 * Keeps a seat. The oldest ones are forgotten.
 * @param {Seat} seat
 */
export function keepSeat({ seat, player, game: { game } }) {
  const others = Object.entries(seats()).filter(([name]) => name !== game);
  save("seats", Object.fromEntries([...others.slice(1 - KEPT), [game, { seat, player }]]));
}

/**
 * Forgets the seat in a game that the server does not know any more.
 * @param {string} game
 */
export function forgetSeat(game) {
  save("seats", Object.fromEntries(Object.entries(seats()).filter(([name]) => name !== game)));
}

/**
 * Keeps the last state of a game in which this browser has a seat. The state of another game is forgotten.
 * @param {LiveGame} report
 */
export function keepReport(report) {
  save("friend-game", report);
}

/**
 * Returns the last state of a game that the browser has kept, if it has.
 * @param {string} game
 * @returns {LiveGame | null}
 */
export function keptReport(game) {
  const report = load("friend-game", /** @type {LiveGame | null} */ (null));
  return report?.game === game ? report : null;
}

/**
 * Returns whether the page was opened by an address that has its meaning on this machine alone.
 * @param {string} hostname
 */
export function isLocal(hostname) {
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}

/**
 * Returns the links by which others open a game, one for each network of the server.
 * @param {string} game
 * @param {Access} access
 * @param {Pick<Location, "origin" | "pathname" | "hostname">} at the address of the page
 */
export function gameLinks(game, { pages, query }, { origin, pathname, hostname }) {
  const known = isLocal(hostname) && pages.length > 0 ? pages : [`${origin}${pathname}`];
  return known.map((page) => `${page}${query}${printLink({ view: "friend", game })}`);
}
