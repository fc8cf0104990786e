import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { cells, faults, fitsWindows, narrow, playMove, until, world } from "./harness.js";

/** @typedef {import("./harness.js").Page} Page */

const here = world();

/** A game on a board of 3 by 3 that `x` wins. */
const GAME = ["a1-b1", "c3-b3", "b1-b2", "b3-a3", "b2-c2", "a3-a2", "c2-c3"];

/** @param {Page} page */
const status = (page) => page.locator(".status").innerText();

/** @param {Page} page */
const moves = (page) =>
  page.locator(".moves [data-move]").evaluateAll((found) => found.map((move) => move.getAttribute("data-move") ?? ""));

/**
 * @param {Page} page
 * @param {string} text
 */
const says = (page, text) => until(async () => (await status(page)).includes(text), `${text} in the status`);

/**
 * Plays a move on the board.
 * @param {Page} page
 * @param {string} move
 */
async function play(page, move) {
  const [from, to] = move.split("-");
  await playMove(page, from, to);
}

/**
 * Begins a game on a board of 3 by 3 in a browser, and returns its page and the link for the friend.
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function begin(options) {
  const page = await here.open("", options);
  await page.locator('[data-action="friend"]').click();
  await page.locator('[data-name="friend-size"]').selectOption("3");
  await page.locator('[data-name="friend-pieces"]').selectOption("1");
  await until(async () => (await page.locator(".cell").count()) === 9, "the board");
  await page.locator('[data-action="begin"]').click();
  const link = await page.locator('[data-name="link"]').inputValue();
  return { page, link };
}

/**
 * Joins a game in another browser.
 * @param {string} link
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function joined(link, options) {
  const page = await here.visit(link, options);
  await page.locator('[data-action="join"]').click();
  await says(page, "friend");
  return page;
}

test("two browsers play a game to its end, with a reload in the middle", async () => {
  const { page: one, link } = await begin();
  await says(one, "Send the link");
  const two = await here.visit(link);
  await says(two, "A friend invites you to play o.");
  await two.locator('[data-action="join"]').click();
  await says(two, "Your friend is to move.");
  await says(one, "Your move.");
  assert.equal(await one.title(), "Your move · Sternhalma");
  // The board of the second player has its home at the bottom.
  assert.equal(await two.locator(".plate.low").getAttribute("data-side"), "o");
  for (const [ply, move] of GAME.entries()) {
    const [mover, other] = ply % 2 === 0 ? [one, two] : [two, one];
    if (ply === 3) {
      await two.reload();
      await says(two, "Your move.");
      assert.deepEqual(await moves(two), GAME.slice(0, ply));
    }
    assert.deepEqual(await cells(other, ".movable"), [], "only the player to move has moves");
    await play(mover, move);
    for (const page of [one, two])
      await until(async () => (await moves(page)).length === ply + 1, `${move} on the board`);
  }
  for (const page of [one, two]) {
    await says(page, "x wins.");
    assert.deepEqual(await moves(page), GAME);
  }
  // Both agree to play again, with changed sides.
  await one.locator('[data-action="rematch"]').click();
  await says(one, "Your friend is to move.");
  await says(two, "Your friend plays again.");
  await two.locator('[data-action="rematch"]').click();
  await says(two, "Your move.");
  await play(two, GAME[0]);
  await says(one, "Your move.");
  await one.context().close();
  await two.context().close();
});

test("a third person watches, and cannot move", async () => {
  const { page: one, link } = await begin();
  const two = await joined(link);
  const three = await here.visit(link);
  await says(three, "x to move.");
  assert.equal(await three.locator('[data-action="join"]').count(), 0);
  await play(one, GAME[0]);
  await says(three, "o to move.");
  assert.deepEqual(await cells(three, ".movable"), []);
  // The player that resigns is asked once more.
  await two.locator('[data-action="resign"]').click();
  assert.equal(await two.locator('[data-action="resign"]').innerText(), "Really resign?");
  await two.locator('[data-action="resign"]').click();
  for (const page of [one, two, three]) await says(page, "o resigned: x wins.");
  for (const page of [one, two, three]) await page.context().close();
});

test("a lost connection is tried again, and a move is sent once more", async () => {
  const { page: one, link } = await begin();
  const two = await joined(link);
  await one.context().setOffline(true);
  await says(one, "The connection is lost.");
  await one.context().setOffline(false);
  await says(one, "Your move.");
  // The answer to the move is lost, although the server has played it.
  let lost = 0;
  await one.route("**/moves", async (route) => {
    if (lost++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await play(one, GAME[0]);
  await says(two, "Your move.");
  await says(one, "Your friend is to move.");
  assert.deepEqual([await moves(one), await moves(two)], [[GAME[0]], [GAME[0]]]);
  here.errors = here.errors.filter((error) => !/ERR_INTERNET_DISCONNECTED|ERR_FAILED/.test(error));
  for (const page of [one, two]) await page.context().close();
});

