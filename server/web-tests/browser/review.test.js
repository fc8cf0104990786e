/** The summary of a searched game, and learning from mistakes. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { SHOTS, faults, narrow, playMove, until, world } from "./harness.js";

const here = world();
before(() => here.build(5, 3));

/** x moves backward twice, which costs its lead. */
const MOVES = "a2-a3,e4-e3,a3-a2,e5-e4,a2-a3,d5-d4,a3-a2";
const LINK = `#position=3oo/4o/5/x4/xx3_x_0&rules=blocked-goal-2&moves=${MOVES}`;

/** The limit per position, below the default. */
const NODES = "20000";

/**
 * Opens the game, and searches all of it.
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function searched(options) {
  const page = await here.open(LINK, options);
  await page.locator('[data-name="game-nodes"]').selectOption(NODES);
  await page.locator('[data-action="search-game"]').click();
  await page.locator(".side-summary").nth(1).waitFor();
  return page;
}

/** @param {import("./harness.js").Page} page */
const current = (page) => page.locator(".moves .move[aria-current]").getAttribute("data-move");

/** @param {import("./harness.js").Page} page */
const lesson = (page) => page.locator('[data-name="lesson"]');

/**
 * @param {import("./harness.js").Page} page
 * @param {string} name
 */
async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const [size, viewport] of Object.entries({
    wide: { width: 1280, height: 800 },
    phone: { width: 390, height: 844 },
    landscape: { width: 844, height: 390 },
  })) {
    await page.setViewportSize(viewport);
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(SHOTS, `${name}-${size}.png`), fullPage: size === "phone" });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

test("a searched game has the summary that the program prints", async () => {
  const page = await searched();
  const record = `[Size "5"]\n[Pieces "3"]\n[Rules "blocked-goal-2"]\n\n${MOVES.split(",")
    .map((move, ply) => (ply % 2 === 0 ? `${ply / 2 + 1}. ${move}` : move))
    .join(" ")} *\n`;
  const file = join(here.folder, "review.shg");
  writeFileSync(file, record);
  const table = join(here.folder, "5x5-3.sht");
  const printed = sternhalma(["analyse", "--game", file, "--nodes", NODES, "--table", table, "--quiet"]);
  const expected = printed.split("\n").slice(-2);
  const shown = await page.locator(".side-summary span").allInnerTexts();
  assert.deepEqual(
    shown.map((text) => text.replace(/^Player /, "")),
    expected,
  );
  assert.match(expected[0], /[1-9]\d* (inaccurac|mistake|blunder)/, "x has marked moves");
  await shot(page, "summary");
  await page.context().close();
});

test("the limit per position is that of the program, and is kept", async () => {
  const page = await here.open(LINK);
  const limit = page.locator('[data-name="game-nodes"]');
  assert.equal(await limit.inputValue(), "100000");

  await limit.selectOption(NODES);
  await page.reload();
  await limit.waitFor();
  assert.equal(await limit.inputValue(), NODES);
  await page.context().close();
});

test("the next mistake is one press away, and also a key", async () => {
  const page = await searched();
  const signs = page.locator(".moves .move:has(.mistake)");
  const marked = await signs.evaluateAll((found) => found.map((move) => move.getAttribute("data-move")));
  assert.ok(marked.length >= 2, `${marked}`);
  // The end of the game is shown, so the first mistake follows.
  await page.locator('[data-action="mistake"]').click();
  assert.equal(await current(page), marked[0]);
  assert.match(await page.locator(".mistake-now").innerText(), /\?.* with .* with this move/);
  assert.match((await page.locator("#announcer").textContent()) ?? "", / to .*: (inaccuracy|mistake|blunder)/);
  await page.keyboard.press("n");
  assert.equal(await current(page), marked[1]);
  await page.context().close();
});

