/** The offer to build a table, with the progress of the build. */

import { api } from "./api.js";
import { choose } from "./notation.js";
import { button, h, notify, refill } from "./dom.js";
import { count, duration, shortCount } from "./text.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./types.js").Build} Build
 */

/** The time between two looks at a build, in milliseconds. */
const PERIOD = 500;

/** The builds of this page that run or have ended. */
export class Builds {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Build[]} */
    this.builds = [];
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    this.timer = 0;
  }

  /** Asks for all builds, and goes on asking while one runs. */
  async refresh() {
    clearTimeout(this.timer);
    const before = this.running();
    this.builds = await api.builds().catch(() => this.builds);
    for (const build of this.builds) {
      const ended = build.state !== "running" && before.some(({ id }) => id === build.id);
      if (ended) await this.ended(build);
    }
    for (const listener of [...this.listeners]) listener();
    if (this.running().length > 0) this.timer = window.setTimeout(() => this.refresh(), PERIOD);
  }

  running() {
    return this.builds.filter(({ state }) => state === "running");
  }

  /** @param {Build} build */
  async ended(build) {
    if (build.state === "done") {
      await this.app.refreshTables();
      this.app.session.forget();
      notify(`The table ${build.table} is ready.`);
    } else if (build.state === "failed") {
      notify(`The table ${build.table} was not built: ${build.error}`, "error");
    }
  }

  /**
   * Starts a build.
   * @param {number} side
   * @param {number} pieces
   * @param {number} [within]
   */
  async start(side, pieces, within) {
    try {
      const build = await api.startBuild(side, pieces, within);
      this.builds = [...this.builds.filter(({ id }) => id !== build.id), build];
      await this.refresh();
    } catch (error) {
      this.app.fail(error);
    }
  }

  /** @param {Build} build */
  async cancel(build) {
    await api.cancelBuild(build.id).catch((error) => this.app.fail(error));
    await this.refresh();
  }
}

/**
 * Shows the running builds.
 * @param {Element} element
 * @param {Builds} builds
 */
export function showRunning(element, builds) {
  const running = builds.running();
  refill(element, running, () => running.map((build) => progress(build, builds)));
}

/**
 * @param {Build} build
 * @param {Builds} builds
 */
function progress(build, builds) {
  // The phases before and after the layers have steps of their own.
  const searches = /^layer/.test(build.phase ?? "");
  const part = searches ? build.share : build.total > 0 ? build.done / build.total : 0;
  const left =
    searches && part > 0.01 && part < 1 && build.seconds > 2
      ? ` · about ${duration((build.seconds * (1 - part)) / part)} left`
      : "";
  const percent = Math.floor(100 * part);
  const bar = h("progress", { max: 100, "aria-label": `Building ${build.table}` });
  const known = !searches || build.states > 0;
  if (known) bar.value = percent;
  return h(
    "div.build",
    {},
    h("p", {}, h("strong", {}, `Building ${build.table}`), build.phase ? ` · ${build.phase}` : ""),
    bar,
    h(
      "div.build-foot",
      {},
      h(
        "span",
        {},
        `${known ? `${percent} %${searches ? " of the states" : ""} · ` : ""}${duration(build.seconds)}${left}`,
      ),
      button("Cancel", () => builds.cancel(build), { "data-key": `cancel-${build.id}` }),
    ),
  );
}

/**
 * Shows the offer to build the table of a board, or its progress. The element is hidden if the table exists.
 * @param {HTMLElement} element
 * @param {App} app
 * @param {number} size
 * @param {number} pieces
 */
export function showOffer(element, app, size, pieces) {
  const known = app.tables.some((table) => table.side === size && table.pieces === pieces);
  const running = app.builds.running().length > 0;
  element.hidden = known && !running;
  if (element.hidden) return;
  const within = sensiblePrefix(size, pieces);
  const states = Number(choose(within ?? size * size, pieces));
  if (running) return showRunning(element, app.builds);
  refill(element, [size, pieces], () => [
    h("h3", {}, "No table of distances yet"),
    h("p", {}, `Players estimate the way to the goal. With a table they know it, and every move shows its distance.`),
    button(within ? `Build a part: ${within} cells` : "Build the table", () => app.builds.start(size, pieces, within), {
      primary: true,
      "data-action": "build",
    }),
    h("p.note", {}, `${shortCount(states)} states, ${sizeText(states)} on the disk.`),
  ]);
}

/** The largest number of states of a table that the page offers. */
const OFFERED = 400e6;

/**
 * Returns the cells of the part that the page offers to build, or undefined for a whole table.
 * @param {number} size
 * @param {number} pieces
 */
export function sensiblePrefix(size, pieces) {
  const fits = (/** @type {number} */ cells) => Number(choose(cells, pieces)) <= OFFERED;
  if (fits(size * size)) return undefined;
  let cells = pieces;
  while (fits(cells + 1)) cells++;
  return cells;
}

/**
 * @param {number} states
 */
export function sizeText(states) {
  const mebibytes = states / 2 ** 20;
  return mebibytes < 1
    ? "less than 1 MiB"
    : mebibytes < 1024
      ? `about ${count(Math.round(mebibytes), "MiB", "MiB")}`
      : `about ${(mebibytes / 1024).toFixed(1)} GiB`;
}
