import assert from "node:assert/strict";
import { test } from "node:test";

import {
  RISE,
  SIZES,
  boardCells,
  cellAt,
  goal,
  home,
  mostPieces,
  neighbours,
  parseCell,
  point,
  rowsToGo,
  step,
} from "../../web/js/geometry.js";
import { army, initial, parsePosition, printPosition } from "../../web/js/notation.js";
import { sternhalma } from "./program.js";

test("the initial positions are those of the program", () => {
  for (const size of SIZES) {
    for (const pieces of [1, mostPieces(size)]) {
      const position = printPosition(initial(size, pieces));
      assert.equal(
        sternhalma(["show", "--side", `${size}`, "--pieces", `${pieces}`])
          .split("\n")
          .at(-1),
        position,
      );
      assert.deepEqual(home(size, pieces, "x"), army(parsePosition(position), "x"));
      assert.deepEqual(goal(size, pieces, "x"), army(parsePosition(position), "o"));
    }
  }
});

test("a piece alone steps to its neighbours", () => {
  for (const size of [3, 4, 7, 11]) {
    for (const cell of boardCells(size)) {
      const placement = {
        size,
        pieces: new Map([[cell.name, /** @type {const} */ ("x")]]),
        player: /** @type {const} */ ("x"),
        ply: 0,
      };
      const moves = sternhalma(["moves", printPosition(placement)])
        .split("\n")
        .map((move) => move.split("-")[1]);
      assert.deepEqual(
        neighbours(cell, size)
          .map(({ name }) => name)
          .sort(),
        moves.sort(),
        `${size} ${cell.name}`,
      );
    }
  }
});

test("neighbours are 1 apart, and all other cells are farther", () => {
  for (const size of SIZES) {
    const cells = boardCells(size);
    assert.equal(new Set(cells.map(({ name }) => name)).size, size * size);
    for (const cell of cells) {
      const near = new Set(neighbours(cell, size).map(({ name }) => name));
      const [a, others] = [point(cell, size, "x"), cells.filter((other) => other !== cell)];
      for (const other of others) {
        const b = point(other, size, "x");
        const far = Math.hypot(a.x - b.x, a.y - b.y);
        assert.equal(near.has(other.name), Math.abs(far - 1) < 1e-9, `${size} ${cell.name} ${other.name}`);
        assert.ok(far > 1 - 1e-9);
      }
    }
  }
});

test("a1 is the lowest cell, and turning the board turns every point about the middle", () => {
  for (const size of SIZES) {
    assert.deepEqual(point({ x: 0, y: 0 }, size, "x"), { x: 0, y: (size - 1) * RISE });
    assert.ok(point({ x: 1, y: 0 }, size, "x").x > 0, "letters grow to the right");
    for (const cell of boardCells(size)) {
      const [one, other] = [point(cell, size, "x"), point(cell, size, "o")];
      assert.ok(Math.hypot(one.x + other.x, one.y + other.y) < 1e-9);
    }
  }
});

test("the nearest cell of a point is found", () => {
  for (const size of SIZES) {
    for (const bottom of /** @type {const} */ (["x", "o"])) {
      for (const cell of boardCells(size)) {
        const { x, y } = point(cell, size, bottom);
        assert.equal(cellAt({ x: x + 0.3, y: y - 0.25 }, size, bottom)?.name, cell.name);
      }
      assert.equal(cellAt({ x: size, y: 0 }, size, bottom), null);
    }
  }
});

test("names of cells outside the board are refused", () => {
  assert.equal(parseCell("i9", 9)?.name, "i9");
  assert.equal(parseCell("K11", 11)?.name, "k11");
  for (const name of ["j1", "a10", "a0", "a01", "a", "9", "", "a1 b1"]) assert.equal(parseCell(name, 9), null, name);
});

test("arrow keys reach every cell, and lead back", () => {
  for (const size of [3, 9, 10]) {
    for (const bottom of /** @type {const} */ (["x", "o"])) {
      const start = boardCells(size)[0];
      const seen = new Set([start.name]);
      const queue = [start];
      for (const cell of queue) {
        for (const key of /** @type {const} */ (["left", "right", "up", "down"])) {
          const next = step(cell, key, 0, size, bottom);
          if (!next) continue;
          const [a, b] = [point(cell, size, bottom), point(next, size, bottom)];
          assert.ok(key === "left" ? b.x < a.x : key === "right" ? b.x > a.x : key === "up" ? b.y < a.y : b.y > a.y);
          if (!seen.has(next.name)) queue.push(next);
          seen.add(next.name);
        }
      }
      assert.equal(seen.size, size * size);
    }
  }
});

test("rows to go are 0 in the goal only", () => {
  assert.equal(rowsToGo(goal(9, 6, "x"), 9, "x"), 0);
  assert.equal(rowsToGo(goal(9, 6, "o"), 9, "o"), 0);
  // Six pieces: 0 + 2 · 1 + 3 · 2 rows from the tip, and 16 rows from tip to tip.
  assert.equal(rowsToGo(home(9, 6, "x"), 9, "x"), 6 * 16 - 2 * 8);
  assert.equal(rowsToGo(["a1"], 9, "x"), 16);
});
