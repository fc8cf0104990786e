/**
 * A reader of distance tables for pages without a server. It follows `docs/reference/table-format.md`.
 *
 * An army is the list of its cells as numbers in goal order: cell 0 is the tip of the goal. Lists are in ascending order.
 * The data of a table is in files, the *shards*. A shard of the encodings `byte` and `mod3` has a fixed number of bytes
 * of the data. A shard of `ans` has a fixed number of blocks, after their lengths.
 *
 * Ranks and indices are floating-point numbers: a table with more than 2^53 states is refused, so that all are exact.
 */

import { Cells, LIMIT, afterMove, ones, reversed } from "./cells.js";
import { Cache, TableFault, verified, viewOf, once } from "./shards.js";

/**
 * @typedef {import("./shards.js").Description} Description
 * @typedef {import("./shards.js").ReadFile} ReadFile
 *
 * @typedef {object} Stretch consecutive states
 * @property {number[]} first the first state
 * @property {number} states
 * @property {number} below the states differ in the pieces below this cell
 */

/** The bytes of the shards, and of the decoded blocks, that are kept. */
const CACHE_BYTES = 16 * 2 ** 20;
/** A distance that is not known, which is above all distances. */
const UNKNOWN = 255;
/** The contexts of a model of the encoding `ans`. */
const CONTEXTS = 26 * 216 + 1;
const SLOTS = 4096;
/** A second lowest piece that no board has. */
const NO_SECOND = LIMIT - 2;

/** The numbers of sets of cells, as exact numbers up to 2^53. */
class Ranks {
  /** @param {number} pieces */
  constructor(pieces) {
    /** `choose[k][n]` is the number of sets of `k` among `n`. */
    this.choose = Array.from({ length: pieces + 2 }, () => new Float64Array(LIMIT + 1));
    this.choose[0].fill(1);
    for (let k = 1; k < this.choose.length; k++)
      for (let n = 1; n <= LIMIT; n++) this.choose[k][n] = this.choose[k][n - 1] + this.choose[k - 1][n - 1];
  }

  /** @param {number[]} army */
  rank(army) {
    return army.reduce((sum, cell, place) => sum + this.choose[place + 1][cell], 0);
  }

  /**
   * Returns the set of cells with a rank.
   * @param {number} rank
   * @param {number} pieces
   */
  unrank(rank, pieces) {
    const army = [];
    let cell = LIMIT;
    for (let left = pieces; left > 0; left--) {
      while (this.choose[left][cell] > rank) cell--;
      rank -= this.choose[left][cell];
      army.push(cell);
    }
    return army.reverse();
  }
}

/** The reduced ranks of the states of a mirrored table. */
class Mirror {
  /**
   * @param {Cells} cells
   * @param {Ranks} ranks
   * @param {number} pieces
   * @param {number} within
   */
  constructor(cells, ranks, pieces, within) {
    this.cells = cells;
    this.ranks = ranks;
    this.pieces = pieces;
    this.rows = cells.rows.filter(({ first }) => first < within);
    /**
     * For each row and number of pieces up to it: `before[pattern]` is the number of canonical states with a smaller
     * pattern in the row, and the last entry is the number of all.
     * @type {Float64Array[][]}
     */
    this.before = [];
    for (const row of this.rows) this.before.push(this.count(row));
  }

  /** @param {{first: number, size: number}} row the row after the last one that is counted */
  count(row) {
    const below = this.before[this.before.length - 1];
    return Array.from({ length: this.pieces + 1 }, (_, pieces) => {
      const before = new Float64Array(2 ** row.size + 1);
      for (let pattern = 0; pattern < 2 ** row.size; pattern++) {
        const [left, image] = [pieces - ones(pattern), reversed(pattern, row.size)];
        let states = 0;
        if (left >= 0 && pattern < image) states = this.ranks.choose[left][row.first];
        if (left >= 0 && pattern === image) states = below ? below[left][below[left].length - 1] : Number(left === 0);
        before[pattern + 1] = before[pattern] + states;
      }
      return before;
    });
  }

  /** @param {number[]} army */
  image(army) {
    const cells = army.map((cell) => {
      const { first, size } = this.rows[this.cells.row[cell]];
      return 2 * first + size - 1 - cell;
    });
    return cells.sort((a, b) => a - b);
  }

  /**
   * Returns the state of a mirrored pair with the smaller rank.
   * @param {number[]} army
   */
  canonical(army) {
    const image = this.image(army);
    for (let place = army.length - 1; place >= 0; place--)
      if (image[place] !== army[place]) return image[place] < army[place] ? image : army;
    return army;
  }

