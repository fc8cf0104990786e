import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { until, world } from "./harness.js";

const sheets = mkdtempSync(join(tmpdir(), "sternhalma-sheets-"));
writeFileSync(join(sheets, "broken.kif"), "(role first)\n(init (on 1)");
// The second role has no legal move in the initial state.
writeFileSync(
  join(sheets, "stuck.kif"),
  "(role first) (role second) (init (on 1)) (legal first go) (<= (legal second go) (true (on 2)))" +
    "(<= (next (on 2)) (does first go)) (<= terminal (true (on 2))) (goal first 50) (goal second 50)",
);
const here = world({ args: ["--rulesheets", sheets] });
after(() => rmSync(sheets, { recursive: true, force: true }));

/** @param {import("./harness.js").Page} page */
const status = (page) => page.locator(".status-line").innerText();

/** @param {import("./harness.js").Page} page */
const marks = (page) =>
  page.locator(".place").evaluateAll((places) => places.map((place) => place.getAttribute("data-mark")));

/**
 * @param {import("./harness.js").Page} page
 * @param {string} mark
 */
const number = async (page, mark) => (await marks(page)).filter((found) => found === mark).length;

/**
 * Opens a game whose other roles are played by a quick policy.
 * @param {string} name
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function open(name, options) {
  const page = await here.open(`#view=rulesheets&rules=${name}`, options);
  await page.locator("[data-legal]").first().waitFor();
  await page.locator('[data-name="playouts"]').selectOption("100");
  return page;
}

test("a whole game of tic-tac-toe is played by pressing the board", async () => {
  const page = await open("tic-tac-toe");
  assert.equal((await marks(page)).length, 9);
  for (let move = 1; !/over/.test(await status(page)); move++) {
    await page.locator(".place.active").first().click();
    // A last move without a choice is played at once.
    await until(async () => /over|to move/.test(await status(page)) && (await number(page, "x")) >= move, "the reply");
  }
  assert.match(await status(page), /The game is over: x (0|50|100), o (0|50|100)\./);
  assert.equal(await page.locator("[data-legal]").count(), 0);
  await page.context().close();
});

test("the last move of a full board is played without a press", async () => {
  const page = await open("tic-tac-toe");
  await page.locator('[data-name="seat-o"]').selectOption("person");
  for (const [at, place] of ["1 1", "2 2", "3 3", "1 2", "3 2", "3 1", "1 3", "2 3"].entries()) {
    const turn = `${at % 2 === 0 ? "x" : "o"} to move.`;
    await until(async () => (await status(page)) === turn, turn);
    await page.locator(`[data-place="${place}"]`).click();
  }
  await until(async () => (await status(page)) === "The game is over: x 50, o 50.", "the end");
  assert.equal(await number(page, "x"), 5);
  await page.context().close();
});

test("undo returns to the last choice", async () => {
  const page = await open("tic-tac-toe");
  await page.locator(".place.active").first().click();
  await until(async () => (await number(page, "o")) === 1, "the reply");
  await page.locator('[data-action="undo-step"]').click();
  await until(async () => (await number(page, "empty")) === 9, "the initial state");
  await page.context().close();
});

test("two presses choose a move from one place to another", async () => {
  const page = await open("breakthrough");
  const all = await page.locator("[data-legal]").count();
  await page.locator('[data-place="2 2"]').click();
  await until(async () => (await page.locator("[data-legal]").count()) === 3, "the moves of the pawn");
  await page.keyboard.press("Escape");
  await until(async () => (await page.locator("[data-legal]").count()) === all, "all moves");
  await page.locator('[data-place="2 2"]').click();
  await page.locator('[data-place="2 3"]').click();
  await until(async () => (await page.locator('[data-place="2 3"]').getAttribute("data-mark")) === "white", "the move");
  await page.context().close();
});

test("all roles move at once in a game of simultaneous moves", async () => {
  const page = await open("matching-pennies");
  await page.locator('[data-name="seat-differ"]').selectOption("person");
  await page.getByText("matcher and differ to move.").waitFor();
  for (const role of ["matcher", "differ"])
    await page.locator(`[aria-label="Moves of ${role}"] [data-legal="(show heads)"]`).click();
  await page.getByText("Show the fluents").click();
  await until(async () => /\(round 2\)/.test(await page.locator(".fluents").innerText()), "the second round");
  await page.context().close();
});

test("a game can be played with the keyboard alone on a phone", async () => {
  const page = await open("tic-tac-toe", { viewport: { width: 360, height: 740 } });
  await page.locator("[data-legal]").first().focus();
  await page.keyboard.press("Enter");
  await until(async () => (await number(page, "o")) === 1, "the reply");
  assert.match((await page.locator("#announcer").textContent()) ?? "", /o: \(mark \d \d\)\..* to move\./);
  await page.context().close();
});

test("the rules can be read", async () => {
  const page = await open("tic-tac-toe");
  await page.getByText("Show the rulesheet").click();
  assert.match(await page.locator(".source").innerText(), /\(role x\)/);
  await page.context().close();
});

test("a rulesheet with an error in its syntax is listed with its error", async () => {
  const page = await here.open("#view=rulesheets&rules=broken");
  await until(async () => /the rulesheet is invalid/.test(await status(page)), "the error");
  assert.match(await page.locator(".findings").innerText(), /line 2, column 1: .*\(error: syntax\)/);
  const option = page.locator('[data-name="rulesheet"] option[value="broken"]');
  assert.equal(await option.innerText(), "Broken (not valid)");
  assert.equal(await page.locator(".message").count(), 0);
  // Other rulesheets can still be chosen.
  await page.locator('[data-name="rulesheet"]').selectOption("tic-tac-toe");
  await page.locator("[data-legal]").first().waitFor();
  assert.equal(await page.locator(".findings").isVisible(), false);
  await page.context().close();
});

test("a rulesheet with a role that has no legal move shows the finding", async () => {
  const page = await here.open("#view=rulesheets&rules=stuck");
  await until(async () => /second has no legal move/.test(await status(page)), "the reason");
  assert.match(await page.locator(".findings").innerText(), /\(error: no-legal-move\)/);
  assert.equal(await page.locator(".message").count(), 0);
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
