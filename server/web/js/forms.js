/** Parts of forms that several views have. */

import { choice, h } from "./dom.js";
import { SIZES, mostPieces } from "./geometry.js";

/** @typedef {import("./types.js").Rules} Rules */

/**
 * Creates a choice between buttons of which one is pressed.
 * @template {string | number} T
 * @param {string} legend
 * @param {string} name the name of the radio buttons
 * @param {[T, string][]} options values and texts
 * @param {T | null} value
 * @param {(value: T) => void} change
 */
export function segments(legend, name, options, value, change) {
  return h("fieldset.segments", {}, h("legend", {}, legend), ...segmentLabels(name, options, value, change));
}

/**
 * Creates the buttons of such a choice.
 * @template {string | number} T
 * @param {string} name
 * @param {[T, string][]} options
 * @param {T | null} value
 * @param {(value: T) => void} change
 */
export function segmentLabels(name, options, value, change) {
  return options.map(([key, text]) => {
    const input = h("input", {
      type: "radio",
      name,
      value: key,
      "data-key": `${name}-${key}`,
      change: () => change(key),
    });
    input.checked = key === value;
    return h("label", {}, input, h("span", {}, text));
  });
}

/**
 * Creates the choice of a board.
 * @param {{size: number, pieces: number}} now
 * @param {(board: {size: number, pieces: number}) => void} change
 * @param {string} [prefix] before the names of the fields
 */
export function boardChoice({ size, pieces }, change, prefix = "") {
  const pick = (/** @type {number} */ side, /** @type {number} */ count) =>
    change({ size: side, pieces: Math.min(count, mostPieces(side)) });
  const named = (/** @type {string} */ name) => ({ "data-name": `${prefix}${name}`, "data-key": `${prefix}${name}` });
  const sizes = SIZES.map((side) => /** @type {[string, string]} */ ([`${side}`, `${side} × ${side}`]));
  const counts = Array.from({ length: mostPieces(size) }, (_, at) => `${at + 1}`);
  return h(
    "div.pair",
    {},
    choice("Board", sizes, `${size}`, (value) => pick(Number(value), pieces), named("size")),
    choice(
      "Pieces",
      counts.map((count) => [count, count]),
      `${pieces}`,
      (value) => pick(size, Number(value)),
      named("pieces"),
    ),
  );
}

/**
 * Returns the rule set with a name, or the newest one. Replaced rule sets cannot be chosen.
 * @param {Rules[]} ruleSets the newest first
 * @param {string} name
 * @returns {Rules | undefined}
 */
export function chosenRules(ruleSets, name) {
  const current = ruleSets.filter((rules) => rules.current);
  return current.find((rules) => rules.name === name) ?? current[0];
}

/**
 * Creates the choice of a rule set.
 * @param {Rules[]} ruleSets the newest first
 * @param {string} name
 * @param {(name: string) => void} change
 * @param {import("./dom.js").Attributes} [attributes]
 */
export function rulesChoice(ruleSets, name, change, attributes = {}) {
  const options = ruleSets.filter(({ current }) => current).map((rules) => [rules.name, rules.about]);
  const value = chosenRules(ruleSets, name)?.name ?? "";
  return choice("Rules", /** @type {[string, string][]} */ (options), value, change, attributes);
}
