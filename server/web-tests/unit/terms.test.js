import assert from "node:assert/strict";
import { test } from "node:test";

import { axis, findGrid, isEmpty, nameOf, parseTerm, placesOf, symbols } from "../../web/js/terms.js";

test("terms are parsed", () => {
  assert.equal(parseTerm("noop"), "noop");
  assert.deepEqual(parseTerm("(cell 1 2 x)"), ["cell", "1", "2", "x"]);
  assert.deepEqual(parseTerm(" ( f (g a)b ) "), ["f", ["g", "a"], "b"]);
  for (const text of ["", "(", ")", "a b", "(a))", "(a"]) assert.throws(() => parseTerm(text), /:/, text);
  assert.deepEqual(symbols(parseTerm("(f (g a) b)")), ["f", "g", "a", "b"]);
  assert.equal(nameOf(parseTerm("(f (g a))")), "f");
});

test("numbers are completed and names are sorted", () => {
  assert.deepEqual(axis(["10", "8", "9", "12"]), ["8", "9", "10", "11", "12"]);
  assert.deepEqual(axis(["c", "a", "c"]), ["a", "c"]);
});

/** @param {string[]} texts */
const grid = (texts, before = null) => findGrid(texts.map(parseTerm), before);

test("a board is the largest group of places with one mark each", () => {
  const found = grid(["(control x)", "(cell 1 1 x)", "(cell 1 2 b)", "(cell 2 1 b)", "(cell 2 2 o)", "(score a b c)"]);
  assert.ok(found);
  assert.deepEqual([found.name, found.columns, found.rows], ["cell", ["1", "2"], ["1", "2"]]);
  assert.equal(found.marks.get("2 2"), "o");
  assert.ok(isEmpty(found.marks.get("1 2")) && isEmpty(undefined) && !isEmpty("x"));
});

test("states without a board have none", () => {
  assert.equal(grid(["(round 1)", "(score a 0)"]), null);
  assert.equal(grid(["(cell 1 1 x)", "(cell 1 2 o)"]), null, "one column");
  assert.equal(grid(["(cell 1 1 x)", "(cell 1 1 o)", "(cell 2 2 x)"]), null, "two marks on a place");
  assert.equal(grid(["(cell 1 1 x)", "(cell 20 20 o)"]), null, "few marks on many places");
});

test("a board keeps its size when pieces leave it", () => {
  const before = grid(["(pawn 1 1 w)", "(pawn 2 1 w)", "(pawn 1 4 b)", "(pawn 2 4 b)"]);
  assert.deepEqual(before?.rows, ["1", "2", "3", "4"]);
  const after = findGrid([parseTerm("(pawn 1 2 w)")], before);
  assert.deepEqual([after?.columns, after?.rows, after?.marks.size], [before?.columns, before?.rows, 1]);
  assert.equal(findGrid([], before)?.marks.size, 0);
});

test("a move mentions its places", () => {
  const grid = { columns: ["1", "2", "3"], rows: ["1", "2", "3"] };
  const places = (/** @type {string} */ move) => placesOf(parseTerm(move), grid);
  assert.deepEqual(places("(move 1 2 2 3)"), ["1 2", "2 3"]);
  assert.deepEqual(places("(move pawn 1 2 (to 3 3))"), ["1 2", "3 3"]);
  assert.deepEqual(places("(mark 2 1 x)"), ["2 1"]);
  assert.deepEqual([places("noop"), places("(drop 2)"), places("(mark 4 1)")], [[], [], []]);
});
