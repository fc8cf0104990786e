/** The client of the JSON interface. */

/**
 * @typedef {import("./types.js").Position} Position
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").HeatCell} HeatCell
 * @typedef {import("./types.js").TableInfo} TableInfo
 * @typedef {import("./types.js").Build} Build
 * @typedef {import("./types.js").Offer} Offer
 * @typedef {import("./types.js").Info} Info
 * @typedef {import("./types.js").PlayedGame} PlayedGame
 * @typedef {import("./types.js").Players} Players
 * @typedef {import("./types.js").Limits} Limits
 * @typedef {import("./types.js").RuleSet} RuleSet
 * @typedef {import("./types.js").GameRecord} GameRecord
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").Rulesheet} Rulesheet
 * @typedef {import("./types.js").RulesheetState} RulesheetState
 * @typedef {import("./types.js").Tournament} Tournament
 * @typedef {import("./types.js").TournamentResults} TournamentResults
 * @typedef {import("./types.js").GameRow} GameRow
 * @typedef {import("./types.js").GameFilter} GameFilter
 * @typedef {import("./types.js").TournamentGame} TournamentGame
 * @typedef {import("./types.js").ErrorCode} ErrorCode
 */

/** An answer of the server that is not the requested one. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if the server cannot be reached
   * @param {string} message
   * @param {number | null} retryAfter seconds
   * @param {ErrorCode | ""} code the kind of the error; an empty text if the answer is not from the server itself
   */
  constructor(status, message, retryAfter = null, code = "") {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.retryAfter = retryAfter;
    this.code = code;
  }
}

/**
 * Returns a path with the parameters that have a value.
 * @param {string} path
 * @param {Record<string, string | number | undefined>} parameters
 */
export function url(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * Sends a request. The path is relative to the page, which a proxy may serve under a path of its own.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, "The server does not answer. Is `sternhalma serve` still running?");
  }
  if (response.ok) return response;
  const retry = Number(response.headers.get("Retry-After"));
  const { error, code } = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  throw new ApiError(response.status, String(error), retry > 0 ? retry : null, code);
}

/**
 * Returns whether an error is an answer of the server with this code.
 * @param {unknown} error
 * @param {ErrorCode} code
 */
export function hasCode(error, code) {
  return error instanceof ApiError && error.code === code;
}

/**
 * Returns whether an error is that of a request that the page itself ended.
 * @param {unknown} error
 */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
export const get = async (path, signal) => (await request(path, { signal })).json();

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 */
export const post = async (path, body, signal) => {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
};

/**
 * @param {string} name
 * @param {string} [rest]
 */
const table = (name, rest = "") => `api/tables/${encodeURIComponent(name)}${rest}`;

/**
 * @param {string} log
 * @param {string} [rest]
 */
const tournament = (log, rest = "") => `api/tournaments/${encodeURIComponent(log)}${rest}`;

/**
 * @param {string} name
 * @param {string} [rest]
 */
const rulesheet = (name, rest = "") => `api/rulesheets/${encodeURIComponent(name)}${rest}`;

/** The header of requests for events, by which proxies recognise an answer that they must not collect. */
export const EVENTS = { Accept: "text/event-stream" };

/** The rule set of games that name none. @type {RuleSet} */
const UNNAMED = "paper";

