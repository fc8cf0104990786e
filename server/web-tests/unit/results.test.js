import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { curvePlaces, eloText, endCounts, points, scoreAgainst } from "../../web/js/results.js";
import { sternhalma } from "./program.js";

const folder = mkdtempSync(join(tmpdir(), "sternhalma-results-"));
after(() => rmSync(folder, { recursive: true }));
/** @type {import("../../web/js/types.js").Round} */
let round;

before(() => {
  const log = join(folder, "games.ndjson");
  const board = ["--side", "4", "--pieces", "3", "--games", "8", "--quiet"];
  sternhalma(["tournament", "random", "greedy", "ab-avg", ...board, "--log", log]);
  [round] = JSON.parse(sternhalma(["tournament", "show", log, "--json"])).rounds;
});

test("the cross table agrees with the standings", () => {
  const names = round.entrants.map(({ name }) => name);
  for (const { name, score } of round.entrants) {
    const cells = names.filter((other) => other !== name).map((other) => scoreAgainst(round.pairings, name, other));
    assert.equal(
      cells.reduce((sum, cell) => sum + (cell ? cell.wins + cell.draws / 2 : NaN), 0),
      (score?.wins ?? NaN) + (score?.draws ?? NaN) / 2,
    );
    for (const cell of cells) {
      assert.ok(cell);
      assert.ok(Math.abs(cell.rate - (cell.wins + cell.draws / 2) / cell.games) < 1e-9);
      assert.ok(cell.interval[0] <= cell.rate && cell.rate <= cell.interval[1]);
    }
  }
  assert.equal(scoreAgainst(round.pairings, "random", "nobody"), null);
});

test("all games end in some way", () => {
  const ends = endCounts(round.pairings);
  assert.equal(
    ends.reduce((sum, [, games]) => sum + games, 0),
    24,
  );
});

test("scores and Elo differences are texts", () => {
  const score = {
    games: 4,
    wins: 2,
    draws: 1,
    losses: 1,
    rate: 0.625,
    interval: /** @type {[number, number]} */ ([0, 1]),
  };
  assert.equal(points(score), "2.5/4");
  assert.equal(eloText({ value: 88.7, interval: [-83.3, 276] }), "+89 (−83 to +276)");
  assert.equal(eloText({ value: null, interval: [745.5, null] }), "+∞ (+746 to +∞)");
  assert.equal(eloText({ value: null, interval: [null, -357] }), "−∞ (−∞ to −357)");
  assert.equal(eloText(null), "–");
});

test("a curve is between its bounds", () => {
  const curve = [
    { pairs: 10, llr: 1 },
    { pairs: 20, llr: -4 },
  ];
  const { places, zero, limits } = curvePlaces(curve, [-3, 3]);
  assert.deepEqual(
    places.map(([x]) => x),
    [0, 150, 300],
  );
  assert.equal(places[0][1], zero);
  assert.equal(places[2][1], 95, "the smallest ratio is at the bottom");
  assert.equal(limits[1], 5, "the upper bound is at the top");
  assert.ok(places[1][1] < zero);
});
