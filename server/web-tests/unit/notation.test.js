import assert from "node:assert/strict";
import { test } from "node:test";

import {
  afterMove,
  choose,
  ends,
  initial,
  moveNumber,
  parseArmy,
  parseMove,
  parsePosition,
  printPosition,
  unrank,
} from "../../web/js/notation.js";
import { sternhalma } from "./program.js";

const POSITIONS = [
  "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0",
  "5oo/7/7/7/3ox2/1xx4/7 x 0",
  "5/3x1/3ox/o1x1o/5 x 14",
  "11/11/11/11/11/11/11/11/11/11/11 o 7",
];

test("positions are printed as they were read", () => {
  for (const position of POSITIONS) assert.equal(printPosition(parsePosition(position)), position);
  assert.equal(printPosition(parsePosition("3/1X1/O2")), "3/1x1/o2 x 0");
});

test("random games have the positions of the program", () => {
  let seed = 1;
  const random = (/** @type {number} */ below) => (seed = (seed * 48271) % 2147483647) % below;
  for (const [size, pieces] of [
    [5, 3],
    [9, 6],
    [11, 15],
  ]) {
    let placement = initial(size, pieces);
    const played = [];
    for (let ply = 0; ply < 12; ply++) {
      const moves = sternhalma(["moves", printPosition(placement)]).split("\n");
      const move = moves[random(moves.length)];
      assert.equal(parseMove(move, size), move);
      assert.equal(placement.pieces.get(ends(move)?.from ?? ""), placement.player);
      placement = afterMove(placement, move);
      played.push(move);
    }
    const commands = [...played, "pos", "quit"].join("\n");
    const printed = sternhalma(
      ["play", "-o", "human", "--no-build", "--side", `${size}`, "--pieces", `${pieces}`],
      commands,
    );
    assert.ok(printed.split("\n").includes(printPosition(placement)), printed);
  }
});

test("invalid positions are refused, with the reason", () => {
  for (const [text, reason] of [
    ["", /rows/],
    ["9/9 x 0", /rows/],
    ["3/3/4 x 0", /3 cells/],
    ["3/3/2 x 0", /3 cells/],
    ["3/3/z2 x 0", /got "z"/],
    ["3/3/3 y 0", /player/],
    ["3/3/3 x -1", /plies/],
    ["3/3/3 x 0 1", /after them/],
    ["99999999999999/3/3", /3 cells/],
  ])
    assert.throws(() => parsePosition(/** @type {string} */ (text)), /** @type {RegExp} */ (reason), String(text));
});

test("armies are read with commas or blanks", () => {
  assert.deepEqual(parseArmy("A1, b1 c1", 9), ["a1", "b1", "c1"]);
  assert.throws(() => parseArmy("a1,a1", 9), /twice/);
  assert.throws(() => parseArmy("a1,z9", 9), /z9/);
});

test("moves are read in the forms of the terminal", () => {
  for (const text of ["c1-e3", "c1e3", "C1 E3", " c1 - e3 "]) assert.equal(parseMove(text, 9), "c1-e3");
  assert.equal(parseMove("pass", 9), "pass");
  for (const text of ["c1", "c1-z3", "hint", ""]) assert.equal(parseMove(text, 9), null);
});

test("ranks are those of the program", () => {
  for (const [size, pieces] of /** @type {const} */ ([
    [3, 2],
    [5, 3],
    [9, 6],
    [11, 10],
  ])) {
    const states = choose(size * size, pieces);
    for (const side of /** @type {const} */ (["x", "o"])) {
      for (const rank of [0n, 1n, states / 3n, states - 1n]) {
        const printed = sternhalma([
          "unrank",
          "--side",
          `${size}`,
          "--pieces",
          `${pieces}`,
          "--player",
          side,
          `${rank}`,
        ]);
        const cells = printed.split(/\s+/)[0].split(",");
        assert.deepEqual(unrank(rank, size, pieces, side).sort(), cells.sort(), `${size} ${pieces} ${side} ${rank}`);
      }
      assert.throws(() => unrank(states, size, pieces, side), /rank below/);
    }
  }
});

test("moves of x are numbered", () => {
  assert.deepEqual([0, 1, 2, 3].map(moveNumber), [1, 1, 2, 2]);
});
