import assert from "node:assert/strict";
import { before, test } from "node:test";

import { army, parsePosition } from "../../web/js/notation.js";
import { sternhalma } from "../unit/program.js";
import { cell, cells, choose, pieces, press, until, world } from "./harness.js";

const here = world();
before(() => here.build(5, 3));

const POSITION = "5/3x1/3ox/o1x1o/5 x 14";
/** The start of a game with six pieces. */
const SEALABLE = "4ooo/5oo/6o/7/x6/xx5/xxx4 x 0";
const LINK = `#position=${POSITION.replaceAll(" ", "_")}`;

/**
 * @param {import("./harness.js").Page} page
 * @param {string} name
 */
const label = (page, name) => cell(page, name).locator(".label").textContent();

/** @param {string | null} text */
const number = (text) => Number((text ?? "").replace("−", "-"));

test("the changes on the board are those of the program", async () => {
  for (const position of [POSITION, "3oo/4o/5/x4/xx3 x 0", "2xx1/2x2/5/oo3/o4 o 20"]) {
    const placement = parsePosition(position);
    const page = await here.open(`#position=${position.replaceAll(" ", "_")}`);
    await until(async () => (await cells(page, ".movable")).length > 0, "the moves");
    /** @type {[string, number][]} */
    const shown = [];
    for (const from of await cells(page, ".movable")) {
      await choose(page, from);
      for (const to of await cells(page, ".destination")) shown.push([`${from}-${to}`, number(await label(page, to))]);
      await press(page, from);
    }
    const own = army(placement, placement.player);
    const after = (/** @type {string} */ move) =>
      own.map((name) => (move.startsWith(`${name}-`) ? move.split("-")[1] : name));
    const states = [own, ...shown.map(([move]) => after(move))];
    const [now, ...distances] = here.distances("5x5-3", states, placement.player);
    assert.deepEqual(
      shown,
      shown.map(([move], at) => [move, distances[at] - now]),
    );
    const legal = sternhalma(["moves", position]).split("\n");
    assert.equal(shown.length, legal.length);
    const chips = await page
      .locator(".chip")
      .evaluateAll((found) => found.map((chip) => chip.getAttribute("data-move")));
    assert.deepEqual(chips.sort(), legal.sort());
    await page.context().close();
  }
});

test("the race shows the distances of both armies", async () => {
  const page = await here.open(LINK);
  const placement = parsePosition(POSITION);
  for (const side of /** @type {const} */ (["x", "o"])) {
    const text = page.locator(`.plate[data-side="${side}"] .way strong`);
    const distance = here.distance("5x5-3", army(placement, side), side);
    await until(async () => (await text.innerText()) === `${distance}`, `${distance} moves of ${side}`);
  }
  await page.context().close();
});

test("the heat map has the distances of the program", async () => {
  const page = await here.open(LINK);
  await page.locator('input[name="overlay"][value="heat"]').check({ force: true });
  await choose(page, "c2");
  await page.locator(".cell.heat").first().waitFor();
  const own = army(parsePosition(POSITION), "x");
  const hot = await cells(page, ".heat");
  assert.equal(hot.length, 25 - 5);
  const others = hot.filter((name) => name !== "c2");
  const shown = await Promise.all(others.map(async (name) => number(await label(page, name))));
  const states = others.map((name) => own.map((other) => (other === "c2" ? name : other)));
  assert.deepEqual(shown, here.distances("5x5-3", states, "x"));
  await page.context().close();
});

test("a chain of jumps moves hop by hop, unless motion is reduced", async () => {
  for (const reducedMotion of /** @type {const} */ (["no-preference", "reduce"])) {
    const page = await here.open("#position=5oo/7/7/7/3ox2/1xx4/7_x_0", { reducedMotion });
    await choose(page, "b2");
    await cell(page, "f2").hover({ force: true });
    const points = (await page.locator(".arrow.preview").getAttribute("points")) ?? "";
    assert.equal(points.split(" ").length, 4, "b2, d2, d4, f2");
    const frames = page.evaluate(
      () =>
        new Promise((resolve) => {
          const animate = Element.prototype.animate;
          Element.prototype.animate = function (keyframes, options) {
            resolve(/** @type {Keyframe[]} */ (keyframes).length);
            return animate.call(this, keyframes, options);
          };
          setTimeout(() => resolve(0), 1500);
        }),
    );
    await press(page, "f2");
    // Each hop has a frame in its middle.
    assert.equal(await frames, reducedMotion === "reduce" ? 0 : 7);
    assert.equal((await pieces(page)).f2, "x");
    await page.context().close();
  }
});

