import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { faults, narrow, world } from "./harness.js";

const here = world();
before(() => {
  here.build(9, 3);
  const board = ["--side", "4", "--pieces", "3", "--games", "60"];
  const log = join(here.folder, "logs", "games.ndjson");
  sternhalma(["tournament", "random", "greedy", ...board, "--sprt", "0,10", "--log", log, "--quiet"]);
});

/** The folder of the screenshots, if they are kept. */
const SHOTS = process.env.STERNHALMA_SCREENSHOTS;

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

/** @type {Record<string, {width: number, height: number}>} */
const SIZES = {
  wide: { width: 1440, height: 900 },
  middle: { width: 1000, height: 800 },
  phone: { width: 360, height: 740 },
};

for (const [name, link, ready] of VIEWS) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    test(`${name} fits every window and has no serious fault for assistive technology, ${colorScheme}`, async () => {
      const page = await here.open(link, { colorScheme });
      for (const [size, viewport] of Object.entries(SIZES)) {
        await page.setViewportSize(viewport);
        await page.locator(ready).first().waitFor();
        const over = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(over, 0, `${size}: the page is wider than the window`);
        assert.deepEqual(await narrow(page), [], size);
        if (size !== "middle") assert.deepEqual(await faults(page), [], size);
        if (!SHOTS) continue;
        mkdirSync(SHOTS, { recursive: true });
        await page.waitForTimeout(200);
        await page.screenshot({ path: join(SHOTS, `${name}-${size}-${colorScheme}.png`), fullPage: size === "phone" });
      }
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