  /**
   * Returns the number of canonical states with a smaller rank.
   * @param {number[]} army
   */
  statesBelow(army) {
    let [states, left] = [0, army.length];
    while (left > 0) {
      const number = this.cells.row[army[left - 1]];
      const { first, size } = this.rows[number];
      const pieces = left;
      let pattern = 0;
      while (left > 0 && army[left - 1] >= first) pattern |= 1 << (army[--left] - first);
      states += this.before[number][pieces][pattern];
      const image = reversed(pattern, size);
      if (pattern !== image) return pattern < image ? states + this.ranks.rank(army.slice(0, left)) : states;
    }
    return states;
  }

  /** Returns the number of canonical states. */
  states() {
    const before = this.before[this.before.length - 1][this.pieces];
    return before[before.length - 1];
  }

  /**
   * Returns the part of a stretch from a reduced rank on.
   * @param {number} rest the reduced rank
   * @returns {Stretch}
   */
  stretch(rest) {
    /** @type {number[]} */
    let upper = [];
    let pieces = this.pieces;
    for (let number = this.rows.length - 1; number >= 0; number--) {
      const { first, size } = this.rows[number];
      const before = this.before[number][pieces];
      // The last pattern with this count has states; the ones before it have none.
      let [low, high] = [0, 2 ** size];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (before[middle] <= rest) low = middle;
        else high = middle;
      }
      rest -= before[low];
      for (let bit = size - 1; bit >= 0; bit--) if (low & (1 << bit)) upper = [first + bit, ...upper];
      pieces -= ones(low);
      if (low !== reversed(low, size)) {
        const lower = this.ranks.unrank(rest, pieces);
        return { first: [...lower, ...upper], states: this.ranks.choose[pieces][first] - rest, below: first };
      }
    }
    return { first: upper, states: 1, below: 0 };
  }
}

/** A table whose data is in shards. */
export class TableReader {
  /**
   * @param {Description} table
   * @param {ReadFile} read
   * @throws {TableFault} if the table is not of a kind that this reader knows
   */
  constructor(table, read) {
    const { side, pieces, within, encoding } = table;
    const known = ["byte", "mod3", "ans"].includes(encoding) && side >= 3 && side <= 11 && pieces >= 1 && pieces <= 15;
    if (!known || !(within >= pieces && within <= side * side))
      throw new TableFault(
        `The table ${table.name} is not supported: ${side} × ${side} cells, ${pieces} pieces, encoding ${encoding}.`,
      );
    this.table = table;
    this.cells = new Cells(side);
    this.ranks = new Ranks(pieces);
    if (this.ranks.choose[pieces][within] > Number.MAX_SAFE_INTEGER)
      throw new TableFault(`The table ${table.name} is not supported: it has more than 2^53 states.`);
    this.mirror = table.mirrored ? new Mirror(this.cells, this.ranks, pieces, within) : null;
    /** Whether the table has the distances modulo 3. */
    this.storesResidues = encoding === "mod3";
    this.perByte = this.storesResidues ? 4 : 1;
    this.partitions = this.layout();
    this.read = read;
    this.shards = new Cache(CACHE_BYTES);
    this.blocks = new Cache(CACHE_BYTES);
    this.models = once(() => readModels(this.read));
  }

  /** Returns the first index, byte and block of each partition, and the index after its last one. */
  layout() {
    const { pieces, within, block_states: blockStates } = this.table;
    const partitions = [];
    let [first, byte, block] = [0, 0, 0];
    for (let back = pieces - 1; back < within; back++) {
      const next = Array.from({ length: pieces }, (_, place) => (place < pieces - 1 ? place : back + 1));
      const reduced = (/** @type {Mirror} */ mirror) =>
        back + 1 < within ? mirror.statesBelow(next) : mirror.states();
      const end = this.mirror ? reduced(this.mirror) : this.ranks.rank(next);
      partitions.push({ first, byte, block, end });
      byte += Math.ceil((end - first) / this.perByte);
      block += Math.ceil((end - first) / (blockStates ?? 1));
      first = end;
    }
    return partitions;
  }

