import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { until, world } from "./harness.js";

const here = world();
/** The folders of the logs that the server shows, and of whole ones. */
const logs = () => join(here.folder, "logs");
const whole = () => join(here.folder, "whole");

/**
 * Plays a tournament of quick players with a log, and returns its name.
 * @param {string} name
 * @param {string[]} options
 */
function play(name, options) {
  sternhalma(["tournament", ...options, "--log", join(whole(), name), "--quiet"]);
  return name;
}

before(() => {
  mkdirSync(whole());
  const board = ["--side", "4", "--pieces", "3"];
  play("three.ndjson", ["random", "greedy", "ab-avg", ...board, "--games", "20"]);
  play("sprt.ndjson", ["random", "greedy", ...board, "--games", "400", "--sprt", "0,10"]);
  for (const name of ["three.ndjson", "sprt.ndjson"]) copyFileSync(join(whole(), name), join(logs(), name));
});

/** @param {string} name */
const results = (name) => JSON.parse(sternhalma(["tournament", "show", join(whole(), name), "--json"]));

/** @param {import("./harness.js").Page} page */
const rows = (page) => page.locator('[aria-label="Games"] tbody tr').count();

test("the standings are those of the program", async () => {
  const page = await here.open("#view=tournaments&log=three.ndjson");
  const table = page.locator('[aria-label="Standings"] tbody tr');
  await table.first().waitFor();
  const { entrants } = results("three.ndjson").rounds[0];
  const expected = [...entrants]
    .sort((a, b) => b.score.rate - a.score.rate)
    .map(({ name, score }) => [
      name,
      `${score.wins + score.draws / 2}/${score.games}`,
      `${(100 * score.rate).toFixed(1)} %`,
    ]);
  const shown = await table.evaluateAll((found) =>
    found.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)),
  );
  assert.deepEqual(shown, expected);
  assert.equal(await page.locator(".results", { hasText: "Score of the row" }).locator("tbody tr").count(), 3);
  await page.context().close();
});

test("a sequential test has a curve that ends with its ratio", async () => {
  const page = await here.open("#view=tournaments&log=sprt.ndjson");
  await page.locator(".sprt polyline").waitFor();
  const { llr, pairs, bounds } = results("sprt.ndjson").rounds[0].pairings[0].sprt;
  const text = await page.locator("figcaption").innerText();
  assert.ok(text.includes(`LLR ${llr.toFixed(2).replace("-", "−")}`), text);
  assert.ok(text.includes(`after ${pairs} pairs, H0 is accepted`), text);
  const line = (await page.locator(".sprt polyline").getAttribute("points")) ?? "";
  const [low, high] = [Math.min(bounds[0], llr), Math.max(bounds[1], llr)];
  assert.ok(line.split(" ").length > 10, line);
  assert.equal(line.split(" ").at(-1), `300.0,${(95 - (90 * (llr - low)) / (high - low)).toFixed(1)}`);
  await page.context().close();
});

test("games are filtered, turned over and opened on the board", async () => {
  const page = await here.open("#view=tournaments&log=three.ndjson");
  await until(async () => (await rows(page)) === 20, "a page of games");
  await page.locator('[data-action="next"]').click();
  await page.getByText("21 to 40 of 60").waitFor();
  await page.locator('[data-name="player"]').selectOption("greedy");
  await page.getByText("1 to 20 of 40").waitFor();
  await page.locator('[data-name="result"]').selectOption("1-0");
  await until(
    async () => !(await page.locator('[aria-label="Games"] tbody').innerText()).includes("0-1"),
    "the result",
  );
  await page.locator('[data-action="open-game"]').first().click();
  await page.locator(".moves [data-move]").first().waitFor();
  assert.equal(await page.locator("body").getAttribute("data-view"), "analyse");
  assert.ok((await page.locator(".moves [data-move]").count()) > 2);
  await page.goBack();
  await until(async () => (await page.locator('[data-name="player"]').inputValue()) === "greedy", "the filter");
  await page.context().close();
});

test("a running tournament is followed", async () => {
  const lines = readFileSync(join(whole(), "three.ndjson"), "utf8").trimEnd().split("\n");
  const file = join(logs(), "running.ndjson");
  const write = (/** @type {number} */ games) => writeFileSync(file, `${lines.slice(0, 1 + games).join("\n")}\n`);
  write(5);
  const page = await here.open("#view=tournaments&log=running.ndjson");
  const played = page.locator('[data-name="played"]');
  await until(async () => (await played.innerText()) === "5 of 60 games", "five games");
  await until(async () => (await rows(page)) === 5, "the games");
  write(30);
  await until(async () => (await played.innerText()) === "30 of 60 games", "thirty games");
  await until(async () => (await rows(page)) === 20, "the last games");
  await page.getByText("11 to 30 of 30").waitFor();
  assert.match((await page.locator("#announcer").textContent()) ?? "", /30 of 60 games are played/);
  await page.context().close();
});

test("the view can be used with the keyboard alone on a phone", async () => {
  const page = await here.open("#view=tournaments", { viewport: { width: 360, height: 740 } });
  await page.locator(".log").first().waitFor();
  await page.locator(".log", { hasText: "three" }).focus();
  await page.keyboard.press("Enter");
  // The games of the log that was shown before go away, and the focus with them.
  await page.getByText("1 to 20 of 60").waitFor();
  await page.locator('[data-action="open-game"]').first().focus();
  await page.keyboard.press("Enter");
  await page.locator(".moves [data-move]").first().waitFor();
  await page.context().close();
});

test("late games of a log are not shown as those of another one", async () => {
  const page = await here.open();
  let early = -1;
  let release = () => {};
  const released = new Promise((resolve) => (release = () => resolve(undefined)));
  await page.route("**/api/tournaments/sprt.ndjson/games**", async (route) => {
    await released;
    await route.continue();
  });
  // The results of the second log arrive only after the games of the first one.
  await page.route("**/api/tournaments/three.ndjson", async (route) => {
    release();
    await page.waitForResponse(/sprt.ndjson.games/);
    await page.waitForTimeout(300);
    early = await rows(page);
    await route.continue();
  });
  const asked = page.waitForRequest(/sprt.ndjson.games/);
  await page.goto(`${here.url}/#view=tournaments&log=sprt.ndjson`);
  await asked;
  await page.goto(`${here.url}/#view=tournaments&log=three.ndjson`);
  await page.getByText("1 to 20 of 60").waitFor();
  assert.equal(early, 0);
  await page.context().close();
});

test("without logs the view describes how to get one", async () => {
  const page = await here.open();
  await page.route("**/api/tournaments", (route) => route.fulfill({ json: { tournaments: [], unreadable: [] } }));
  await page.locator('#views a[data-view="tournaments"]').click();
  await page.getByText("--logs DIR").waitFor();
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
