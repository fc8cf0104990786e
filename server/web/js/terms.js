/** Terms of rulesheets as text, and boards in states. */

/**
 * @typedef {string | Term[]} Term a symbol, or a name with its arguments
 *
 * @typedef {object} Grid a board
 * @property {string} name the name of its fluents
 * @property {string[]} columns the first coordinates, in order
 * @property {string[]} rows the second coordinates, in order
 * @property {Map<string, string>} marks the marks by place
 */

/** Marks of empty cells. */
const EMPTY = new Set(["b", "blank", "empty", "none"]);

/**
 * Parses a term in KIF, such as `(cell 1 2 x)`.
 * @param {string} text
 * @returns {Term}
 */
export function parseTerm(text) {
  /** @type {Term[][]} */
  const open = [[]];
  for (const [token] of text.matchAll(/[()]|[^()\s]+/g)) {
    const inner = open[open.length - 1];
    if (token === "(") open.push([]);
    else if (token !== ")") inner.push(token);
    else if (open.length === 1) throw new Error(`${text}: a parenthesis closes nothing`);
    else {
      open.pop();
      open[open.length - 1].push(inner);
    }
  }
  if (open.length !== 1 || open[0].length !== 1) throw new Error(`${text}: expected one term`);
  return open[0][0];
}

/**
 * Returns the symbols of a term, from left to right.
 * @param {Term} term
 * @returns {string[]}
 */
export const symbols = (term) => (typeof term === "string" ? [term] : term.flatMap(symbols));

/**
 * Returns the name of a term.
 * @param {Term} term
 * @returns {string}
 */
export const nameOf = (term) => (typeof term === "string" ? term : term.length > 0 ? nameOf(term[0]) : "");

/**
 * @param {string} column
 * @param {string} row
 */
export const place = (column, row) => `${column} ${row}`;

/**
 * Returns coordinates in order. Numbers are completed to a range.
 * @param {Iterable<string>} found
 * @returns {string[]}
 */
export function axis(found) {
  const names = [...new Set(found)];
  if (!names.every((name) => /^\d{1,3}$/.test(name))) return names.sort();
  const numbers = names.map(Number);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return Array.from({ length: high - low + 1 }, (_, at) => String(low + at));
}

/**
 * Returns the board of a state: the largest group of fluents `(NAME COLUMN ROW MARK)` with one mark per place, at
 * least 2 by 2 places, and marks on a quarter of them. A board that was found before keeps its size.
 * @param {Term[]} fluents
 * @param {Grid | null} [before]
 * @returns {Grid | null}
 */
export function findGrid(fluents, before = null) {
  /** @type {Map<string, [string, string, string][]>} */
  const groups = new Map();
  for (const fluent of fluents) {
    if (typeof fluent === "string" || fluent.length !== 4 || !fluent.every((part) => typeof part === "string"))
      continue;
    const [name, column, row, mark] = /** @type {string[]} */ (fluent);
    groups.set(name, [...(groups.get(name) ?? []), [column, row, mark]]);
  }
  const grids = [...groups].flatMap(([name, cells]) => {
    const known = before?.name === name ? before : null;
    const columns = axis([...(known?.columns ?? []), ...cells.map(([column]) => column)]);
    const rows = axis([...(known?.rows ?? []), ...cells.map(([, row]) => row)]);
    const marks = new Map(cells.map(([column, row, mark]) => [place(column, row), mark]));
    const plausible = known || 4 * cells.length >= columns.length * rows.length;
    const fits = columns.length > 1 && rows.length > 1 && marks.size === cells.length && plausible;
    return fits ? [{ name, columns, rows, marks }] : [];
  });
  grids.sort((one, other) => other.marks.size - one.marks.size);
  return grids[0] ?? (before ? { ...before, marks: new Map() } : null);
}

/** @param {string | undefined} mark */
export const isEmpty = (mark) => mark === undefined || EMPTY.has(mark.toLowerCase());

/**
 * Returns the places of a board that a move mentions: a column and a row, one after the other.
 * @param {Term} move
 * @param {{columns: string[], rows: string[]}} grid
 * @returns {string[]}
 */
export function placesOf(move, { columns, rows }) {
  const [, ...parts] = symbols(move);
  const found = [];
  for (let at = 0; at + 1 < parts.length; at++) {
    if (!columns.includes(parts[at]) || !rows.includes(parts[at + 1])) continue;
    found.push(place(parts[at], parts[at + 1]));
    at++;
  }
  return found;
}