export const api = {
  /** @returns {Promise<Players>} */
  players: () => get("api/players"),

  /** @returns {Promise<{tables: TableInfo[], unreadable: {name: string, error: string}[], deletes: boolean}>} */
  tables: () => get("api/tables"),

  /** @type {(name: string) => Promise<TableInfo>} */
  table: (name) => get(table(name)),

  /** @type {(name: string, checksum: string) => Promise<void>} */
  deleteTable: async (name, checksum) => {
    await request(url(table(name), { checksum }), { method: "DELETE" });
  },

  /** @type {(name: string, state: string, player: Side, signal?: AbortSignal) => Promise<State>} */
  state: (name, state, player, signal) => get(url(table(name, "/state"), { state, player }), signal),

  /** @type {(name: string, state: string, player: Side, signal?: AbortSignal) => Promise<Line>} */
  line: (name, state, player, signal) => get(url(table(name, "/line"), { state, player }), signal),

  /** @type {(name: string, state: string, player: Side, piece: string, signal?: AbortSignal) => Promise<HeatCell[]>} */
  heat: async (name, state, player, piece, signal) =>
    (await get(url(table(name, "/heat"), { state, player, piece }), signal)).cells,

  /** @type {(name: string, distance: number, player: Side, seed?: number) => Promise<{state: string, player: Side, rank: number, distance: number}>} */
  random: (name, distance, player, seed) => get(url(table(name, "/random"), { distance, player, seed })),

  /** @type {(position: string, rules?: RuleSet, signal?: AbortSignal) => Promise<Position>} */
  position: (position, rules = UNNAMED, signal) => get(url("api/position", { position, rules }), signal),

  /** @type {(side: number, pieces: number) => Promise<Offer>} */
  offer: (side, pieces) => get(url("api/offer", { side, pieces })),

  /** @returns {Promise<Build[]>} */
  builds: async () => (await get("api/builds")).builds,

  /** @type {(side: number, pieces: number, within?: number) => Promise<Build>} */
  startBuild: (side, pieces, within) => post("api/builds", { side, pieces, ...(within ? { within } : {}) }),

  /** @type {(id: string) => Promise<Build>} */
  build: (id) => get(`api/builds/${encodeURIComponent(id)}`),

  /** @type {(id: string) => Promise<void>} */
  cancelBuild: async (id) => {
    await request(`api/builds/${encodeURIComponent(id)}`, { method: "DELETE" });
  },

  /** @type {() => Promise<Rulesheet[]>} */
  rulesheets: async () => (await get("api/rulesheets")).rulesheets,

  /** @type {(name: string) => Promise<import("./types.js").RulesheetDetails>} */
  rulesheet: (name) => get(rulesheet(name)),

  /** @type {(name: string, step: {state?: string[], moves?: Record<string, string>}, signal?: AbortSignal) => Promise<RulesheetState>} */
  rulesheetState: (name, step, signal) => post(rulesheet(name, "/state"), step, signal),

  /** @type {(name: string, options: {state: string[], role: string, policy: string, playouts: number, seed: number}, signal: AbortSignal) => Promise<{move: string}>} */
  rulesheetMove: (name, options, signal) => post(rulesheet(name, "/move"), options, signal),

  /** @type {() => Promise<{tournaments: Tournament[], unreadable: {name: string, error: string}[]}>} */
  tournaments: () => get("api/tournaments"),

  /** @type {(log: string) => Promise<TournamentResults>} */
  tournament: (log) => get(tournament(log)),

  /** @type {(log: string, filter: GameFilter) => Promise<{matching: number, games: GameRow[]}>} */
  games: (log, filter) => get(url(tournament(log, "/games"), { ...filter })),

  /** @type {(log: string, number: number) => Promise<TournamentGame>} */
  game: (log, number) => get(tournament(log, `/games/${number}`)),

  /** @type {(text: string) => Promise<GameRecord>} */
  parseRecord: (text) => post("api/records/parse", { text }),

  /** @type {(record: GameRecord) => Promise<string>} */
  printRecord: async (record) => (await post("api/records/print", record)).text,

  /** @type {(record: GameRecord, searches: {node: number, info: Info}[]) => Promise<string>} */
  recordPage: async (record, searches) => (await post("api/records/page", { record, searches })).text,

  /**
   * Searches the position after the moves of a game. Every report of the search goes to `report`; the last one is returned. The search stops when
   * `signal` is aborted. While too many other searches are running, the request is repeated.
   * @param {PlayedGame} game
   * @param {{player?: string, rules?: RuleSet, lines?: number} & Limits} options
   * @param {(info: Info) => void} report
   * @param {AbortSignal} signal
   * @returns {Promise<Info>}
   */
  analyse: async (game, { rules = UNNAMED, ...options }, report, signal) => {
    const path = url("api/analysis", { ...game, rules, ...options });
    const response = await whenFree(() => request(path, { signal, headers: EVENTS }), signal);
    for await (const { event, data } of events(response)) {
      const body = JSON.parse(data);
      if (event === "info") report(body);
      if (event === "best") return body;
      if (event === "error") throw new ApiError(500, String(body.error), null, body.code);
    }
    throw new ApiError(0, "The search ended without a move.");
  },
};

/**
 * Sends a request, and repeats it while the server is busy.
 * @param {() => Promise<Response>} send
 * @param {AbortSignal} signal
 */
async function whenFree(send, signal) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "busy") throw error;
      await delay(1000 * (error.retryAfter ?? 1), signal);
    }
  }
}

/**
 * Returns the events of a response as they arrive.
 * @param {Response} response
 * @returns {AsyncGenerator<{event: string, data: string}>}
 */
export async function* events(response) {
  if (!response.body) return;
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** A parser of server-sent events. */
export class EventParser {
  constructor() {
    this.rest = "";
    this.event = "";
    /** @type {string[]} */
    this.data = [];
  }

  /**
   * Adds text and returns the events that it completes.
   * @param {string} text
   */
  push(text) {
    // A line break at the end may be the first half of one.
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  /**
   * @param {string} line
   * @returns {{event: string, data: string}[]}
   */
  line(line) {
    if (line === "") {
      const found = this.data.length > 0 ? [{ event: this.event || "message", data: this.data.join("\n") }] : [];
      [this.event, this.data] = ["", []];
      return found;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? ["", "", ""];
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    return [];
  }
}

/**
 * Waits.
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function delay(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new DOMException("ended", "AbortError"));
    if (signal.aborted) return ended();
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => [clearTimeout(timer), ended()], { once: true });
  });
}