test("a lesson asks for better moves, judges them and shows the solution", async () => {
  const page = await searched();
  await page.locator('[data-action="learn-x"]').click();
  assert.equal(await lesson(page).getAttribute("data-state"), "ask");
  const text = await lesson(page).innerText();
  const played = /x played (\S+)–(\S+), an? (?:inaccuracy|mistake|blunder)\./.exec(text);
  assert.ok(played, text);
  // Nothing shows the solution.
  assert.equal(await page.locator(".chip, .arrow.best, .mistake, .cell.marked").count(), 0);
  await shot(page, "lesson");
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(await narrow(page), []);
  await playMove(page, played[1], played[2]);
  await until(async () => (await lesson(page).getAttribute("data-state")) === "wrong", "the answer");
  assert.match(await lesson(page).innerText(), /is the move of the game/);
  // The tree of the game is as it was.
  assert.equal(await page.locator(".moves .variation").count(), 0);
  await page.locator('[data-action="solution"]').click();
  const best = /The best move is (\S+)–(\S+):/.exec(await lesson(page).innerText());
  assert.ok(best);
  await page.locator(".arrow.best").waitFor({ state: "attached" });
  await shot(page, "solution");
  await page.locator('[data-action="leave-lesson"]').click();
  assert.equal(await lesson(page).count(), 0);
  // The best move solves the task, and a solved task is counted.
  await page.locator('[data-action="learn-x"]').click();
  await playMove(page, best[1], best[2]);
  await until(async () => (await lesson(page).getAttribute("data-state")) === "right", "the answer");
  assert.match(await page.locator(".lesson .note").innerText(), /^1 solved/);
  const tasks = Number(/of (\d+)/.exec(await page.locator(".lesson h3").innerText())?.[1]);
  for (let task = 1; task < tasks; task++) {
    await page.locator('[data-action="next-task"]').click();
    await page.locator(".lesson h3", { hasText: `Task ${task + 1} of ${tasks}` }).waitFor();
  }
  await page.locator('[data-action="next-task"]').click();
  await page.locator(".side-summary").first().waitFor();
  assert.match((await page.locator("#announcer").textContent()) ?? "", new RegExp(`^1 of ${tasks} tasks? solved`));
  await page.context().close();
});

test("the engine judges a move that is neither the best one nor that of the game", async () => {
  const page = await searched();
  await page.locator('[data-action="learn-x"]').click();
  const text = await lesson(page).innerText();
  await page.locator('[data-action="solution"]').click();
  const best = /The best move is (\S+):/.exec(await lesson(page).innerText())?.[1] ?? "";
  const legal = await page
    .locator(".chip[data-move]")
    .evaluateAll((found) => found.map((chip) => chip.getAttribute("data-move") ?? ""));
  await page.locator('[data-action="leave-lesson"]').click();
  const other = legal.find((move) => ![best, text].some((known) => known.includes(move.replace("-", "–"))));
  assert.ok(other);
  await page.locator('[data-action="learn-x"]').click();
  const [from, to] = other.split("-");
  await playMove(page, from, to);
  await until(
    async () => ["right", "wrong"].includes((await lesson(page).getAttribute("data-state")) ?? ""),
    "a verdict",
  );
  assert.match(await lesson(page).innerText(), new RegExp(`${from}–${to} is (good|no better)`));
  await page.context().close();
});

test("a saved page has the summary and the next mistake", async () => {
  const page = await searched();
  const shown = await page.locator(".side-summary span").allInnerTexts();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save-page"]').click()]);
  const file = join(here.folder, "reviewed.html");
  await saved.saveAs(file);
  const opened = await here.visit(pathToFileURL(file).href);
  assert.deepEqual(await opened.locator(".side-summary span").allInnerTexts(), shown);
  await opened.locator('[data-action="mistake"]').click();
  assert.ok(await current(opened));
  assert.equal(await opened.locator('[data-action="learn-x"]').count(), 0);
  await shot(opened, "saved");
  await opened.context().close();
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
