/** Numbers, distances and values as text. */

/**
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").Value} Value
 * @typedef {import("./types.js").Result} Result
 */

/**
 * Returns a number with a count noun.
 * @param {number} number
 * @param {string} noun
 * @param {string} [plural]
 */
export function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

/**
 * Returns a distance, with "≤" before an upper bound.
 * @param {{distance: number | null, exact: boolean | null}} of
 */
export function distanceText({ distance, exact }) {
  return distance === null ? "–" : exact ? `${distance}` : `≤ ${distance}`;
}

/**
 * Returns a distance in words.
 * @param {{distance: number | null, exact: boolean | null}} of
 */
export function distanceSpoken({ distance, exact }) {
  if (distance === null) return "unknown distance";
  return `${exact ? "" : "at most "}${count(distance, "move")} to the goal`;
}

/**
 * Returns a number with its sign.
 * @param {number} number
 * @param {number} [digits]
 */
export function signed(number, digits = 0) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : `${number < 0 ? "−" : "+"}${text}`;
}

/**
 * Returns the change of distance as a tone and a text.
 * @param {number | null} change
 */
export function changeTone(change) {
  if (change === null) return "unknown";
  return change < 0 ? "better" : change === 0 ? "equal" : "worse";
}

/**
 * Returns a value from the point of view of a side.
 * @param {Value | null | undefined} value the value for the player to move
 * @param {Side} player the player to move
 * @param {Side} side
 * @returns {Value | null}
 */
export function valueFor(value, player, side) {
  if (!value || player === side) return value ?? null;
  const { kind } = value;
  if (kind === "won") return { kind: "lost", value: value.value };
  if (kind === "lost") return { kind: "won", value: value.value };
  return { kind, value: -value.value };
}

/**
 * Returns the value of a finished game for a side.
 * @param {Result} result
 * @param {Side} side
 * @returns {Value}
 */
export function resultValue(result, side) {
  return result === "draw" ? { kind: "lead", value: 0 } : { kind: result === side ? "won" : "lost", value: 0 };
}

/**
 * Returns a value as a short text.
 * @param {Value | null | undefined} value
 */
export function valueText(value) {
  if (!value) return "–";
  if (value.kind === "won") return `win in ${value.value}`;
  if (value.kind === "lost") return `loss in ${value.value}`;
  return signed(value.value, value.kind === "lead" ? 1 : 2);
}

/**
 * Returns a value with the precision of records: hundredths.
 * @param {Value | null} value
 * @returns {Value | null}
 */
export function roundedValue(value) {
  return value && { kind: value.kind, value: Math.round(100 * value.value) / 100 };
}

/**
 * Returns a number between -1 (lost) and 1 (won) for a graph.
 * @param {Value} value
 */
export function valueHeight({ kind, value }) {
  if (kind === "won") return 1;
  if (kind === "lost") return -1;
  return kind === "reward" ? Math.max(-0.98, Math.min(0.98, value)) : Math.tanh(value / 8) * 0.95;
}

/**
 * Returns a result as a sentence.
 * @param {Result} result
 */
export function resultText(result) {
  return result === "draw" ? "The game is drawn." : `${result} wins.`;
}

/**
 * Returns the text of a result in a record.
 * @param {Result | null} result
 */
export function resultTag(result) {
  return result === null ? "*" : result === "draw" ? "1/2-1/2" : result === "x" ? "1-0" : "0-1";
}

/**
 * Returns a size in bytes.
 * @param {number} bytes
 */
export function bytesText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) [bytes, unit] = [bytes / 1024, unit + 1];
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

/**
 * Returns a large number in few characters.
 * @param {number} number
 */
export function shortCount(number) {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(number);
}

/**
 * Returns a duration.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Returns the moves that would seal cells of a goal as a sentence, or an empty text.
 * @param {{move: string, sealed: string[]}[]} forbidden
 */
export function forbiddenText(forbidden) {
  /** @type {Map<string, string[]>} */
  const moves = new Map();
  for (const { move, sealed } of forbidden) {
    const cells = sealed.join(", ");
    moves.set(cells, [...(moves.get(cells) ?? []), move.replace("-", "–")]);
  }
  const parts = [...moves].map(([cells, found]) => `${found.join(", ")} (${cells})`);
  return parts.length ? `Forbidden, because no piece could enter these cells any more: ${parts.join("; ")}.` : "";
}
