import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { home } from "../../web/js/geometry.js";
import { initial, printPosition } from "../../web/js/notation.js";
import { sternhalma } from "../unit/program.js";
import { cell, cells, choose, newGame, pieces, playMove, press, until, world } from "./harness.js";

const here = world();
before(() => here.build(5, 3));

/** @param {import("./harness.js").Page} page */
const status = (page) => page.locator(".status").innerText();

/** @param {import("./harness.js").Page} page */
const moves = (page) =>
  page.locator(".moves [data-move]").evaluateAll((found) => found.map((move) => move.getAttribute("data-move") ?? ""));

test("a whole game against a player ends by the rules", async () => {
  const page = await here.open();
  await newGame(page, { who: "x" });
  await page.locator('[data-name="player-o"]').selectOption("greedy");
  await page.locator('[data-name="distances"]').check();
  for (let turn = 0; turn < 60 && !/wins|drawn/.test(await status(page)); turn++) {
    await until(
      async () => /wins|drawn/.test(await status(page)) || (await cells(page, ".movable")).length > 0,
      "the turn of the person",
    );
    if (/wins|drawn/.test(await status(page))) break;
    const before = (await moves(page)).length;
    const from = [...(await cells(page, ".movable.better")), ...(await cells(page, ".movable"))][0];
    await choose(page, from);
    await press(page, [...(await cells(page, ".destination.better")), ...(await cells(page, ".destination"))][0]);
    await until(async () => (await moves(page)).length > before, "the move");
  }
  const played = await moves(page);
  const script = `position startpos moves ${played.join(" ")}\nquery result\nquit\n`;
  const result = sternhalma(["ugi", "--side", "5", "--pieces", "3", "--player", "greedy"], script).match(
    /response (p1win|p2win|draw)/,
  )?.[1];
  assert.ok(result, `the program says that the game goes on: ${played.join(" ")}`);
  assert.match(await status(page), result === "draw" ? /drawn/ : result === "p1win" ? /x wins/ : /o wins/);
  await page.context().close();
});

test("undo takes back the move and the reply", async () => {
  const page = await here.open();
  await newGame(page, { who: "x" });
  const start = await pieces(page);
  await playMove(page, "a2", "a3");
  await until(async () => (await moves(page)).length === 2, "the reply");
  await page.locator('[data-action="undo"]').click();
  assert.deepEqual(await pieces(page), start);
  assert.equal(await page.locator(".moves [aria-current]").count(), 0);
  await page.context().close();
});

test("a saved record does not have the moves that were taken back", async () => {
  const page = await here.open();
  await newGame(page, { who: "both" });
  for (const [from, to] of [
    ["a2", "a3"],
    ["e4", "d4"],
  ]) {
    await playMove(page, from, to);
  }
  await until(async () => (await moves(page)).length === 2, "two moves");
  // Undo at an earlier position keeps the moves after it.
  await page.locator('[data-key="previous"]').click();
  await page.locator('[data-action="undo"]').click();
  assert.deepEqual(await moves(page), ["a2-a3", "e4-d4"]);
  await page.locator('[data-key="last"]').click();
  await page.locator('[data-action="undo"]').click();
  assert.deepEqual(await moves(page), ["a2-a3"]);
  await playMove(page, "e4", "e3");
  await until(async () => (await moves(page)).length === 2, "another move");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save"]').click()]);
  assert.match(readFileSync((await file.path()) ?? "", "utf8"), /\n1\. a2-a3 e4-e3 \*/);
  await page.context().close();
});

test("a link from the game carries its moves and its rules", async () => {
  const page = await here.open();
  await newGame(page);
  await playMove(page, "a2", "a3");
  await page.locator('[data-action="share"]').click();
  const { hash } = new URL(page.url());
  assert.equal(hash, "#position=3oo/4o/5/x4/xx3_x_0&moves=a2-a3&rules=blocked-goal-2");
  const other = await here.open(hash);
  await other.locator('.moves [data-move="a2-a3"][aria-current]').waitFor();
  await other.context().close();
  await page.context().close();
});

test("the game of the shop is on the first screen, and is played without a table", async () => {
  const page = await here.open();
  await page.locator('input[name=game][value="10"]').check({ force: true });
  assert.equal(await page.locator('[data-name="pieces"]').inputValue(), "10");
  await page.locator('[data-name="strength-o"]').selectOption("level-1");
  await page.locator('[data-action="new-game"]').click();
  await until(async () => Object.keys(await pieces(page)).length === 20, "twenty pieces");
  const offer = page.locator(".offer:visible");
  await until(async () => /36 cells nearest the goal/.test(await offer.innerText()), "the offer");
  await until(async () => /states: about \d+ .*MiB on the disk/.test(await offer.innerText()), "the cost");
  await playMove(page, "a4", "a5");
  await until(async () => (await moves(page)).length === 2, "the reply");
  await page.context().close();
});

