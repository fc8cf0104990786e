/** A running search: repeated with growing limits, so that the first lines appear at once. */

import { api, delay, isAbort } from "./api.js";
import { valueHeight } from "./text.js";

/**
 * @typedef {import("./types.js").Info} Info
 * @typedef {import("./tree.js").Node} Node
 *
 * @typedef {object} LiveOptions
 * @property {string} player
 * @property {number} lines
 * @property {number} nodes the limit of the last round
 * @property {import("./types.js").RuleSet} [rules]
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
    /** The node of the lines. @type {Node | null} */
    this.node = null;
    this.error = "";
    this.running = false;
    /** @type {AbortController | null} */
    this.abort = null;
    this.key = "";
  }

  /**
   * Searches a node of a game. A search of the same node with the same options continues.
   * @param {Node} node
   * @param {LiveOptions} options
   */
  start(node, options) {
    const key = JSON.stringify(options);
    if (this.node === node && key === this.key) return;
    this.stop();
    this.key = key;
    if (this.node !== node) this.lines = [];
    this.node = node;
    this.error = "";
    this.running = true;
    const abort = new AbortController();
    this.abort = abort;
    this.rounds(node, options, abort.signal)
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
   * @param {Node} node
   * @param {LiveOptions} options
   * @param {AbortSignal} signal
   */
  async rounds(node, { nodes, ...options }, signal) {
    // Fast steps through a game start no searches.
    await delay(120, signal);
    for (let limit = Math.min(FIRST, nodes); ; limit = Math.min(limit * GROWTH, nodes)) {
      await this.round(node, { ...options, nodes: limit }, signal);
      if (limit >= nodes) return;
    }
  }

  /**
   * @param {Node} node
   * @param {LiveOptions} options
   * @param {AbortSignal} signal
   */
  async round(node, options, signal) {
    let reports = 0;
    const report = (/** @type {Info} */ info) => {
      if (signal.aborted) return;
      reports++;
      this.report(info);
    };
    const best = await api.analyse(node.game(), options, report, signal);
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
