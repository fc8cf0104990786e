import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { cells, choose, fitsWindows, pieces, playMove, until, world } from "./harness.js";

const here = world();

/** The address of the page, whose folder is below others. */
let address = "";

/** @type {import("node:child_process").ChildProcess | null} */
let server = null;

before(async () => {
  here.build(5, 3);
  here.build(7, 4, 28);
  const ans = join(here.folder, "ans.sht");
  sternhalma(["convert", join(here.folder, "7x7-4-within28.sht"), "--encoding", "ans", "-o", ans, "--quiet"]);
  sternhalma(["explorer", join(here.folder, "some/where"), join(here.folder, "5x5-3.sht"), ans, "--quiet"]);
  const args = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", here.folder];
  server = spawn("python3", args, { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: /** @type {any} */ (server.stdout) })) {
    address = `${/http:\/\/[^/]+/.exec(line)?.[0]}/some/where/`;
    break;
  }
});

after(() => server?.kill());

/**
 * Opens the page, and returns it with the paths that it asks for.
 * @param {string} [hash]
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function open(hash = "", options = {}) {
  /** @type {string[]} */
  const asked = [];
  const page = await here.visit(address + hash, options, (url) => asked.push(url));
  await page.locator(".piece").first().waitFor({ state: "attached" });
  return { page, asked };
}

/** @param {import("./harness.js").Page} page */
const distance = (page) => page.locator('[data-name="distance"] strong').innerText();

/** @param {import("./harness.js").Page} page */
const hashOf = (page) => new URL(page.url()).hash;

test("distances are looked up in the files of the folder", async () => {
  const { page, asked } = await open();
  await until(async () => (await page.locator(".chip").count()) > 0, "the moves");
  assert.equal(await distance(page), `${here.distance("5x5-3", ["a1", "b1", "a2"], "x")}`);
  const chips = await page
    .locator(".chip")
    .evaluateAll((found) =>
      found.map((chip) => [chip.getAttribute("data-move"), Number(chip.querySelector(".distance")?.textContent)]),
    );
  const states = chips.map(([move]) => {
    const [from, to] = `${move}`.split("-");
    return ["a1", "b1", "a2"].map((cell) => (cell === from ? to : cell));
  });
  assert.deepEqual(
    chips.map(([, found]) => found),
    here.distances("5x5-3", states, "x"),
  );
  assert.ok(
    asked.every((url) => url.startsWith(address)),
    "all addresses are relative",
  );
  await page.context().close();
});

test("the address follows the state, and back and forward do", async () => {
  const { page } = await open("#view=distances&table=ans&player=o&state=g7,f7,g6,e7");
  await until(async () => (await page.locator(".chip").count()) > 0, "the moves");
  assert.match(hashOf(page), /table=ans&player=o&state=g7,f7,g6,e7/);
  await page.locator('[data-name="state"]').fill("a1 a2 b1 a3");
  await page.locator('[data-name="state"]').press("Enter");
  await until(async () => (await distance(page)) === "0", "the goal");
  assert.match(hashOf(page), /state=a1,a2,b1,a3/);
  await page.locator(".chip").first().click();
  await until(async () => !hashOf(page).includes("state=a1,a2,b1,a3"), "the next state");
  const moved = hashOf(page);
  await page.goBack();
  await until(async () => (await distance(page)) === "0", "the goal again");
  await page.goBack();
  await until(async () => hashOf(page).includes("g7,f7,g6,e7") && (await distance(page)) !== "0", "the first state");
  await page.goForward();
  await page.goForward();
  await until(async () => hashOf(page) === moved, "the last state");
  const copy = await open(moved);
  assert.deepEqual(await pieces(copy.page), await pieces(page));
  await copy.page.context().close();
  await page.context().close();
});

test("heat maps, lines and upper bounds are shown", async () => {
  const { page } = await open("#view=distances&table=ans");
  await page.locator('[data-name="state"]').fill("#20000");
  await page.locator('[data-name="state"]').press("Enter");
  await page.locator('[data-action="line"]').click();
  await page.locator(".line-moves").waitFor();
  const moves = await page.locator(".line-moves li").count();
  assert.equal(await distance(page), `≤ ${moves}`);
  await page.locator('[data-key="solo-overlay-heat"]').check({ force: true });
  const [own] = Object.keys(await pieces(page));
  await choose(page, own);
  await until(async () => (await cells(page, ".heat")).length > 10, "the heat map");
  await page.context().close();
});