test("a link has the rules of the game", async () => {
  const start = `${SEALABLE.replaceAll(" ", "_")}&moves=a3-a4,g5-g4`;
  /** Returns whether `a1-a3`, which would seal the corner, is legal. @param {import("./harness.js").Page} page */
  const isLegal = async (page) => {
    await page.locator(".moves [data-move='g5-g4'][aria-current]").waitFor();
    await page.locator('.chip[data-move="a2-a3"]').waitFor();
    return (await page.locator('.chip[data-move="a1-a3"]').count()) === 1;
  };
  const page = await here.open(`#position=${start}`);
  assert.equal(await isLegal(page), true, "a link without rules has those of the paper");
  await page.locator('[data-action="share"]').click();
  assert.equal(new URL(page.url()).hash, `#position=${start}`);
  // The page shows the same moves under the other rules.
  await page.evaluate((hash) => (location.hash = hash), `#position=${start}&rules=blocked-goal`);
  await until(async () => !(await isLegal(page)), "the rules of the link");
  await page.locator('[data-action="share"]').click();
  const { hash } = new URL(page.url());
  assert.equal(hash, `#position=${start}&rules=blocked-goal`);
  const other = await here.open(hash);
  assert.equal(await isLegal(other), false);
  await other.context().close();
  await page.context().close();
});

test("a link shows the same game elsewhere", async () => {
  const page = await here.open(LINK);
  for (const move of ["c2-c3", "e2-e4"]) await page.locator(`.chip[data-move="${move}"]`).click();
  await page.locator(".moves [data-move='e2-e4'][aria-current]").waitFor();
  await page.locator('[data-action="share"]').click();
  const address = new URL(page.url());
  assert.equal(address.hash, `${LINK}&moves=c2-c3,e2-e4`);
  const other = await here.open(address.hash);
  await other.locator(".moves [data-move='e2-e4'][aria-current]").waitFor();
  assert.deepEqual(await pieces(other), await pieces(page));
  await other.context().close();
  await page.context().close();
});

test("variations are added, made the main line and deleted", async () => {
  const page = await here.open(LINK);
  await page.locator('.chip[data-move="c2-c3"]').click();
  await page.keyboard.press("ArrowLeft");
  await page.locator('.chip[data-move="c2-d2"]').click();
  await page.locator('.variation [data-move="c2-d2"][aria-current]').waitFor();
  await page.locator('[data-action="promote"]').click();
  await page.locator('.row [data-move="c2-d2"]').waitFor();
  await page.locator('[data-action="delete"]').click();
  await page.locator('.row [data-move="c2-c3"]').waitFor();
  assert.equal(await page.locator('.moves [data-move="c2-d2"]').count(), 0);
  await page.context().close();
});

test("the engine shows lines, whose moves can be played", async () => {
  const page = await here.open(LINK);
  await page.locator('[data-name="engine-nodes"]').selectOption("10000");
  await page.locator('[data-name="engine"]').check();
  await until(async () => (await page.locator(".lines li").count()) === 3, "three lines");
  await until(
    async () => !(await page.locator(".panel .note").allInnerTexts()).some((text) => text.startsWith("Searching")),
    "the end of the search",
  );
  const best = await page.locator(".lines li").first().locator(".pv").first().getAttribute("data-move");
  const printed = JSON.parse(
    sternhalma([
      ...["analyse", "--json", "--rules", "paper", "--lines", "3", "--nodes", "10000"],
      ...["--table", `${here.folder}/5x5-3.sht`, POSITION],
    ]),
  );
  assert.equal(best, printed.lines[0].move);
  await page.locator(".lines li").first().locator(".pv").nth(1).click();
  await until(async () => (await page.locator(".moves [data-move]").count()) === 2, "two moves");
  await page.context().close();
});

test("a searched game has a graph, and mistakes are marked", async () => {
  const page = await here.open(`${LINK}&moves=d4-d2,e2-e4`);
  await page.locator('[data-action="search-game"]').click();
  await until(
    async () => /3 of 3 positions have a value/.test((await page.locator(".graph").getAttribute("aria-label")) ?? ""),
    "three values",
  );
  assert.equal(await page.locator('.moves [data-move="d4-d2"] .mistake').count(), 1);
  await page.context().close();
});

