/** The files of the data of a table: their checksums, and a cache of what they contain. */

/**
 * @typedef {object} Shards how the data of a table is divided
 * @property {string} folder the folder of the shards
 * @property {number} per_shard the bytes of data, or the blocks, per shard
 * @property {number | null} block_states the states per block of the encoding `ans`
 *
 * @typedef {import("./types.js").TableInfo & Shards} Description a table, as `explorer.json` describes it
 *
 * @typedef {(path: string) => Promise<Uint8Array>} ReadFile returns the bytes of a file of the folder
 */

/** A fault of the files of a table. */
export class TableFault extends Error {}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

/**
 * Returns the content of a file after its first four bytes, which are the CRC-32 of its path and its content.
 * @param {string} path
 * @param {Uint8Array} bytes
 */
export function verified(path, bytes) {
  let crc = -1;
  const content = bytes.subarray(4);
  for (const part of [new TextEncoder().encode(path), content])
    for (const byte of part) crc = (crc >>> 8) ^ CRC[(crc ^ byte) & 255];
  if (bytes.length < 4 || viewOf(bytes).getUint32(0, true) !== ~crc >>> 0)
    throw new TableFault(`The file ${path} is damaged: it does not match its checksum. Load the page again.`);
  return content;
}

/** @param {Uint8Array} bytes */
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A cache of arrays that are made once. The arrays that were used last are kept. */
export class Cache {
  /** @param {number} most the most bytes of all arrays */
  constructor(most) {
    this.most = most;
    this.bytes = 0;
    /** The arrays, and their bytes once they are made. @type {Map<number, {made: Promise<Uint8Array>, bytes: number}>} */
    this.entries = new Map();
  }

  /**
   * @param {number} key
   * @param {() => Promise<Uint8Array>} make
   */
  get(key, make) {
    const found = this.entries.get(key);
    const entry = found ?? { made: make(), bytes: 0 };
    this.entries.delete(key);
    this.entries.set(key, entry);
    if (!found)
      entry.made.then(
        (array) => this.keep(entry, array),
        () => this.entries.delete(key),
      );
    return entry.made;
  }

  /**
   * @param {{bytes: number}} made
   * @param {Uint8Array} array
   */
  keep(made, array) {
    made.bytes = array.length;
    this.bytes += array.length;
    for (const [key, { bytes }] of this.entries) {
      if (this.bytes <= this.most) return;
      if (bytes === 0) continue;
      this.entries.delete(key);
      this.bytes -= bytes;
    }
  }
}

/**
 * Returns a function that loads a value once. A fault is not kept.
 * @template T
 * @param {() => Promise<T>} load
 * @returns {() => Promise<T>}
 */
export function once(load) {
  /** @type {Promise<T> | null} */
  let value = null;
  return () =>
    (value ??= load().catch((error) => {
      value = null;
      throw error;
    }));
}
