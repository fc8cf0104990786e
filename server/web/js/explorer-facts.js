/** Facts about states from the files of tables, as the server would give them. */

import { afterMove } from "./cells.js";
import { choose, parseArmy } from "./notation.js";
import { TableReader } from "./reader.js";
import { TableFault } from "./shards.js";

/**
 * @typedef {import("./cells.js").ArmyMove} ArmyMove
 * @typedef {import("./shards.js").Description} Description
 * @typedef {import("./shards.js").ReadFile} ReadFile
 * @typedef {import("./types.js").Distance} Distance
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").StateFacts} StateFacts
 */

/** @implements {StateFacts} */
export class TableFacts {
  /**
   * @param {Description[]} tables
   * @param {ReadFile} read
   */
  constructor(tables, read) {
    this.tables = tables;
    this.read = read;
    /** @type {Map<string, TableReader>} */
    this.readers = new Map();
    /** The ranks of random states at each distance. @type {Map<string, Promise<number[][]>>} */
    this.samples = new Map();
  }

  /**
   * @param {string} name
   * @param {Side} player
   */
  table(name, player) {
    const table = this.tables.find((other) => other.name === name);
    if (!table) throw new TableFault(`This page has no table ${name}.`);
    const reader = this.readers.get(name) ?? new TableReader(table, this.read);
    this.readers.set(name, reader);
    return new Army(reader, player);
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {Side} player
   * @param {AbortSignal} [signal]
   */
  async state(name, text, player, signal) {
    const view = this.table(name, player);
    const state = await view.state(view.parse(text));
    signal?.throwIfAborted();
    return state;
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {Side} player
   * @param {AbortSignal} [signal]
   */
  async line(name, text, player, signal) {
    const view = this.table(name, player);
    const line = await view.line(view.parse(text));
    signal?.throwIfAborted();
    return line;
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {Side} player
   * @param {string} piece
   * @param {AbortSignal} [signal]
   */
  async heat(name, text, player, piece, signal) {
    const view = this.table(name, player);
    const cells = await view.heat(view.parse(text), view.numberOf(piece));
    signal?.throwIfAborted();
    return cells;
  }

  /**
   * @param {string} name
   * @param {number} distance
   * @param {Side} player
   * @param {number} [seed]
   */
  async random(name, distance, player, seed = 0) {
    const view = this.table(name, player);
    const samples = this.samples.get(name) ?? this.readSamples(name);
    this.samples.set(name, samples);
    samples.catch(() => this.samples.delete(name));
    const ranks = (await samples)[distance] ?? [];
    if (ranks.length === 0) throw new Error(`the table has no state at distance ${distance}`);
    return { state: view.sample(ranks[seed % ranks.length], seed), player, distance };
  }

  /** @param {string} name */
  async readSamples(name) {
    const { folder } = this.tables.find((table) => table.name === name) ?? { folder: "" };
    return JSON.parse(new TextDecoder().decode(await this.read(`${folder}/samples.json`)));
  }
}

/** A table as one player sees it. */
class Army {
  /**
   * @param {TableReader} reader
   * @param {Side} player
   */
  constructor(reader, player) {
    this.reader = reader;
    this.cells = reader.cells;
    this.player = player;
    /** The names of the cells in goal order. */
    this.names = player === "o" ? this.cells.names : [...this.cells.names].reverse();
    this.turned = player === "x";
  }

  /** @param {string} name */
  numberOf(name) {
    return this.names.indexOf(name);
  }

  /** @param {string} text */
  parse(text) {
    const cells = parseArmy(text, this.reader.table.side).map((name) => this.numberOf(name));
    return cells.sort((a, b) => a - b);
  }

  /**
   * Returns names of cells in board order.
   * @param {number[]} army
   */
  text(army) {
    const names = army.map((cell) => this.names[cell]);
    return (this.turned ? names.reverse() : names).join(",");
  }

  /**
   * @param {number | null} distance
   * @returns {Distance}
   */
  distance(distance) {
    const { exact_to: exactTo } = this.reader.table;
    return { distance, exact: distance === null ? null : exactTo === null || distance <= exactTo };
  }

  /**
   * Returns a move with its path.
   * @param {number[]} army
   * @param {ArmyMove} move
   */
  move(army, move) {
    const path = this.cells.path(army, move, this.turned).map((cell) => this.names[cell]);
    return { move: `${path[0]}-${path[path.length - 1]}`, path };
  }

  /**
   * @param {number[]} army
   * @returns {Promise<State>}
   */
  async state(army) {
    const { reader } = this;
    const before = await reader.distance(army);
    const moves = this.cells.moves(army);
    const distances = await Promise.all(moves.map((move) => reader.distanceAfter(afterMove(army, move), before)));
    const rows = moves.map((move, place) => ({
      ...this.move(army, move),
      ...this.distance(distances[place]),
      change: difference(distances[place], before),
    }));
    return {
      state: this.text(army),
      player: this.player,
      rank: this.rank(army),
      ...this.distance(before),
      category: this.category(before),
      moves: rows.sort((a, b) => (a.distance ?? Infinity) - (b.distance ?? Infinity)),
    };
  }

  /**
   * Returns the rank as a number if that is exact.
   * @param {number[]} army
   */
  rank(army) {
    const rank = army.reduce((sum, cell, place) => sum + choose(cell, place + 1), 0n);
    return rank <= Number.MAX_SAFE_INTEGER ? Number(rank) : rank;
  }

  /**
   * @param {number | null} distance
   * @returns {State["category"]}
   */
  category(distance) {
    if (distance === null) return "outside";
    return distance === 0 ? "goal" : this.distance(distance).exact ? "exact" : "bound";
  }

  /** @param {number[]} army */
  async line(army) {
    const distance = await this.reader.distance(army);
    if (distance === null) throw new Error("the table does not cover this state");
    const { exact } = this.distance(distance);
    const line = [];
    const start = this.text(army);
    for (let left = distance; left > 0; left--) {
      const move = await this.reader.step(army, left);
      const row = this.move(army, move);
      army = afterMove(army, move);
      line.push({ ...row, state: this.text(army), distance: left - 1 });
    }
    return { state: start, player: this.player, distance, exact: exact === true, line };
  }

  /**
   * Returns the distances for each cell that a piece could stand on. With `mod3`, the distance of the state before a step
   * of the piece saves a descent to the goal.
   * @param {number[]} army
   * @param {number} piece
   */
  async heat(army, piece) {
    const others = army.filter((cell) => cell !== piece);
    const at = (/** @type {number} */ cell) => [...others, cell].sort((a, b) => a - b);
    /** @type {Map<number, Promise<number | null>>} */
    const found = new Map();
    const { reader } = this;
    const look = (/** @type {number} */ cell, /** @type {Promise<number | null>} */ before) => {
      const after = async () => reader.distanceAfter(at(cell), await before);
      found.set(cell, reader.storesResidues ? after() : reader.distance(at(cell)));
    };
    const free = [...this.names.keys()].filter((cell) => !others.includes(cell));
    for (const start of [piece, ...free]) {
      if (found.has(start)) continue;
      look(start, Promise.resolve(null));
      // A map visits the cells that are added to it meanwhile.
      for (const [cell, distance] of found)
        for (const { over } of this.cells.jumps[cell])
          if (over >= 0 && !others.includes(over) && !found.has(over)) look(over, distance);
    }
    const order = this.turned ? free.reverse() : free;
    return Promise.all(
      order.map(async (cell) => ({ cell: this.names[cell], ...this.distance((await found.get(cell)) ?? null) })),
    );
  }

  /**
   * Returns the state with a rank, or its mirror image.
   * @param {number} rank
   * @param {number} seed
   */
  sample(rank, seed) {
    const { ranks, mirror, table } = this.reader;
    const army = ranks.unrank(rank, table.pieces);
    return this.text(mirror && (seed >> 16) & 1 ? mirror.image(army) : army);
  }
}

/**
 * @param {number | null} after
 * @param {number | null} before
 */
function difference(after, before) {
  return after === null || before === null ? null : after - before;
}