test("puzzles are drawn and solved", async () => {
  const { page } = await open("#view=puzzles&table=5x5-3");
  await page.locator('[data-name="puzzle-distance"]').selectOption("2");
  await until(async () => (await page.locator('[data-name="puzzle"] strong').innerText()) === "2", "the puzzle");
  const link = hashOf(page);
  assert.match(link, /view=puzzles&table=5x5-3&state=/);
  await page.locator('[data-action="help"]').click();
  for (let left = 2; left > 0; left--) {
    const state = Object.keys(await pieces(page));
    const query = ["query", join(here.folder, "5x5-3.sht"), state.join(","), "--moves", "--json"];
    const [best] = JSON.parse(sternhalma(query))[0].moves;
    const [from, to] = best.move.split("-");
    await playMove(page, from, to);
    await until(async () => to in (await pieces(page)) && !(from in (await pieces(page))), "the move");
  }
  await page.locator(".over").waitFor();
  assert.equal(hashOf(page), link, "the address is that of the puzzle");
  await page.locator('[data-action="new-puzzle"]').click();
  await until(async () => hashOf(page) !== link, "another puzzle");
  await page.goBack();
  await until(async () => hashOf(page) === link && (await page.locator(".over").count()) === 0, "the first puzzle");
  await page.context().close();
});

test("a missing or damaged file, or an index of another version, is one message on the page", async () => {
  const folder = join(here.folder, "some/where");
  const index = readFileSync(join(folder, "explorer.json"), "utf8");
  const [table] = JSON.parse(index).tables;
  const shard = join(folder, table.folder, "0.bin");
  const bytes = readFileSync(shard);
  const status = async () => {
    const { page } = await open("#view=distances&table=5x5-3");
    await until(async () => (await page.locator(".status").getAttribute("data-kind")) === "error", "the fault");
    const text = await page.locator(".status").innerText();
    await page.context().close();
    return text;
  };
  renameSync(shard, `${shard}.moved`);
  assert.match(await status(), /0\.bin is missing \(404\)/);
  here.errors.splice(0);
  renameSync(`${shard}.moved`, shard);
  const damaged = Buffer.from(bytes);
  damaged[100] ^= 1;
  writeFileSync(shard, damaged);
  assert.match(await status(), /0\.bin is damaged/);
  writeFileSync(shard, bytes);

  const alert = async (/** @type {string} */ text) => {
    writeFileSync(join(folder, "explorer.json"), text);
    const context = await here.browser?.newContext();
    const page = await context?.newPage();
    await page?.goto(address);
    const found = await page?.locator('[role="alert"]').innerText();
    await context?.close();
    return found ?? "";
  };
  assert.match(await alert(index.replace('"explorer":1', '"explorer":2')), /another version/);
  assert.match(await alert("{"), /damaged/);
  assert.match(await alert('{"explorer":1,"tables":[]}'), /no tables/);
  writeFileSync(join(folder, "explorer.json"), index.replaceAll('"side":5', '"side":12'));
  assert.match(await status(), /5x5-3 is not supported/);
  writeFileSync(join(folder, "explorer.json"), index);
});

test("the page without a file server says what to do", () => {
  const html = readFileSync(join(here.folder, "some/where/index.html"), "utf8");
  assert.match(html, /python3 -m http\.server/);
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`the page fits every window and has no serious fault for assistive technology, ${colorScheme}`, async () => {
    for (const view of ["distances", "puzzles"]) {
      const { page } = await open(`#view=${view}`, { colorScheme });
      await fitsWindows(page, `explorer-${view}`, colorScheme);
      await page.context().close();
    }
  });
}

test("the folder is replaced, and other files in it are kept", () => {
  const folder = join(here.folder, "some/where");
  const old = readdirSync(join(folder, "tables"));
  writeFileSync(join(folder, "CNAME"), "example.org");
  sternhalma(["explorer", folder, join(here.folder, "5x5-3.sht"), "--force", "--quiet"]);
  assert.equal(readFileSync(join(folder, "CNAME"), "utf8"), "example.org");
  assert.ok(old.length === 2 && readdirSync(join(folder, "tables")).length === 1);
  rmSync(join(folder, "CNAME"));
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
