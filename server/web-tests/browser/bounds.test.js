import assert from "node:assert/strict";
import { before, test } from "node:test";

import { home } from "../../web/js/geometry.js";
import { army, initial, printPosition } from "../../web/js/notation.js";
import { sternhalma } from "../unit/program.js";
import { cell, cells, choose, until, world } from "./harness.js";

const TABLE = "5x5-3-within16";
const STATES = 560;
const here = world();

/** @typedef {{state: string, distance: number | null, exact: boolean | null}} Row */

/** The states of the table with an upper bound, and the others. @type {Row[]} */
let bounds = [];
/** @type {Row[]} */
let exact = [];

/**
 * Returns the distances of states by the program.
 * @param {string[]} states
 * @returns {Row[]}
 */
function query(states) {
  const args = ["query", `${here.folder}/${TABLE}.sht`, "--stdin", "--format", "ndjson"];
  return sternhalma(args, states.join("\n"))
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** @param {Row} row */
const text = ({ distance, exact }) => (distance === null ? "–" : exact ? `${distance}` : `≤ ${distance}`);

before(() => {
  here.build(5, 3, 16);
  const rows = query(Array.from({ length: STATES }, (_, rank) => `#${rank}`));
  bounds = rows.filter(({ exact }) => exact === false);
  exact = rows.filter(({ exact, distance }) => exact && distance);
  assert.ok(bounds.length > 10 && exact.length > 10);
});

test("a state shows whether its distance is exact, and so does its heat map", async () => {
  const kinds = new Set();
  for (const row of [bounds[0], exact[0], bounds[bounds.length - 1]]) {
    const page = await here.open(`#view=distances&table=${TABLE}&state=${row.state}`);
    const figure = page.locator('.figure[data-name="distance"]');
    await until(async () => (await figure.locator("strong").innerText()) === text(row), text(row));
    assert.match(await figure.innerText(), row.exact ? /exact/ : /upper bound/);
    await page.locator('input[value="heat"]').check({ force: true });
    const own = row.state.split(",");
    await choose(page, own[0]);
    await page.locator(".cell.heat").first().waitFor();
    const others = (await cells(page, ".heat")).filter((name) => name !== own[0]);
    const labels = await Promise.all(others.map((name) => cell(page, name).locator(".label").textContent()));
    const known = query(others.map((name) => own.map((other) => (other === own[0] ? name : other)).join(",")));
    assert.deepEqual(
      labels,
      known.map((row) => text(row).replace(" ", "")),
    );
    for (const { exact } of known) kinds.add(exact);
    await page.context().close();
  }
  assert.deepEqual(kinds, new Set([true, false]));
});

test("the race shows upper bounds", async () => {
  const placement = initial(5, 3);
  const row = bounds.find(({ state }) => !state.split(",").some((name) => home(5, 3, "o").includes(name)));
  assert.ok(row);
  for (const name of army(placement, "x")) placement.pieces.delete(name);
  for (const name of row.state.split(",")) placement.pieces.set(name, "x");
  const page = await here.open(`#position=${printPosition(placement).replaceAll(" ", "_")}`);
  const way = page.locator('.plate[data-side="x"] .way strong');
  await until(async () => (await way.innerText()) === text(row), text(row));
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