test("a new game can be taken back", async () => {
  const page = await here.open();
  await newGame(page, { who: "x" });
  await playMove(page, "a2", "a3");
  await until(async () => (await moves(page)).length === 2, "the reply");
  const [played, before] = [await moves(page), await pieces(page)];
  await page.locator('[data-action="new-game"]').click();
  await until(async () => (await moves(page)).length === 0, "the new game");
  await page.locator('[data-action="message"]').click();
  await until(async () => (await moves(page)).length === 2, "the earlier game");
  assert.deepEqual([await moves(page), await pieces(page)], [played, before]);
  await page.context().close();
});

test("moves that would block a goal are named and not offered", async () => {
  const page = await here.open();
  /** Begins a game in which `a1-a3` would seal the corner. @param {string} rules */
  const begin = async (rules) => {
    await page.locator('[data-name="rules"]').selectOption(rules);
    await newGame(page, { size: "7", pieces: "6" });
    for (const [at, move] of ["a3-a4", "g5-g4"].entries()) {
      const [from, to] = move.split("-");
      await playMove(page, from, to);
      await until(async () => (await moves(page)).length === at + 1, "the move");
    }
  };
  await begin("blocked-goal-2");
  const note = page.locator("p.note:visible").filter({ hasText: "Forbidden" });
  await note.waitFor();
  assert.match(await note.innerText(), /a1–a3 \(a1\)/);
  await choose(page, "a1");
  assert.ok(!(await cells(page, ".destination")).includes("a3"));
  // The same move is legal if goals may be blocked.
  await begin("paper");
  await choose(page, "a1");
  assert.ok((await cells(page, ".destination")).includes("a3"));
  assert.equal(await note.count(), 0);
  await page.context().close();
});

test("two players have strengths of their own", async () => {
  const page = await here.open();
  /** The searches, as the side to move and the limit. @type {string[]} */
  const searches = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname !== "/api/analysis") return;
    // The searches follow the game: x moves after an even number of moves.
    const played = (url.searchParams.get("moves") ?? "").split(",").filter(Boolean).length;
    const side = played % 2 === 0 ? "x" : "o";
    searches.push(`${side} ${url.searchParams.get("nodes") ?? `${url.searchParams.get("seconds")} s`}`);
  });
  await newGame(page, { who: "none" });
  await page.locator('[data-name="strength-x"]').selectOption("level-2");
  await page.locator('[data-name="strength-o"]').selectOption("time-0.5");
  searches.length = 0;
  await page.locator('[data-action="new-game"]').click();
  await until(async () => searches.length >= 4, "four searches");
  assert.deepEqual(new Set(searches), new Set(["x 60", "o 0.5 s"]));
  await page.context().close();
});

test("searches follow the game", async () => {
  const page = await here.open();
  /** @type {[string | null, string | null][]} */
  const searches = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/api/analysis") searches.push([searchParams.get("position"), searchParams.get("moves")]);
  });
  await newGame(page, { who: "x" });
  await playMove(page, "a2", "a3");
  await until(async () => (await moves(page)).length === 2, "the reply");
  const played = await moves(page);
  await page.locator('[data-action="hint"]').click();
  await until(async () => searches.length === 2, "the search of the hint");
  const start = printPosition(initial(5, 3));
  assert.deepEqual(searches, [
    [start, "a2-a3"],
    [start, played.join(",")],
  ]);
  await page.context().close();
});

test("a person who plays o sees the own home below, and x moves first", async () => {
  const page = await here.open();
  await newGame(page, { who: "o" });
  await until(async () => (await moves(page)).length === 1, "the first move");
  const [own, other] = [await cell(page, "e5").boundingBox(), await cell(page, "a1").boundingBox()];
  assert.ok((own?.y ?? 0) > (other?.y ?? 0));
  await page.context().close();
});

test("two players play a game, which can be paused", async () => {
  const page = await here.open();
  await newGame(page, { who: "none" });
  await until(async () => (await moves(page)).length >= 2, "two moves");
  await page.locator('[data-action="pause"]').click();
  const played = (await moves(page)).length;
  await page.waitForTimeout(1200);
  assert.equal((await moves(page)).length, played);
  await page.locator('[data-action="pause"]').click();
  await until(async () => (await moves(page)).length > played, "another move");
  await page.context().close();
});