test("a pasted record and a pasted position are shown", async () => {
  const page = await here.open("#view=analyse");
  await page.locator(".more summary").click();
  await page.locator('[data-name="paste"]').fill('[Size "5"]\n[Pieces "3"]\n\n1. a2-a3 {safe} (1. a1-a3) 1... d5-c5 *');
  await page.locator('[data-action="show-pasted"]').click();
  await page.locator('.row [data-move="d5-c5"][aria-current]').waitFor();
  await page.locator('[data-name="paste"]').fill(POSITION);
  await page.locator('[data-action="show-pasted"]').click();
  await until(async () => (await pieces(page)).c2 === "x", "the position");
  await page.locator('[data-name="paste"]').fill("1. a1-z9 *");
  await page.locator('[data-action="show-pasted"]').click();
  await page.locator('.message[data-kind="error"]').waitFor();
  here.errors = here.errors.filter((text) => !text.includes("400"));
  await page.context().close();
});

test("the editor sets up a position by hand and as text", async () => {
  const page = await here.open("#view=editor");
  const field = page.locator('[data-name="position"]');
  await field.fill("5/3x1/3o1/o1x2/5 o 4");
  await page.locator('[data-action="set-position"]').click();
  await until(async () => (await pieces(page)).d4 === "x", "the position");
  await page.locator('input[name="tool"][value="x"]').check({ force: true });
  await press(page, "e3");
  assert.equal(await field.inputValue(), "5/3x1/3ox/o1x2/5 o 4");
  await page.locator('input[name="tool"][value="erase"]').check({ force: true });
  await press(page, "e3");
  await page.locator('input[name="tool"][value="move"]').check({ force: true });
  await press(page, "d4");
  await press(page, "e5");
  assert.equal(await field.inputValue(), "4x/5/3o1/o1x2/5 o 4");
  await page.locator('[data-name="army-x"]').fill("#1");
  await page.locator('[data-action="set-x"]').click();
  const cells_of = sternhalma(["unrank", "--side", "5", "--pieces", "2", "1"]).split(/\s/)[0].split(",");
  await until(
    async () =>
      Object.entries(await pieces(page))
        .filter(([, side]) => side === "x")
        .map(([name]) => name)
        .sort()
        .join() === cells_of.sort().join(),
    "the rank",
  );
  await field.fill("not a position");
  await page.locator('[data-action="set-position"]').click();
  await page.locator('.message[data-kind="error"]').waitFor();
  await field.fill(POSITION);
  await page.locator('[data-action="set-position"]').click();
  const before = await field.inputValue();
  await page.locator('[data-name="random-distance"]').fill("3");
  await page.locator('[data-action="draw-x"]').click();
  await until(async () => (await field.inputValue()) !== before, "a random army");
  const drawn = parsePosition(await field.inputValue());
  assert.equal(here.distance("5x5-3", army(drawn, "x"), "x"), 3);
  assert.deepEqual(army(drawn, "o"), army(parsePosition(POSITION), "o"));
  await page.locator('[data-action="analyse"]').click();
  await page.locator(".chip").first().waitFor();
  // The new game has the rules of the game before it.
  await page.locator('[data-action="share"]').click();
  assert.match(page.url(), /&rules=blocked-goal-2$/);
  await page.context().close();
});

test("what was typed stays when the tables of the server arrive", async () => {
  const page = await here.open();
  /** @type {() => void} */
  let release = () => {};
  const held = new Promise((resolve) => (release = () => resolve(null)));
  let requests = 0;
  await page.route("**/api/tables", async (route) => {
    requests++;
    await held;
    await route.continue();
  });
  await page.goto(`${here.url}/#view=editor`);
  await page.reload();
  const field = page.locator('[data-name="position"]');
  await field.fill("5/3x1/3o1/o1x2/5 o 4");
  await until(async () => requests > 0, "the request for the tables");
  const answered = page.waitForResponse((response) => response.url().endsWith("/api/tables"));
  release();
  await answered;
  await page.locator('[data-action="set-position"]').click();
  await until(async () => (await pieces(page)).d4 === "x", "the position");
  // Text of the same position is written as the page writes it.
  await field.fill("5/3x1/3o1/o1x2/5 o 4 ");
  await page.locator('[data-action="set-position"]').click();
  await until(async () => (await field.inputValue()) === "5/3x1/3o1/o1x2/5 o 4", "the position as it is printed");
  await page.context().close();
});

test("the editor says that random states need a table", async () => {
  const page = await here.open("#view=editor");
  await page.locator('[data-name="size"]').selectOption("4");
  await page.locator(".note", { hasText: "Random states at a distance need a table" }).waitFor();
  await page.context().close();
});

test("what was typed stays when the form is drawn again", async () => {
  const page = await here.open("#view=distances&table=5x5-3");
  const field = page.locator('[data-name="state"]');
  await field.fill("a1,b1,c1");
  await page.locator('input[name="solo-overlay"][value="heat"]').check({ force: true });
  assert.equal(await field.inputValue(), "a1,b1,c1");
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
