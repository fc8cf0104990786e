/** The results of a tournament: standings, cross table, ends of games and sequential tests. */

import { h, s } from "./dom.js";
import { count, signed } from "./text.js";

/**
 * @typedef {import("./types.js").Round} Round
 * @typedef {import("./types.js").Pairing} Pairing
 * @typedef {import("./types.js").Score} Score
 * @typedef {import("./types.js").Estimate} Estimate
 * @typedef {import("./types.js").Sprt} Sprt
 * @typedef {import("./types.js").SprtPoint} SprtPoint
 */

/** The names of ends of games. @type {Record<string, string>} */
export const ENDS = {
  rules: "by the rules",
  ply_limit: "at the ply limit",
  repetition: "by repetition",
  adjudicated: "adjudicated by a table",
  fault: "by a fault",
};

/** @param {number} rate */
const percent = (rate) => `${(100 * rate).toFixed(1)} %`;

/**
 * Returns a score as text: points of games.
 * @param {Score} score
 */
export const points = ({ wins, draws, games }) => `${wins + draws / 2}/${games}`;

/**
 * Returns an Elo difference with its interval.
 * @param {Estimate | null} elo
 */
export function eloText(elo) {
  if (!elo) return "–";
  const number = (/** @type {number | null} */ value, /** @type {string} */ infinite) =>
    value === null ? infinite : signed(value);
  const [low, high] = elo.interval;
  const value = elo.value === null ? (low === null ? "−∞" : "+∞") : signed(elo.value);
  return `${value} (${number(low, "−∞")} to ${number(high, "+∞")})`;
}

/**
 * Returns the score of one player against another, or null if they have not played.
 * @param {Pairing[]} pairings
 * @param {string} one
 * @param {string} other
 * @returns {Score | null}
 */
export function scoreAgainst(pairings, one, other) {
  const direct = pairings.find(({ a, b }) => a === one && b === other)?.score;
  if (direct) return direct;
  const reverse = pairings.find(({ a, b }) => a === other && b === one)?.score;
  if (!reverse) return null;
  const { wins, losses, rate, interval } = reverse;
  return { ...reverse, wins: losses, losses: wins, rate: 1 - rate, interval: [1 - interval[1], 1 - interval[0]] };
}

/**
 * Returns the numbers of games by their end, over all pairings.
 * @param {Pairing[]} pairings
 * @returns {[string, number][]}
 */
export function endCounts(pairings) {
  return Object.keys(ENDS).flatMap((end) => {
    const games = pairings.reduce((sum, { ends }) => sum + (ends[end] ?? 0), 0);
    return games > 0 ? [/** @type {[string, number]} */ ([end, games])] : [];
  });
}

/** @param {Round} round */
export function standings({ entrants }) {
  const sorted = [...entrants].sort((a, b) => (b.score?.rate ?? -1) - (a.score?.rate ?? -1));
  const rows = sorted.map(({ name, score, elo, goal, faults }) => {
    const faulty = Object.values(faults).reduce((sum, number) => sum + number, 0);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td", {}, score ? points(score) : "–"),
      h("td", {}, score ? percent(score.rate) : "–"),
      h("td", {}, score ? `${percent(score.interval[0])} to ${percent(score.interval[1])}` : "–"),
      h("td", {}, eloText(elo)),
      h("td", {}, goal === null ? "–" : goal.toFixed(1)),
      h("td", {}, faulty || "–"),
    );
  });
  return table("Standings", ["Player", "Points", "Score", "95 % interval", "Elo", "Mean goal", "Faults"], rows);
}

/** @param {Round} round */
export function crossTable({ entrants, pairings }) {
  const names = entrants.map(({ name }) => name);
  const rows = names.map((row, at) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, `${at + 1}. ${row}`),
      ...names.map((column) => {
        const score = row === column ? null : scoreAgainst(pairings, row, column);
        if (!score) return h("td", {}, "");
        const { wins, draws, losses } = score;
        return h("td", { title: `${wins} won, ${draws} drawn, ${losses} lost` }, percent(score.rate));
      }),
    ),
  );
  return table("Score of the row against the column", ["Player", ...names.map((_, at) => `${at + 1}`)], rows);
}

/**
 * @param {string} caption
 * @param {string[]} heads
 * @param {HTMLElement[]} rows
 */
export function table(caption, heads, rows) {
  const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
  return h(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": caption },
    h("table.results", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, ...rows)),
  );
}

/** @param {Round} round */
export function ends({ pairings, first }) {
  const games = pairings.reduce((sum, pairing) => sum + pairing.games, 0);
  const items = endCounts(pairings).map(([end, number]) =>
    h("li", {}, `${ENDS[end]}: ${number} (${percent(number / games)})`),
  );
  if (first) {
    const [low, high] = first.interval;
    items.push(
      h(
        "li",
        {},
        `the first player has ${points(first)} points, ${percent(first.rate)} (${percent(low)} to ${percent(high)})`,
      ),
    );
  }
  return h("ul.ends", { "aria-label": "How the games ended" }, ...items);
}

/**
 * Returns the places of a curve on a picture of 300 by 100: the number of pairs and the log-likelihood ratio.
 * @param {SprtPoint[]} curve
 * @param {[number, number]} bounds
 * @returns {{places: [number, number][], zero: number, limits: [number, number]}}
 */
export function curvePlaces(curve, bounds) {
  const ratios = curve.map(({ llr }) => llr);
  const [low, high] = [Math.min(bounds[0], ...ratios), Math.max(bounds[1], ...ratios)];
  const last = Math.max(1, ...curve.map(({ pairs }) => pairs));
  const y = (/** @type {number} */ llr) => 95 - (90 * (llr - low)) / (high - low);
  const places = curve.map(({ pairs, llr }) => /** @type {[number, number]} */ ([(300 * pairs) / last, y(llr)]));
  return { places: [[0, y(0)], ...places], zero: y(0), limits: [y(bounds[0]), y(bounds[1])] };
}

/**
 * @param {Pairing} pairing
 * @param {Sprt} sprt
 * @param {SprtPoint[]} curve
 */
export function sequentialTest({ a, b }, sprt, curve) {
  const { places, zero, limits } = curvePlaces(curve, sprt.bounds);
  const verdict = sprt.verdict === "continue" ? "not decided yet" : `${sprt.verdict} is accepted`;
  const text = `${a} against ${b}: LLR ${signed(sprt.llr, 2)} (${sprt.bounds.map((bound) => signed(bound, 2)).join(" to ")}) after ${count(sprt.pairs, "pair")}, ${verdict}. H0: ${sprt.nelo[0]} nElo, H1: ${sprt.nelo[1]} nElo.`;
  const line = (/** @type {string} */ name, /** @type {number} */ y) =>
    s("line", { class: name, x1: 0, x2: 300, y1: y, y2: y });
  const picture = s(
    "svg",
    { class: "graph sprt", viewBox: "-2 0 304 100", role: "img", "aria-label": text, preserveAspectRatio: "none" },
    line("axis", zero),
    ...limits.map((y) => line("limit", y)),
    s("polyline", { class: "value", points: places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") }),
  );
  return h("figure", {}, picture, h("figcaption", {}, text));
}
