import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { fitsWindows, world } from "./harness.js";

const here = world();
before(() => {
  here.build(9, 3);
  const board = ["--side", "4", "--pieces", "3", "--games", "60"];
  const log = join(here.folder, "logs", "games.ndjson");
  sternhalma(["tournament", "random", "greedy", ...board, "--sprt", "0,10", "--log", log, "--quiet"]);
});

const POSITION = "8o/7o1/5o3/9/2x6/9/1x7/9/x8_x_8";

/** @type {[string, string, string][]} the name, the link and what the view shows when it is ready */
const VIEWS = [
  ["play", "", ".cell.movable"],
  ["analyse", `#position=${POSITION}&moves=a1-a2,i9-i8,a2-a3`, ".chip"],
  ["distances", "#view=distances&table=9x9-3&state=a1,b4,d6", ".figure"],
  ["puzzles", "#view=puzzles", ".figure"],
  ["editor", "#view=editor", ".segments"],
  ["tables", "#view=tables", ".histogram"],
  ["tournaments", "#view=tournaments", ".sprt"],
  ["rulesheets", "#view=rulesheets&rules=breakthrough", "[data-legal]"],
];

for (const [name, link, ready] of VIEWS) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    test(`${name} fits every window and has no serious fault for assistive technology, ${colorScheme}`, async () => {
      const page = await here.open(link, { colorScheme });
      await fitsWindows(page, name, colorScheme, () => page.locator(ready).first().waitFor());
      await page.context().close();
    });
  }
}

test("every view of the page is tested here", async () => {
  const page = await here.open();
  const names = await page
    .locator("#views a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("data-view") ?? ""));
  assert.deepEqual(names.sort(), VIEWS.map(([name]) => name).sort());
  await page.context().close();
});

test("the colours can be chosen", async () => {
  const page = await here.open("", { colorScheme: "light" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  assert.notEqual(await paper(), light);
  await page.reload();
  await page.locator("[data-cell]").first().waitFor();
  assert.notEqual(await paper(), light);
  await page.context().close();
});

test("the first page is smaller than 100 KB", async () => {
  const page = await here.open();
  await page.locator(".cell.movable").first().waitFor();
  const bytes = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .concat(performance.getEntriesByType("navigation"))
      .reduce((sum, entry) => sum + /** @type {any} */ (entry).transferSize, 0),
  );
  assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