/** @param {Page} page */
const file = async (page) => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator('[data-action^="save"]:visible').first().click(),
  ]);
  return readFileSync(await download.path(), "utf8");
};

/**
 * Lets the server answer about games as after it was started again.
 * @param {Page} page
 */
const restart = (page) =>
  page.context().route("**/api/games/**", (route) => {
    const name = "0".repeat(32);
    return route.continue({
      url: route
        .request()
        .url()
        .replace(/games\/[0-9a-f]{32}/, `games/${name}`),
    });
  });

test("a game that the server does not have is named", async () => {
  const page = await here.open(`#view=friend&game=${"0".repeat(32)}`);
  await says(page, "The server does not have this game.");
  assert.match(await page.locator('[data-name="gone"]').innerText(), /keeps games in memory only/);
  assert.equal(await page.locator('[data-action="save"]').count(), 0, "there is nothing to save");
  await page.locator(".controls [data-action=another]").click();
  await page.locator('[data-action="begin"]').waitFor();
  here.errors = here.errors.filter((error) => !/status of 404/.test(error));
  await page.context().close();
});

test("the moves of a game can be saved after a restart of the server, and a new game begins", async () => {
  const { page: one, link } = await begin();
  const two = await joined(link);
  await play(one, GAME[0]);
  await says(two, "Your move.");
  // The page finds out by its next move, or when it is opened again.
  await restart(two);
  await play(two, GAME[1]);
  await says(two, "The server no longer has this game.");
  await restart(one);
  await one.reload();
  await says(one, "The server no longer has this game.");
  for (const page of [one, two]) {
    assert.deepEqual(await moves(page), [GAME[0]]);
    assert.deepEqual(await cells(page, ".movable"), []);
    assert.equal(await page.locator('[data-action="resign"]').count(), 0);
    assert.match(await page.locator('[data-name="gone"]').innerText(), /Save the record/);
    assert.match(await file(page), /1\. a1-b1 \*/);
    await page.setViewportSize({ width: 360, height: 640 });
    assert.deepEqual(await narrow(page), []);
    assert.deepEqual(await faults(page), []);
  }
  await one.locator(".controls [data-action=another]").click();
  await one.locator('[data-action="begin"]').waitFor();
  assert.equal(await one.locator('[data-action="last-game"]').count(), 0, "the lost game is not offered");
  here.errors = here.errors.filter((error) => !/status of 404/.test(error));
  for (const page of [one, two]) await page.context().close();
});

test("a game that is watched can be saved", async () => {
  const { page: one, link } = await begin();
  const two = await joined(link);
  await play(one, GAME[0]);
  const three = await here.visit(link);
  await says(three, "o to move.");
  assert.match(await file(three), /1\. a1-b1 \*/);
  const [download] = await Promise.all([
    three.waitForEvent("download"),
    three.locator('[data-action="save-page"]').click(),
  ]);
  assert.match(readFileSync(await download.path(), "utf8"), /<!doctype html>[^]*a1-b1/);
  // A page has the distances of all moves, which a player does not see during the game.
  assert.equal(await two.locator('[data-action="save-page"]').count(), 0);
  for (const page of [one, two, three]) await page.context().close();
});

test("a new visitor sees the button to join on a phone", async () => {
  const { page: one, link } = await begin();
  for (const [width, height] of [
    [390, 664],
    [360, 640],
    [320, 568],
    [667, 375],
  ]) {
    const two = await here.visit(link, { newcomer: true, viewport: { width, height } });
    const join = two.locator('[data-action="join"]');
    await join.waitFor();
    await until(
      // Nothing else lies over the button.
      () =>
        join.evaluate((button) => {
          const { left, right, top, bottom } = button.getBoundingClientRect();
          return [top + 1, bottom - 1].every((y) => button.contains(document.elementFromPoint((left + right) / 2, y)));
        }),
      `the button in a window of ${width} by ${height}`,
    );
    await two.context().close();
  }
  await one.context().close();
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`the view fits every window and has no serious fault for assistive technology, ${colorScheme}`, async () => {
    const form = await here.open("#view=friend", { colorScheme });
    await form.locator('[data-action="begin"]').waitFor();
    const { page: one, link } = await begin({ colorScheme });
    const two = await here.visit(link, { colorScheme });
    await says(two, "invites you");
    /** @type {Record<string, Page>} */
    const pages = { form, wait: one, invited: two };
    for (const [name, page] of Object.entries(pages)) await fitsWindows(page, `friend-${name}`, colorScheme);
    await two.locator('[data-action="join"]').click();
    await play(one, GAME[0]);
    await says(two, "Your move.");
    await fitsWindows(two, "friend-game", colorScheme);
    for (const page of Object.values(pages)) await page.context().close();
  });
}

test("no page reported an error", () => assert.deepEqual(here.errors, []));
