/** A server with tables, and a browser that opens its page. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";

import { chromium } from "playwright-core";
import { serve, sternhalma } from "../unit/program.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Browser} Browser */

const CHROMIUM = process.env.STERNHALMA_CHROMIUM ?? "/usr/bin/chromium";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The running server and browser of a file of tests. */
export class World {
  /** @param {{args?: string[], names?: string[]}} [options] options of the server, and names that stand for this machine */
  constructor({ args = [], names = [] } = {}) {
    this.args = args;
    this.names = names;
    this.url = "";
    this.folder = mkdtempSync(join(tmpdir(), "sternhalma-web-"));
    /** @type {import("node:child_process").ChildProcess | null} */
    this.server = null;
    /** @type {Browser | null} */
    this.browser = null;
    /** Errors of the pages that a test has not asked for. @type {string[]} */
    this.errors = [];
  }

  async start() {
    mkdirSync(join(this.folder, "logs"));
    const folders = ["--tables", this.folder, "--logs", join(this.folder, "logs")];
    [this.server, this.url] = await serve([...folders, ...this.args]);
    const rules = this.names.map((name) => `MAP ${name} 127.0.0.1`).join(",");
    const args = ["--no-sandbox", ...(rules ? [`--host-resolver-rules=${rules}`] : [])];
    this.browser = await chromium.launch({ executablePath: CHROMIUM, args });
  }

  async stop() {
    await this.browser?.close();
    this.server?.kill("SIGINT");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * Builds a table in the folder of the server.
   * @param {number} side
   * @param {number} pieces
   * @param {number} [within] the cells of a partial table
   */
  build(side, pieces, within) {
    const board = ["--side", `${side}`, "--pieces", `${pieces}`, ...(within ? ["--within", `${within}`] : [])];
    sternhalma(["build", ...board, "--tables", this.folder, "--quiet"]);
  }

  /**
   * Returns the distances of states by the program.
   * @param {string} table
   * @param {string[][]} states
   * @param {string} player
   * @returns {number[]}
   */
  distances(table, states, player) {
    const file = join(this.folder, `${table}.sht`);
    const lines = states.map((cells) => cells.join(",")).join("\n");
    const answer = sternhalma(["query", file, "--stdin", "--player", player, "--format", "ndjson"], lines);
    return answer.split("\n").map((line) => JSON.parse(line).distance);
  }

  /**
   * Returns the distance of a state by the program.
   * @param {string} table
   * @param {string[]} cells
   * @param {string} player
   */
  distance(table, cells, player) {
    return this.distances(table, [cells], player)[0];
  }

  /**
   * Opens the page in a context of its own.
   * @param {string} hash
   * @param {import("playwright-core").BrowserContextOptions & {newcomer?: boolean}} [options]
   * @returns {Promise<Page>}
   */
  open(hash = "", options = {}) {
    return this.visit(`${this.url}/${hash}`, options);
  }

  /**
   * Returns the status of the answer about an address.
   * @param {string} address
   */
  async status(address) {
    const page = await this.browser?.newPage();
    const answer = await page?.goto(address);
    await page?.close();
    return answer?.status();
  }

  /**
   * Opens an address in a context of its own. Only a newcomer is offered the rules.
   * @param {string} address
   * @param {import("playwright-core").BrowserContextOptions & {newcomer?: boolean}} [options]
   * @param {(address: string) => void} [asked] receives the address of every request
   */
  async visit(address, { newcomer = false, ...options } = {}, asked = () => {}) {
    if (!this.browser) throw new Error("the browser has not started");
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: "reduce",
      acceptDownloads: true,
      ...options,
    });
    if (!newcomer) await context.addInitScript(() => localStorage.setItem("sternhalma.welcomed", "true"));
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => {
      // The page repeats a search that a busy server refuses, and the browser reports the refusal.
      const refused = /status of 503/.test(message.text()) && message.location().url.includes("/api/analysis");
      if (message.type() === "error" && !refused) this.errors.push(message.text());
    });
    page.on("request", (request) => asked(request.url()));
    await page.goto(address);
    await page.locator(".stage:visible, main.wide").first().waitFor();
    return page;
  }
}

/**
 * Starts a world before the tests of a file, and stops it after them.
 * @param {ConstructorParameters<typeof World>[0]} [options]
 */
export function world(options) {
  const found = new World(options);
  before(() => found.start());
  after(() => found.stop());
  return found;
}

/**
 * Returns the pieces on the board, as the page describes them.
 * @param {Page} page
 * @returns {Promise<Record<string, string>>}
 */
export function pieces(page) {
  return page.locator("[data-cell]").evaluateAll((cells) =>
    Object.fromEntries(
      cells.flatMap((cell) => {
        const side = /piece of ([xo])/.exec(cell.getAttribute("aria-label") ?? "")?.[1];
        return side ? [[cell.getAttribute("data-cell"), side]] : [];
      }),
    ),
  );
}

