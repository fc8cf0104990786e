/** A running search: repeated with growing limits, so that the first lines appear at once. */

import { api, delay, isAbort } from "./api.js";
import { valueHeight } from "./text.js";

/**
 * @typedef {import("./types.js").Info} Info
 *
 * @typedef {object} LiveOptions
 * @property {string} player
 * @property {number} lines
 * @property {number} nodes the limit of the last round
 * @property {import("./types.js").Rules} [rules]
 */

/** The node expansions of the first round, and the factor between rounds. */
const FIRST = 2000;
const GROWTH = 8;

export class LiveSearch {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {Info[]} */
    this.lines = [];
    this.position = "";
    this.error = "";
    this.running = false;
    /** @type {AbortController | null} */
    this.abort = null;
    this.key = "";
  }

  /**
   * Searches a position. A search of the same position with the same options continues.
   * @param {string} position
   * @param {LiveOptions} options
   */
  start(position, options) {
    const key = JSON.stringify([position, options]);
    if (key === this.key) return;
    this.stop();
    this.key = key;
    if (this.position !== position) this.lines = [];
    this.position = position;
    this.error = "";
    this.running = true;
    const abort = new AbortController();
    this.abort = abort;
    this.rounds(position, options, abort.signal)
      .catch((error) => {
        if (!isAbort(error)) this.error = error.message;
      })
      .finally(() => {
        if (this.abort !== abort) return;
        this.running = false;
        this.changed();
      });
  }

  stop() {
    this.abort?.abort();
    this.abort = null;
    this.key = "";
    this.running = false;
  }

  /**
   * @param {string} position
   * @param {LiveOptions} options
   * @param {AbortSignal} signal
   */
  async rounds(position, { nodes, ...options }, signal) {
    // Fast steps through a game start no searches.
    await delay(120, signal);
    for (let limit = Math.min(FIRST, nodes); ; limit = Math.min(limit * GROWTH, nodes)) {
      await this.round(position, { ...options, nodes: limit }, signal);
      if (limit >= nodes) return;
    }
  }

  /**
   * @param {string} position
   * @param {LiveOptions} options
   * @param {AbortSignal} signal
   */
  async round(position, options, signal) {
    let reports = 0;
    const report = (/** @type {Info} */ info) => {
      if (signal.aborted) return;
      reports++;
      this.report(info);
    };
    const best = await api.analyse(position, options, report, signal);
    // Some players report nothing before their choice.
    if (options.lines === 1 || reports === 0) report(best);
  }

  /**
   * Takes over a line. Lines are ordered by value, because each has its own search.
   * @param {Info} info
   */
  report(info) {
    const kept = this.lines.filter(({ line, pv }) => line !== info.line && (line < info.line || pv[0] !== info.pv[0]));
    const height = (/** @type {Info} */ { value }) => (value ? valueHeight(value) : 0);
    this.lines = [...kept, info].sort((a, b) => height(b) - height(a) || a.line - b.line);
    this.changed();
  }
}
