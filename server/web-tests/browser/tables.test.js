import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { home } from "../../web/js/geometry.js";
import { cells, choose, newGame, pieces, press, until, world } from "./harness.js";

const here = world();

test("a game begins without a table, whose build can be cancelled", async () => {
  const page = await here.open();
  await newGame(page, { size: "9", pieces: "6" });
  assert.match(await page.locator('.plate[data-side="x"] .way').innerText(), /80 rows to go/);
  await page.locator('[data-action="build"]').click();
  await page.locator("progress").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator('[data-action="build"]').waitFor();
  await choose(page, "b2");
  assert.ok((await cells(page, ".destination")).length > 0);
  await page.context().close();
});

test("a table that the page has built shows distances at once", async () => {
  const page = await here.open();
  await newGame(page);
  await page.locator('[data-action="build"]').click();
  const text = page.locator('.plate[data-side="x"] .way');
  await until(async () => /moves to go/.test(await text.innerText()), "distances");
  assert.ok(readdirSync(here.folder).includes("5x5-3.sht"));
  assert.match(await text.innerText(), new RegExp(`^${here.distance("5x5-3", home(5, 3, "x"), "x")} `));
  await page.context().close();
});

test("a table is built and explored from its view", async () => {
  const page = await here.open("#view=tables");
  await page.locator('[data-name="size"]').selectOption("4");
  await page.locator('[data-name="pieces"]').selectOption("3");
  await page.locator('[data-action="build"]').click();
  const card = page.locator(".table-card", { hasText: "4x4-3" });
  await card.locator(".histogram").waitFor();
  await card.locator('[data-action="explore"]').click();
  await page.locator('.figure[data-name="distance"]').waitFor();
  assert.equal(await page.locator('[data-name="table"]').inputValue(), "4x4-3");
  await page.context().close();
});

test("a table is deleted after a question", async () => {
  here.build(4, 2);
  const page = await here.open("#view=tables");
  const card = page.locator(".table-card", { hasText: "4x4-2" });
  await card.locator('[data-action="delete-table"]').click();
  await page.getByRole("alertdialog", { name: "Delete 4x4-2" }).waitFor();
  await page.locator('[data-action="keep-table"]').click();
  assert.ok(readdirSync(here.folder).includes("4x4-2.sht"));
  await card.locator('[data-action="delete-table"]').click();
  await page.locator('[data-action="confirm-delete"]').click();
  await card.waitFor({ state: "detached" });
  assert.ok(!readdirSync(here.folder).includes("4x4-2.sht"));
  await page.context().close();
});

test("a part that is proposed has its reason", async () => {
  const page = await here.open("#view=tables");
  await page.locator('[data-name="size"]').selectOption("7");
  await page.locator('[data-name="pieces"]').selectOption("8");
  const reason = page.locator('[data-name="reason"]');
  await reason.waitFor();
  assert.equal(await page.locator('[data-name="within"]').inputValue(), "48");
  assert.match(await reason.innerText(), /whole board has 451M states and takes 430 MiB.* at most 400M states/);
  await page.locator('[data-action="whole"]').click();
  assert.equal(await page.locator('[data-name="within"]').inputValue(), "49");
  assert.equal(await reason.count(), 0);
  await page.context().close();
});

test("the same tint is the home of the same side in every view", async () => {
  const tints = async (/** @type {string} */ link) => {
    const page = await here.open(link);
    await until(async () => (await page.locator(".cell").count()) === 25, "the board");
    await until(async () => (await cells(page, ".home-o")).length > 0, "the homes");
    const found = [(await cells(page, ".home-x")).sort(), (await cells(page, ".home-o")).sort()];
    await page.context().close();
    return found;
  };
  const expected = [home(5, 3, "x").sort(), home(5, 3, "o").sort()];
  for (const link of [
    "#position=3oo/4o/5/x4/xx3_x_0",
    "#view=distances&table=5x5-3",
    "#view=distances&table=5x5-3&player=o",
  ])
    assert.deepEqual(await tints(link), expected, link);
});

test("a shortest line leads to the goal", async () => {
  const page = await here.open("#view=distances&table=5x5-3&player=o");
  const figure = page.locator('.figure[data-name="distance"] strong');
  const distance = here.distance("5x5-3", home(5, 3, "o"), "o");
  await until(async () => (await figure.innerText()) === `${distance}`, "the distance");
  await page.locator('[data-action="line"]').click();
  await page.locator(".line-moves li").first().waitFor();
  assert.equal(await page.locator(".line-moves li").count(), distance);
  await page.locator(".line-moves button").last().click();
  await until(async () => (await figure.innerText()) === "0", "the goal");
  await page.keyboard.press("Home");
  await until(async () => (await figure.innerText()) === `${distance}`, "the first state");
  await page.context().close();
});

test("a link shows the same state elsewhere", async () => {
  const page = await here.open("#view=distances&table=5x5-3&player=o&state=%23100");
  const state = page.locator('[data-name="state"]');
  await page.locator(".chip").first().click();
  const text = await state.inputValue();
  await page.locator('[data-action="share"]').click();
  const { hash } = new URL(page.url());
  assert.equal(hash, `#view=distances&table=5x5-3&player=o&state=${text}`);
  const other = await here.open(hash);
  await other.locator(".chip").first().waitFor();
  assert.equal(await other.locator('[data-name="state"]').inputValue(), text);
  assert.deepEqual(await pieces(other), await pieces(page));
  await other.context().close();
  await page.context().close();
});

test("random states have the distance that was asked for", async () => {
  const page = await here.open("#view=distances&table=5x5-3");
  await page.locator('[data-name="distance"][type="number"]').fill("3");
  await page.locator('[data-action="random"]').click();
  await until(
    async () => (await page.locator('.figure[data-name="distance"] strong').innerText()) === "3",
    "distance 3",
  );
  const state = await page.locator('[data-name="state"]').inputValue();
  assert.equal(here.distance("5x5-3", state.split(","), "x"), 3);
  await page.context().close();
});

test("a puzzle is solved by moves that come nearer", async () => {
  const page = await here.open("#view=puzzles");
  await page.locator('[data-name="puzzle-distance"]').selectOption("2");
  await until(async () => /in 2 moves/.test(await page.locator(".status").innerText()), "the puzzle");
  await page.locator('[data-action="help"]').click();
  for (let move = 0; move < 2; move++) {
    await until(async () => (await cells(page, ".movable.better")).length > 0, "better moves");
    await choose(page, (await cells(page, ".movable.better"))[0]);
    await press(page, (await cells(page, ".destination.better"))[0]);
  }
  await until(async () => /^Home/.test(await page.locator(".status").innerText()), "the end");
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