/**
 * Returns the names of the cells with a class.
 * @param {Page} page
 * @param {string} selector
 * @returns {Promise<string[]>}
 */
export function cells(page, selector) {
  return page
    .locator(`.cell${selector}`)
    .evaluateAll((found) => found.map((cell) => cell.getAttribute("data-cell") ?? ""));
}

/**
 * @param {Page} page
 * @param {string} name
 */
export function cell(page, name) {
  return page.locator(`[data-cell="${name}"]`);
}

/**
 * Presses a cell with the pointer.
 * @param {Page} page
 * @param {string} name
 */
export async function press(page, name) {
  await cell(page, name).locator(".target").click({ force: true });
}

/**
 * Chooses a piece, as soon as the page has its moves.
 * @param {Page} page
 * @param {string} name
 */
export async function choose(page, name) {
  await until(async () => (await cells(page, ".movable")).includes(name), `the moves of ${name}`);
  await press(page, name);
  await until(async () => (await cells(page, ".selected")).includes(name), `${name} to be chosen`);
}

/**
 * Plays a move on the board, as soon as the page has the moves.
 * @param {Page} page
 * @param {string} from
 * @param {string} to
 */
export async function playMove(page, from, to) {
  await choose(page, from);
  await press(page, to);
}

/**
 * Returns the serious faults of a page for assistive technology.
 * @param {Page} page
 */
export async function faults(page) {
  // The policy of the page forbids scripts from elsewhere; the protocol of the browser may run them.
  await page.evaluate(AXE);
  const found = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
  const serious = found.violations.filter(
    (/** @type {any} */ { impact }) => impact === "serious" || impact === "critical",
  );
  return serious.map((/** @type {any} */ { id, nodes }) => [
    id,
    nodes.slice(0, 3).map((/** @type {any} */ node) => node.html),
  ]);
}

/** The folder of the screenshots, if they are kept. */
export const SHOTS = process.env.STERNHALMA_SCREENSHOTS;

/** The sizes of windows: of computers, tablets and phones. */
const WINDOWS = [
  [1440, 900],
  [1000, 800],
  [844, 390],
  [390, 844],
  [360, 740],
];

/**
 * Checks that a page fits every window, with controls that can be pressed, and that it has no serious fault for
 * assistive technology in the largest and the smallest window. Only colours depend on the scheme, so the dark one is
 * checked in the smallest window alone.
 * @param {Page} page
 * @param {string} name
 * @param {"light" | "dark"} colorScheme
 * @param {() => Promise<void>} [ready] waits until the page shows its contents
 */
export async function fitsWindows(page, name, colorScheme, ready) {
  for (const [width, height] of WINDOWS) {
    const place = `${name}, ${width} by ${height}`;
    await page.setViewportSize({ width, height });
    await ready?.();
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(over, 0, `${place}: the page is wider than the window`);
    assert.deepEqual(await narrow(page), [], place);
    const audited = width === 360 || (width === 1440 && colorScheme === "light");
    if (audited) assert.deepEqual(await faults(page), [], place);
    if (!SHOTS) continue;
    mkdirSync(SHOTS, { recursive: true });
    const path = join(SHOTS, `${name}-${width}x${height}-${colorScheme}.png`);
    await page.screenshot({ path, fullPage: width < 1000 });
  }
}

/**
 * Returns the controls that are too small to press or beyond the edge of the window.
 * @param {Page} page
 */
export function narrow(page) {
  return page.locator("button:visible, select:visible, #views a:visible").evaluateAll((found) =>
    found
      .filter((control) => {
        // A control that has been replaced since has no size.
        if (!control.isConnected) return false;
        const box = control.getBoundingClientRect();
        return box.width < 24 || box.height < 24 || box.left < 0 || box.right > innerWidth + 1;
      })
      .map((control) => control.outerHTML),
  );
}

/**
 * Waits until a function returns a true value.
 * @param {() => Promise<boolean>} test
 * @param {string} what
 */
export async function until(test, what) {
  for (let tries = 0; tries < 600; tries++) {
    if (await test()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited for: ${what}`);
}

/**
 * Starts a game of two people on a small board, and waits for the first move if a person makes it.
 * @param {Page} page
 * @param {{who?: string, size?: string, pieces?: string}} [options]
 */
export async function newGame(page, { who = "both", size = "5", pieces: count = "3" } = {}) {
  await page.locator(`input[name=who][value=${who}]`).check({ force: true });
  await page.locator('[data-name="size"]').selectOption(size);
  await page.locator('[data-name="pieces"]').selectOption(count);
  await page.locator('[data-action="new-game"]').click();
  await until(async () => (await page.locator(".cell").count()) === Number(size) ** 2, "the new board");
  if (who === "both" || who === "x") await page.locator(".cell.movable").first().waitFor({ state: "attached" });
}