test("resignation ends a game, and a hint shows a move", async () => {
  const page = await here.open();
  await newGame(page, { who: "both" });
  await page.locator('[data-action="hint"]').click();
  await page.locator(".arrow.best").waitFor();
  assert.match(await status(page), /^Hint: [a-e]\d–[a-e]\d/);
  await page.locator('[data-action="resign"]').click();
  assert.match(await status(page), /x resigned: o wins/);
  assert.deepEqual(await cells(page, ".movable"), []);
  await page.context().close();
});

test("a piece can be dragged", async () => {
  const page = await here.open();
  await newGame(page);
  const [from, to] = [
    await cell(page, "a2").locator(".target").boundingBox(),
    await cell(page, "a3").locator(".target").boundingBox(),
  ];
  assert.ok(from && to);
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 5 });
  await page.mouse.up();
  assert.deepEqual(await moves(page), ["a2-a3"]);
  await page.context().close();
});

test("a game can be played by touch", async () => {
  const page = await here.open("", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await newGame(page);
  await cell(page, "a2").locator(".target").tap({ force: true });
  await cell(page, "a3").locator(".target").tap({ force: true });
  await until(async () => (await moves(page)).join() === "a2-a3", "the move");
  await page.context().close();
});

test("a game can be played with the keyboard alone", async () => {
  const page = await here.open();
  await newGame(page);
  await page.keyboard.press("Tab");
  for (
    let tries = 0;
    tries < 60 && !(await page.evaluate(() => document.activeElement?.hasAttribute("data-cell")));
    tries++
  )
    await page.keyboard.press("Tab");
  const focus = () => page.evaluate(() => document.activeElement?.getAttribute("data-cell"));
  assert.equal(await focus(), "a1");
  await page.keyboard.press("ArrowUp");
  const from = await focus();
  assert.ok(from === "a2" || from === "b1");
  await page.keyboard.press("Enter");
  const targets = await cells(page, ".destination");
  assert.ok(targets.length > 0);
  await page.keyboard.press("ArrowUp");
  const to = (await focus()) ?? "";
  assert.ok(targets.includes(to), to);
  await page.keyboard.press("Enter");
  assert.deepEqual(await moves(page), [`${from}-${to}`]);
  const said = page.locator("#announcer");
  await until(async () => (await said.innerText()).includes(`${from} to ${to}`), "the announcement of the move");
  await page.context().close();
});

test("a saved record is one of the program, and is loaded as it was", async () => {
  const page = await here.open();
  await newGame(page);
  for (const move of ["a2-a3", "e4-d4"]) {
    const [from, to] = move.split("-");
    await playMove(page, from, to);
  }
  await page.locator('[data-action="analyse"]').click();
  await page.locator('[data-name="comment"]').fill("a {quiet} move");
  await page.keyboard.press("Escape");
  await page.locator('[aria-label^="Move back"]').click();
  await page.locator('.chip[data-move="d5-c5"]').click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save"]').click()]);
  const text = readFileSync((await file.path()) ?? "", "utf8");
  assert.match(text, /1\. a2-a3 e4-d4 \{a \{quiet\\\} move\} \(1\.\.\. d5-c5\) \*/);
  const copy = join(here.folder, "game.shg");
  writeFileSync(copy, text);
  assert.match(sternhalma(["play", "--load", copy, "--no-build"], "pos\nquit\n"), / x 2$/m);
  const other = await here.open("#view=analyse");
  await other.locator('input[type="file"]').setInputFiles(copy);
  await other.locator('.moves [data-move="e4-d4"]').waitFor();
  assert.equal(await other.locator('.variation [data-move="d5-c5"]').count(), 1);
  assert.equal(await other.locator(".moves .comment").innerText(), "a {quiet} move");
  await other.context().close();
  await page.context().close();
});

test("the game is kept when the page is loaded again", async () => {
  const page = await here.open();
  await newGame(page);
  await playMove(page, "a2", "a3");
  await page.waitForTimeout(500);
  await page.reload();
  await until(async () => (await moves(page)).join() === "a2-a3", "the move");
  assert.equal((await pieces(page)).a3, "x");
  assert.deepEqual(Object.keys(await pieces(page)).length, home(5, 3, "x").length * 2);
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
