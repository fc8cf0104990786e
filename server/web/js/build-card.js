/** The offer to build a table, with the progress of the build. */

import { api } from "./api.js";
import { button, h, notify, refill } from "./dom.js";
import { bytesText, duration, shortCount } from "./text.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./types.js").Build} Build
 * @typedef {import("./types.js").Offer} Offer
 */

/** The time between two looks at a build, in milliseconds. */
const PERIOD = 500;
/** The time until a failed offer is asked for again, in milliseconds. */
const RETRY = 10_000;

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
    /** The proposed tables by board, null until the server answers. @type {Map<string, Offer | null>} */
    this.offers = new Map();
  }

  /**
   * Returns the table that the server proposes for a board, or null until the server answers.
   * @param {number} side
   * @param {number} pieces
   * @returns {Offer | null}
   */
  offer(side, pieces) {
    const board = `${side}-${pieces}`;
    const known = this.offers.get(board);
    if (known !== undefined) return known;
    this.offers.set(board, null);
    api.offer(side, pieces).then(
      (offer) => {
        this.offers.set(board, offer);
        this.app.update();
      },
      (error) => {
        this.app.fail(error);
        setTimeout(() => {
          this.offers.delete(board);
          this.app.update();
        }, RETRY);
      },
    );
    return null;
  }

  /** Asks for all builds, and asks again while one runs. */
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
 * @param {{tables: import("./types.js").TableInfo[], builds: Builds | null}} app
 * @param {number} size
 * @param {number} pieces
 */
export function showOffer(element, { tables, builds }, size, pieces) {
  const known = tables.some((table) => table.side === size && table.pieces === pieces);
  const running = builds !== null && builds.running().length > 0;
  element.hidden = !builds || (known && !running);
  if (element.hidden || !builds) return;
  if (running) return showRunning(element, builds);
  const offer = builds.offer(size, pieces);
  const part = offer ? partOf(offer) : undefined;
  refill(element, [size, pieces, offer], () => [
    h("h3", {}, "No table of distances yet"),
    h("p", {}, "You can play at once. Players then estimate the way to the goal."),
    h(
      "p",
      {},
      part
        ? `With this part of a table they know it once their pieces are within the ${part} cells nearest the goal, and play better there.`
        : "With a table they know it and play better, and every move shows its distance.",
    ),
    button(part ? `Build a part: ${part} cells` : "Build the table", () => builds.start(size, pieces, part), {
      primary: true,
      disabled: !offer,
      "data-action": "build",
    }),
    h("p.note", {}, offer ? `${costText(offer)}. The game goes on while the table is built.` : "…"),
  ]);
}

/**
 * Returns the cells of a proposed part, or undefined for a whole table.
 * @param {Offer} offer
 */
export function partOf({ within, states, whole_states }) {
  return states < whole_states ? within : undefined;
}

/**
 * Returns the time and the size of a proposed table.
 * @param {Offer} offer
 */
export function costText({ states, bytes, seconds }) {
  const time = seconds === null ? "" : `about ${duration(seconds)}, `;
  return `${shortCount(states)} states: ${time}${bytesText(bytes)} on the disk`;
}