  /**
   * Returns the stored value of a state: its distance, or with `mod3` its distance modulo 3; null if the table does not
   * cover the state.
   * @param {number[]} army
   * @returns {Promise<number | null>}
   */
  async value(army) {
    const { pieces, within, encoding, per_shard: perShard, max_distance: most } = this.table;
    if (army[pieces - 1] >= within) return null;
    const stored = this.mirror ? this.mirror.canonical(army) : army;
    const index = this.mirror ? this.mirror.statesBelow(stored) : this.ranks.rank(stored);
    const partition = this.partitions[stored[pieces - 1] - pieces + 1];
    const state = index - partition.first;
    let value;
    if (encoding === "ans") {
      const blockStates = this.table.block_states ?? 1;
      const block = Math.floor(state / blockStates);
      const first = partition.first + block * blockStates;
      const states = Math.min(blockStates, partition.end - first);
      value = (await this.block(partition.block + block, first, states))[state % blockStates];
    } else {
      const byte = partition.byte + Math.floor(state / this.perByte);
      value = (await this.shard(Math.floor(byte / perShard)))[byte % perShard];
      if (this.storesResidues) value = (value >> (2 * (state % 4))) & 3;
    }
    if (value === undefined || value > (this.storesResidues ? 2 : most)) throw this.fault();
    return value;
  }

  /**
   * Returns the distance of a state to the goal, or null if the table does not cover the state.
   * @param {number[]} army
   * @returns {Promise<number | null>}
   */
  async distance(army) {
    const value = await this.value(army);
    return value === null || !this.storesResidues ? value : this.descend(army, value);
  }

  /**
   * Returns the distance of a state that is one move away from a state at a distance.
   * @param {number[]} army
   * @param {number | null} before
   */
  async distanceAfter(army, before) {
    if (before === null || !this.storesResidues) return this.distance(army);
    const value = await this.value(army);
    return value === null ? null : before + [0, 1, -1][(value + 3 - (before % 3)) % 3];
  }

  /**
   * Counts the moves to the goal, each to a state whose distance modulo 3 is one less.
   * @param {number[]} army
   * @param {number} value
   */
  async descend(army, value) {
    let steps = 0;
    for (; army.some((cell, place) => cell !== place); steps++) {
      if (steps === this.table.max_distance) throw this.fault();
      value = (value + 2) % 3;
      army = afterMove(army, await this.moveTo(army, value));
    }
    if (value !== 0) throw this.fault();
    return steps;
  }

  /**
   * Returns a move to a state at a distance that is one less.
   * @param {number[]} army
   * @param {number} distance
   */
  step(army, distance) {
    return this.moveTo(army, this.storesResidues ? (distance + 2) % 3 : distance - 1);
  }

  /**
   * Returns a move to a state with a value. The moves that gain the most rows are looked up first.
   * @param {number[]} army
   * @param {number} value
   */
  async moveTo(army, value) {
    const { row } = this.cells;
    const moves = this.cells.moves(army).sort((a, b) => row[a.to] - row[a.from] - (row[b.to] - row[b.from]));
    const batch = 4;
    for (let first = 0; first < moves.length; first += batch) {
      const tried = moves.slice(first, first + batch);
      const values = await Promise.all(tried.map((move) => this.value(afterMove(army, move))));
      const found = values.indexOf(value);
      if (found >= 0) return tried[found];
    }
    throw this.fault();
  }

  fault() {
    return new TableFault(`The table ${this.table.name} is damaged: its distances contradict each other.`);
  }

  /** @param {number} number */
  shard(number) {
    const path = `${this.table.folder}/${number}.bin`;
    return this.shards.get(number, async () => verified(path, await this.read(path)));
  }

  /**
   * Returns the distances of the states of a block.
   * @param {number} number
   * @param {number} first the index of its first state
   * @param {number} states
   */
  block(number, first, states) {
    return this.blocks.get(number, async () => {
      const { per_shard: perShard } = this.table;
      const [models, shard] = await Promise.all([this.models(), this.shard(Math.floor(number / perShard))]);
      const place = number % perShard;
      const length = (/** @type {number} */ at) => viewOf(shard).getUint32(4 + 4 * at, true);
      let start = 4 + 4 * viewOf(shard).getUint32(0, true);
      for (let at = 0; at < place; at++) start += length(at);
      return this.decode(models, shard.subarray(start, start + length(place)), first, states);
    });
  }

  /**
   * @param {Model[]} models
   * @param {Uint8Array} bytes
   * @param {number} first
   * @param {number} states
   */
  decode(models, bytes, first, states) {
    const model = models[bytes[0]];
    if (!model || bytes.length < 9) throw this.fault();
    const decoder = new Decoder(model, bytes);
    const walk = new Walk(this.cells, this.ranks, decoder, states);
    for (let done = 0; done < states;) {
      const stretch = this.mirror?.stretch(first + done) ?? {
        first: this.ranks.unrank(first + done, this.table.pieces),
        states: states - done,
        below: this.table.within,
      };
      const visited = Math.min(stretch.states, states - done);
      walk.visit(stretch, visited);
      done += visited;
    }
    if (!decoder.isFinished()) throw this.fault();
    return walk.distances.slice(LIMIT, LIMIT + states);
  }
}

