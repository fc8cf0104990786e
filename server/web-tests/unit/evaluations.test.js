import assert from "node:assert/strict";
import { test } from "node:test";

import { Evaluations } from "../../web/js/evaluations.js";
import { changeMarks, heatMarks, pieceMarks } from "../../web/js/marks.js";
import { initial, printPosition } from "../../web/js/notation.js";
import { Tree } from "../../web/js/tree.js";

/** @typedef {import("../../web/js/types.js").MoveRow} MoveRow */

const START = printPosition(initial(5, 3));

/** Limits like those of the server. */
const LIMITS = /** @type {any} */ ({ lead: [1.5, 3, 5], reward: [0.2, 0.4, 0.6], distance: [1, 2, 3] });

/**
 * @param {string} move
 * @param {number | null} distance
 * @param {number | null} change
 * @param {boolean} [exact]
 * @returns {MoveRow}
 */
const row = (move, distance, change, exact = true) => ({
  move,
  path: move.split("-"),
  distance,
  change,
  exact: distance === null ? null : exact,
});

/**
 * Returns evaluations of a game of one move, with what the server says about the start.
 * @param {string} move
 * @param {MoveRow[]} [moves]
 */
function game(move, moves = []) {
  const tree = new Tree(START);
  const node = tree.play(move);
  const session = /** @type {any} */ ({ known: new Map([[START, { moves }]]), result: () => null });
  const evaluations = new Evaluations(session);
  evaluations.limits = LIMITS;
  return { node, evaluations };
}

/**
 * @param {import("../../web/js/types.js").Value} value
 * @param {string} best
 * @param {number} [nodes]
 */
const info = (value, best, nodes = 100) => ({ line: 1, depth: 4, nodes, playouts: 0, seconds: 0, value, pv: [best] });

test("a move is marked by the loss of distance", () => {
  const moves = [
    row("a2-a3", 10, -1),
    row("b1-c1", 11, 0),
    row("a1-c1", 12, 1),
    row("a1-a3", 13, 2),
    row("b1-b2", null, null),
  ];
  for (const [move, sign] of /** @type {const} */ ([
    ["a2-a3", undefined],
    ["b1-c1", "?!"],
    ["a1-c1", "?"],
    ["a1-a3", "??"],
    ["b1-b2", undefined],
  ])) {
    const { node, evaluations } = game(move, moves);
    assert.equal(evaluations.mistake(node)?.sign, sign, move);
  }
});

test("a move is marked by the loss of value, if both positions were searched", () => {
  for (const [after, sign] of /** @type {const} */ ([
    [-2, undefined],
    [-0.6, undefined],
    [-0.5, "?!"],
    [1, "?"],
    [3, "??"],
  ])) {
    const { node, evaluations } = game("a2-a3", [row("a2-a3", 12, 1), row("b1-b2", 10, -1)]);
    evaluations.add(/** @type {any} */ (node.parent), info({ kind: "lead", value: 2 }, "b1-b2"));
    evaluations.add(node, info({ kind: "lead", value: after }, "e4-d4"));
    assert.equal(evaluations.mistake(node)?.sign, sign, `${after}`);
  }
});

test("the best move is no mistake, and a lost win is one", () => {
  const { node, evaluations } = game("a2-a3");
  evaluations.add(/** @type {any} */ (node.parent), info({ kind: "won", value: 5 }, "b1-b2"));
  evaluations.add(node, info({ kind: "lead", value: 3 }, "e4-d4"));
  assert.equal(evaluations.mistake(node)?.sign, "??");
  evaluations.add(/** @type {any} */ (node.parent), info({ kind: "won", value: 5 }, "a2-a3"));
  assert.equal(evaluations.mistake(node), null);
});

