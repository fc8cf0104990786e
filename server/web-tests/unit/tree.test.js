import assert from "node:assert/strict";
import { test } from "node:test";

import { initial, printPosition } from "../../web/js/notation.js";
import { Tree } from "../../web/js/tree.js";

const START = printPosition(initial(5, 3));

/** @type {import("../../web/js/types.js").GameRecord} */
const RECORD = {
  tags: [
    ["Event", "a game in the terminal"],
    ["PlayerX", "human"],
  ],
  position: START,
  ply_limit: 1000,
  comments: ["before the game"],
  game: [
    {
      move: "a2-a3",
      comments: ["safe"],
      variations: [
        {
          comments: ["instead"],
          game: [
            { move: "a1-a3", comments: ["a jump"] },
            { move: "e4-d4", variations: [{ comments: [], game: [{ move: "e4-d5" }] }] },
          ],
        },
      ],
    },
    {
      move: "d5-c5",
      value: { kind: "lead", value: 0.35 },
      depth: 8,
      nodes: 1000,
      seconds: 0.012,
      data: [["key", "value"]],
    },
    { move: "a1-a2" },
  ],
  result: "*",
};

test("a record is the same after it was a tree", () => {
  assert.deepEqual(Tree.fromRecord(RECORD).toRecord(), RECORD);
  const blocked = { ...RECORD, rules: /** @type {const} */ ("blocked-goal") };
  assert.deepEqual(Tree.fromRecord(blocked).toRecord(), blocked);
});

test("occurrences of a position are counted on the line to it", () => {
  const tree = new Tree(START);
  const counts = [];
  for (const move of ["a2-a3", "e4-e3", "a3-a2", "e3-e4", "a2-a3", "e4-e3", "a3-a2", "e3-e4"]) {
    counts.push(tree.play(move).occurrences());
  }
  assert.deepEqual(counts, [1, 1, 1, 2, 2, 2, 2, 3]);
});

test("positions follow from the moves", () => {
  const tree = Tree.fromRecord(RECORD);
  const line = tree.shownLine();
  assert.deepEqual(
    line.map(({ move }) => move),
    ["", "a2-a3", "d5-c5", "a1-a2"],
  );
  assert.equal(line[3].position, "2o1o/4o/x4/x4/1x3 o 3");
});

test("the nodes of a game are those of its line and of all variations", () => {
  const moves = Tree.fromRecord(RECORD)
    .nodes()
    .map(({ move }) => move);
  assert.deepEqual(moves.sort(), ["", "a1-a2", "a1-a3", "a2-a3", "d5-c5", "e4-d4", "e4-d5"]);
});

test("another move begins a variation, and the same move does not", () => {
  const tree = new Tree(START);
  const first = tree.play("a2-a3");
  tree.current = tree.root;
  assert.equal(tree.play("a2-a3"), first);
  tree.current = tree.root;
  const second = tree.play("b1-c1");
  assert.deepEqual(tree.root.children, [first, second]);
  assert.ok(first.isMain() && !second.isMain());
  tree.promote(second);
  assert.deepEqual(tree.root.children, [second, first]);
  assert.ok(second.isMain());
});

test("the node before a removed one is shown", () => {
  const tree = new Tree(START);
  const first = tree.play("a2-a3");
  tree.play("e4-d4");
  tree.play("b1-c1");
  tree.remove(first);
  assert.equal(tree.current, tree.root);
  assert.deepEqual(tree.shownLine(), [tree.root]);
  tree.remove(tree.root);
  assert.equal(tree.current, tree.root);
});

test("a change of the first line makes the result unknown, and a variation does not", () => {
  const tree = Tree.fromRecord({ ...RECORD, result: "1-0" });
  tree.current = tree.root.children[0];
  tree.play("e4-d4");
  assert.equal(tree.result, "1-0");
  tree.promote(tree.current);
  assert.equal(tree.result, "*");
  tree.result = "0-1";
  tree.play("a1-a2");
  assert.equal(tree.result, "*");
});

test("tags are replaced and removed", () => {
  const tree = new Tree(START);
  tree.setTag("PlayerX", "a");
  tree.setTag("PlayerX", "b");
  assert.equal(tree.tag("PlayerX"), "b");
  tree.setTag("PlayerX", "");
  assert.deepEqual(tree.tags, []);
});

test("a long game needs no deep recursion", () => {
  const tree = new Tree(START);
  for (let ply = 0; ply < 5000; ply++) tree.current = tree.add(tree.current, `a${(ply % 2) + 1}-a3`, START);
  assert.equal(Tree.fromRecord(tree.toRecord()).shownLine().length, 5001);
});
