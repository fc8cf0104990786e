/** Small pictures of boards for texts. They do not react to the user. */

import { boardCells, home, parseCell, point } from "./geometry.js";
import { s } from "./dom.js";

/**
 * @typedef {import("./types.js").Side} Side
 *
 * @typedef {object} Diagram
 * @property {number} size cells along an edge
 * @property {number} [pieces] the pieces of an army, whose homes are tinted
 * @property {string[]} [x] the cells of the pieces of x
 * @property {string[]} [o]
 * @property {string[]} [destinations] cells with a dot
 * @property {string[]} [forbidden] cells with a dashed edge
 * @property {{side: Side, path: string[]}[]} [arrows]
 * @property {string} label the text for screen readers
 */

/** The length of the head of an arrow, in units of the distance of two neighbours. */
const HEAD = 0.42;

/**
 * Draws a board with pieces and arrows.
 * @param {Diagram} diagram
 */
export function diagram({ size, pieces = 0, x = [], o = [], destinations = [], forbidden = [], arrows = [], label }) {
  const [width, height] = [size + 0.4, (size - 1) * 2 * Math.sqrt(0.75) + 1.4];
  const place = (/** @type {string} */ name) => point(parseCell(name, size) ?? { x: 0, y: 0 }, size, "x");
  const homes = { x: new Set(home(size, pieces, "x")), o: new Set(home(size, pieces, "o")) };
  const last = size - 1;
  const corners = [
    [0, 0],
    [last, 0],
    [last, last],
    [0, last],
  ].map(([column, line]) => point({ x: column, y: line }, size, "x"));
  const cells = boardCells(size).map(({ name }) => {
    const at = place(name);
    const tint = homes.x.has(name) ? " home-x" : homes.o.has(name) ? " home-o" : "";
    const marked = forbidden.includes(name) ? " marked worse" : "";
    return s(
      "g",
      { class: `cell${tint}${marked}`, transform: `translate(${at.x} ${at.y})` },
      s("circle", { class: "hole", r: 0.37 }),
      marked ? s("circle", { class: "mark", r: 0.37 }) : null,
      destinations.includes(name) ? s("circle", { class: "dot", r: 0.14 }) : null,
    );
  });
  const army = (/** @type {Side} */ side, /** @type {string[]} */ names) =>
    names.map((name) => {
      const at = place(name);
      return s(
        "g",
        { class: `piece ${side}`, transform: `translate(${at.x} ${at.y})` },
        s("circle", { class: "body", r: 0.37 }),
      );
    });
  return s(
    "svg",
    {
      class: "diagram",
      viewBox: `${-width / 2} ${-height / 2} ${width} ${height}`,
      role: "img",
      "aria-label": label,
    },
    s("g", { class: "ground" }, s("polygon", { points: corners.map((at) => `${at.x},${at.y}`).join(" ") })),
    ...cells,
    ...army("x", x),
    ...army("o", o),
    ...arrows.map(({ side, path }) => arrow(side, path.map(place))),
  );
}

/**
 * @param {Side} side
 * @param {{x: number, y: number}[]} places
 */
function arrow(side, places) {
  const [before, end] = places.slice(-2);
  const far = Math.hypot(end.x - before.x, end.y - before.y);
  const [dx, dy] = [(end.x - before.x) / far, (end.y - before.y) / far];
  const neck = { x: end.x - HEAD * dx, y: end.y - HEAD * dy };
  const wing = (/** @type {number} */ sign) =>
    `${neck.x - sign * 0.55 * HEAD * dy},${neck.y + sign * 0.55 * HEAD * dx}`;
  const points = [...places.slice(0, -1), neck].map((at) => `${at.x},${at.y}`).join(" ");
  return s(
    "g",
    { class: `course ${side}` },
    s("polyline", { points }),
    s("polygon", { points: `${end.x},${end.y} ${wing(1)} ${wing(-1)}` }),
  );
}