test("a summary has the marks and the mean loss of a side, if every position was searched", () => {
  const tree = new Tree(START);
  for (const move of ["a2-a3", "e4-d4", "a1-a2"]) tree.play(move);
  const results = new Map();
  const session = /** @type {any} */ ({
    known: new Map(),
    result: (/** @type {any} */ node) => results.get(node) ?? null,
  });
  const evaluations = new Evaluations(session);
  evaluations.limits = LIMITS;
  const line = tree.shownLine();
  const values = [1, -4, 3.5];
  values.forEach((value, at) => evaluations.add(line[at], info({ kind: "lead", value }, at === 2 ? "a1-a2" : "b1-b2")));
  assert.equal(evaluations.summary(line, "x"), null, "the last position has no value");
  results.set(line[3], "draw");
  // The first move loses 1 - 4 = -3 moves, which is a gain, and the last one is the best.
  assert.deepEqual(evaluations.summary(line, "x"), { moves: 2, counts: [0, 0, 0], meanLoss: 0 });
  // -4 - (-3.5) = -0.5 for o is no loss, either.
  assert.deepEqual(evaluations.summary(line, "o"), { moves: 1, counts: [0, 0, 0], meanLoss: 0 });
  evaluations.add(line[1], info({ kind: "lead", value: 1 }, "b1-b2", 200));
  // x loses 1 - (-1) = 2, and o loses 1 + 3.5 = 4.5.
  assert.deepEqual(evaluations.summary(line, "x"), { moves: 2, counts: [1, 0, 0], meanLoss: 1 });
  assert.deepEqual(evaluations.summary(line, "o"), { moves: 1, counts: [0, 1, 0], meanLoss: 4.5 });
  // A lost proof has no loss, and so no mean.
  evaluations.add(line[0], info({ kind: "won", value: 5 }, "b1-b2", 200));
  assert.deepEqual(evaluations.summary(line, "x"), { moves: 2, counts: [0, 0, 1], meanLoss: null });
});

test("values are those for x, and deeper searches replace others", () => {
  const { node, evaluations } = game("a2-a3");
  node.search = { value: { kind: "lead", value: 1 } };
  assert.deepEqual(evaluations.forX(node), { kind: "lead", value: 1 });
  evaluations.add(node, info({ kind: "lead", value: 2 }, "e4-d4", 1000));
  evaluations.add(node, info({ kind: "lead", value: 9 }, "e4-d4", 10));
  assert.deepEqual(evaluations.forX(node), { kind: "lead", value: -2 });
});

test("destinations, pieces and cells have the colours of their changes", () => {
  const moves = [row("a2-a3", 10, -1), row("a2-b2", 11, 0, false), row("b1-c1", 12, 1), row("b1-b2", null, null)];
  const tones = (/** @type {Map<string, {tone: string, text: string}>} */ marks) =>
    [...marks].map(([cell, { tone, text }]) => [cell, tone, text]);
  assert.deepEqual(tones(changeMarks(moves, "a2")), [
    ["a3", "better", "−1"],
    ["b2", "equal bound", "≤0"],
  ]);
  assert.deepEqual(tones(pieceMarks(moves)), [
    ["a2", "better", "−1"],
    ["b1", "worse", "+1"],
  ]);
  const heat = [
    ["a1", 7],
    ["b1", 6],
    ["c1", 2],
    ["d1", 8],
    ["e1", null],
  ].map(([cell, distance]) => /** @type {any} */ ({ cell, distance, exact: true }));
  assert.deepEqual(tones(heatMarks(heat, "a1")), [
    ["a1", "heat same", "7"],
    ["b1", "heat cool-1", "6"],
    ["c1", "heat cool-3", "2"],
    ["d1", "heat warm-1", "8"],
  ]);
});

test("a value belongs to a position with the game before it", () => {
  const tree = new Tree(START);
  const ends = ["a2-a3 e4-e3 a1-a2", "a1-a3 e4-e3 a3-a1"].map((moves) => {
    tree.current = tree.root;
    for (const move of moves.split(" ")) tree.play(move);
    return tree.current;
  });
  const known = new Evaluations(/** @type {any} */ ({ known: new Map() }));
  known.add(ends[0], info({ kind: "won", value: 3 }, "e3-e4"));
  assert.equal(known.forX(ends[0])?.kind, "lost");
  assert.equal(known.forX(ends[1]), null);
});