/** @param {ReadFile} read */
async function readModels(read) {
  const bytes = verified("models.bin", await read("models.bin"));
  const view = viewOf(bytes);
  const words = Uint16Array.from({ length: bytes.length / 2 }, (_, place) => view.getUint16(2 * place, true));
  return Array.from({ length: words.length / (3 * CONTEXTS) }, (_, number) => {
    const first = number * 3 * CONTEXTS;
    return new Model(words.subarray(first, first + 3 * CONTEXTS));
  });
}

/** The slots of the symbols in each context. */
class Model {
  /** @param {Uint16Array} lengths those of the symbols 0, 1 and 2 in each context */
  constructor(lengths) {
    /** The ends of the ranges of a context, in their order, and their symbols. */
    this.ends = new Uint16Array(4 * CONTEXTS);
    this.symbols = new Uint8Array(4 * CONTEXTS);
    for (let context = 0; context < CONTEXTS; context++) {
      const own = [...lengths.subarray(3 * context, 3 * context + 3)];
      const all = [...own, SLOTS - own[0] - own[1] - own[2]];
      const order = [0, 1, 2, 3].sort((a, b) => all[b] - all[a]);
      let end = 0;
      order.forEach((symbol, place) => {
        this.ends[4 * context + place] = end += all[symbol];
        this.symbols[4 * context + place] = symbol;
      });
    }
  }
}

/** A decoder of the symbols of a block. Its state of 64 bits is in two halves. */
class Decoder {
  /**
   * @param {Model} model
   * @param {Uint8Array} bytes
   */
  constructor(model, bytes) {
    this.model = model;
    this.view = viewOf(bytes);
    this.low = this.view.getUint32(1, true);
    this.high = this.view.getUint32(5, true);
    this.place = 9;
  }

  /**
   * Removes the symbol with a range of slots.
   * @param {number} start
   * @param {number} length
   */
  advance(start, length) {
    const quotientLow = (((this.high & 0xfff) << 20) | (this.low >>> 12)) >>> 0;
    const low = length * quotientLow + (this.low & 0xfff) - start;
    this.high = length * (this.high >>> 12) + Math.floor(low / 2 ** 32);
    this.low = low >>> 0;
    if (this.high === 0 && this.low < 2 ** 31) {
      this.high = this.low;
      // A word that is missing is noticed at the end.
      this.low = this.place + 4 <= this.view.byteLength ? this.view.getUint32(this.place, true) : 0;
      this.place += 4;
    }
  }

  /**
   * Returns the next distance.
   * @param {number} context
   * @param {number} base
   */
  next(context, base) {
    const { ends, symbols } = this.model;
    const slot = this.low & 0xfff;
    let place = 4 * context;
    let start = 0;
    while (slot >= ends[place]) start = ends[place++];
    this.advance(start, ends[place] - start);
    if (symbols[place] < 3) return base + symbols[place] - 1;
    const distance = (this.low & 0xfff) >> 4;
    this.advance(16 * distance, 16);
    return distance;
  }

  isFinished() {
    return this.high === 0 && this.low === 2 ** 31 && this.place === this.view.byteLength;
  }
}

/** A walk through the states of a block, which computes their contexts. */
class Walk {
  /**
   * @param {Cells} cells
   * @param {Ranks} ranks
   * @param {Decoder} decoder
   * @param {number} states
   */
  constructor(cells, ranks, decoder, states) {
    this.lower = cells.lower;
    this.choose = ranks.choose;
    this.decoder = decoder;
    /** The distances of the block, after unknown ones. */
    this.distances = new Uint8Array(LIMIT + states).fill(UNKNOWN);
    this.at = LIMIT;
    /** The distances of the states with the same pieces except the two lowest, by these two cells in either order. */
    this.pairs = new Uint8Array(LIMIT * LIMIT).fill(UNKNOWN);
    /** The distances of the states that differ in the lowest piece. */
    this.run = new Uint8Array(LIMIT).fill(UNKNOWN);
    /** The places of the lower neighbours with a piece above the two lowest moved, less the lowest cell. */
    this.places = new Int32Array(3 * 15);
  }

