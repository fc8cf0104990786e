import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { cells, choose, fitsWindows, pieces, press, until, world } from "./harness.js";

const here = world();

const HOSTILE = "</script><script>globalThis.owned = 1</script><img src=x onerror='globalThis.owned = 1'>";
const RECORD = `[Event "${HOSTILE}"]
[PlayerX "<i>Ann</i>"]
[PlayerO "Bob"]
[Size "5"]
[Pieces "3"]

{<!-- ${HOSTILE}} 1. a2-a3 <score=+0.35 depth=8 nodes=1000> {safe} (1. a1-a3 {a jump} 1... e4-d4)
1... d5-c5 <score=-0.10 depth=7 nodes=900> 2. a1-a2 <score=+1.20 depth=7 nodes=800> *
`;

before(() => {
  here.build(5, 3);
  writeFileSync(join(here.folder, "game.shg"), RECORD);
  const args = ["export-game", join(here.folder, "game.shg"), "--tables", here.folder, "--quiet"];
  sternhalma([...args, "--player", "sternhalma", "--nodes", "500", "-o", join(here.folder, "game.html")]);
});

/**
 * Opens the file of the game, and returns the page with the addresses that it asks for.
 * @param {import("playwright-core").BrowserContextOptions} [options]
 * @param {string} [file]
 */
async function open(options, file = join(here.folder, "game.html")) {
  /** @type {string[]} */
  const requests = [];
  const address = pathToFileURL(file).href;
  const page = await here.visit(address, options, (asked) => requests.push(asked));
  return { page, requests: () => requests.filter((asked) => asked !== address && !asked.startsWith("data:")) };
}

/** @param {import("./harness.js").Page} page */
const current = (page) => page.locator(".move[aria-current]").getAttribute("data-move");

test("a file shows the game without any request", async () => {
  const { page, requests } = await open();
  assert.equal(await page.title(), "<i>Ann</i> – Bob");
  assert.equal(await page.locator(".moves .move").count(), 5);
  assert.ok((await page.locator(".moves").innerText()).includes(`<!-- ${HOSTILE}`));
  assert.ok((await page.locator("dl").innerText()).includes(HOSTILE));
  assert.equal(await page.locator(".graph polyline.value").count(), 1);
  assert.equal(await page.locator(".graph polyline.lead").count(), 1);
  assert.deepEqual(Object.keys(await pieces(page)).sort(), ["a1", "a2", "b1", "d5", "e4", "e5"]);
  const way = page.locator('.plate[data-side="x"] .way strong');
  assert.equal(await way.innerText(), `${here.distance("5x5-3", ["a1", "b1", "a2"], "x")}`);
  assert.equal(await page.evaluate(() => /** @type {any} */ (globalThis).owned), undefined);
  assert.deepEqual(requests(), []);
  await page.context().close();
});

test("the keyboard steps through the game, and other moves are shown", async () => {
  const { page } = await open();
  await page.keyboard.press("ArrowRight");
  assert.equal(await current(page), "a2-a3");
  await page.keyboard.press("End");
  assert.equal(await current(page), "a1-a2");
  assert.match(await page.locator(".panel .note:visible").last().innerText(), /a1–a2: value \+1.2/);
  await page.keyboard.press("Home");
  assert.equal(await page.locator(".move[aria-current]").count(), 0);
  // The variation is a move of the board, and the other moves have arrows.
  await choose(page, "a1");
  assert.ok((await cells(page, ".destination")).includes("a3"));
  await press(page, "a3");
  assert.equal(await current(page), "a1-a3");
  await page.locator('[data-key="next"]').click();
  assert.equal(await current(page), "e4-d4");
  await page.keyboard.press("Home");
  await page.locator('.chip[data-move="b1-c1"]').click();
  assert.equal(await page.locator(".move[aria-current]").count(), 0);
  await page.locator(".arrow.line").waitFor({ state: "attached" });
  await page.locator(".board").focus();
  await page.keyboard.press("f");
  assert.equal(await page.locator(".plate.low").getAttribute("data-side"), "o");
  await page.context().close();
});

test("the changes and the hops are those of the program", async () => {
  const { page } = await open();
  const chips = page.locator(".chip");
  const shown = await chips.evaluateAll((found) =>
    found.map((chip) => [chip.getAttribute("data-move"), Number(chip.querySelector(".distance")?.textContent)]),
  );
  const own = ["a1", "b1", "a2"];
  const after = (/** @type {string} */ move) =>
    own.map((name) => (move.startsWith(`${name}-`) ? move.split("-")[1] : name));
  const moves = sternhalma(["moves", "3oo/4o/5/x4/xx3 x 0"]).split("\n");
  assert.deepEqual(shown.map(([move]) => move).sort(), moves.sort());
  const distances = here.distances(
    "5x5-3",
    shown.map(([move]) => after(String(move))),
    "x",
  );
  assert.deepEqual(
    shown.map(([, distance]) => distance),
    distances,
  );
  await page.context().close();
});

test("the record can be saved", async () => {
  const { page } = await open();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save"]').click()]);
  const file = join(here.folder, "saved.shg");
  await saved.saveAs(file);
  sternhalma(["export-game", file, "--quiet", "--tables", here.folder, "-o", join(here.folder, "again.html")]);
  await page.context().close();
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`a file fits every window and has no serious fault for assistive technology, ${colorScheme}`, async () => {
    const { page } = await open({ colorScheme });
    await fitsWindows(page, "saved", colorScheme);
    await page.context().close();
  });
}

test("the policy of a file forbids other scripts", async () => {
  const file = join(here.folder, "changed.html");
  const text = readFileSync(join(here.folder, "game.html"), "utf8");
  writeFileSync(file, text.replace("</main>", "</main><script>globalThis.owned = 1</script>"));
  const { page } = await open({}, file);
  assert.equal(await page.evaluate(() => /** @type {any} */ (globalThis).owned), undefined);
  assert.ok(here.errors.pop()?.includes("Content Security Policy"));
  await page.context().close();
});

test("the page saves a game as a file", async () => {
  const page = await here.open(`#position=3oo/4o/5/x4/xx3_x_0&moves=a2-a3,d5-c5`);
  await until(async () => (await page.locator(".chip").count()) > 0, "the moves");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save-page"]').click()]);
  const file = join(here.folder, "from-page.html");
  await saved.saveAs(file);
  assert.ok(statSync(file).size < 250_000);
  const opened = await open({}, file);
  assert.equal(await opened.page.locator(".moves .move").count(), 2);
  assert.deepEqual(opened.requests(), []);
  await opened.page.context().close();
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