  /**
   * Visits the first states of a stretch.
   * @param {Stretch} stretch
   * @param {number} states
   */
  visit({ first, below }, states) {
    const end = this.at + states;
    // The pieces that differ between the states, followed by the cell after the last of their cells.
    const cells = first.filter((cell) => cell < below);
    const pieces = cells.length;
    cells.push(below);
    let lowest = cells[0];
    if (pieces < 2) return this.visitRun(NO_SECOND, lowest, pieces === 0 ? lowest + 1 : below, end, []);
    if (lowest !== 0 || cells[1] !== 1) this.pairs.fill(UNKNOWN);
    for (;;) {
      const upper = this.upperNeighbours(cells, pieces);
      for (let second = cells[1]; second < cells[2]; second++) {
        this.visitRun(second, lowest, second, end, upper);
        lowest = 0;
        if (this.at === end) return;
      }
      let piece = 2;
      for (; piece + 1 < pieces && cells[piece] + 1 === cells[piece + 1]; piece++) cells[piece] = piece;
      cells[piece]++;
      cells[1] = 1;
    }
  }

  /**
   * Returns the lower neighbours with a piece above the two lowest moved: the new cell, and the difference of the ranks,
   * which is valid if the new cell is above the second lowest piece.
   * @param {number[]} cells
   * @param {number} pieces
   */
  upperNeighbours(cells, pieces) {
    const found = [];
    for (let piece = 2; piece < pieces; piece++) {
      for (let slot = 0; slot < 3; slot++) {
        const to = this.lower[3 * cells[piece] + slot];
        if (to === LIMIT - 1 || cells.slice(2, piece).includes(to)) continue;
        let difference = this.choose[piece + 1][cells[piece]];
        let place = piece;
        for (; place > 2 && cells[place - 1] > to; place--)
          difference += this.choose[place][cells[place - 1]] - this.choose[place + 1][cells[place - 1]];
        found.push({ to, difference: difference - this.choose[place + 1][to] });
      }
    }
    return found;
  }

  /**
   * Visits the states with the lowest piece from one cell up to another.
   * @param {number} second the second lowest piece
   * @param {number} lowest
   * @param {number} limit
   * @param {number} end the place after the last state
   * @param {{to: number, difference: number}[]} upper
   */
  visitRun(second, lowest, limit, end, upper) {
    const { lower, distances, pairs, run, places, decoder } = this;
    if (lowest > 0) run.fill(UNKNOWN);
    // The place of the state with the lowest piece on cell 0, which may be before the block.
    const start = this.at - lowest;
    let count = 0;
    for (const { to, difference } of upper)
      if (to > second && start >= difference) places[count++] = start - difference;
    const [beside, below, other] = [0, 1, 2].map((slot) => LIMIT * lower[3 * second + slot]);
    for (let cell = lowest; cell < limit && this.at < end; cell++) {
      let [least, most, known, sum] = [UNKNOWN, 0, 0, 0];
      for (let number = 0; number < count + 3; number++) {
        const distance =
          number < count
            ? distances[places[number] + cell]
            : pairs[(number === count ? beside : number === count + 1 ? below : other) + cell];
        if (distance === UNKNOWN) continue;
        if (distance < least) least = distance;
        if (distance > most) most = distance;
        known++;
        sum += distance;
      }
      const near = [run[lower[3 * cell]], run[lower[3 * cell + 1]], run[lower[3 * cell + 2]]];
      let base = known > 0 ? least : Math.min(near[0], near[1], near[2]);
      let context = CONTEXTS - 1;
      if (base === UNKNOWN) base = this.at > LIMIT ? distances[this.at - 1] : 0;
      else {
        context = contextClass(known, most - least, sum - known * least);
        for (const distance of near) context = 6 * context + digit(distance, base);
      }
      const distance = decoder.next(context, base);
      run[cell] = distance;
      pairs[LIMIT * second + cell] = pairs[LIMIT * cell + second] = distances[this.at++] = distance;
    }
  }
}

/**
 * Returns the class of the known lower neighbours with another piece moved than the lowest.
 * @param {number} known their number
 * @param {number} range the greatest distance minus the least
 * @param {number} above the number of neighbours that are 1 above the least, if the range is at most 1
 */
function contextClass(known, range, above) {
  if (known === 0) return 0;
  if (range > 1) return 1;
  return range === 0 ? 1 + Math.min(known, 8) : 9 + 4 * (Math.min(known - above, 4) - 1) + Math.min(above, 4);
}

/**
 * @param {number} distance
 * @param {number} base
 */
function digit(distance, base) {
  return distance === UNKNOWN ? 5 : Math.max(0, Math.min(4, distance - base + 2));
}
