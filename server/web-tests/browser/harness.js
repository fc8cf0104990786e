/** A server with tables, and a browser that opens its page. */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

import { chromium } from "playwright-core";
import { sternhalma } from "../unit/program.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").Browser} Browser */

const CHROMIUM = process.env.STERNHALMA_CHROMIUM ?? "/usr/bin/chromium";

/** The running server and browser of a file of tests. */
export class World {
  constructor() {
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
    const args = ["serve", "--port", "0", "--tables", this.folder, "--logs", join(this.folder, "logs")];
    const server = spawn(process.env.STERNHALMA_PROGRAM ?? "", args, { stdio: ["ignore", "pipe", "ignore"] });
    this.server = server;
    for await (const line of createInterface({
      input: /** @type {import("node:stream").Readable} */ (server.stdout),
    })) {
      const found = /http:\/\/\S+/.exec(line);
      if (found) {
        this.url = found[0].replace(/\/$/, "");
        break;
      }
    }
    if (!this.url) throw new Error("the server printed no address");
    this.browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
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
   * @param {import("playwright-core").BrowserContextOptions} [options]
   * @returns {Promise<Page>}
   */
  async open(hash = "", options = {}) {
    if (!this.browser) throw new Error("the browser has not started");
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: "reduce",
      acceptDownloads: true,
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && this.errors.push(message.text()));
    await page.goto(`${this.url}/${hash}`);
    await page.locator(".stage:visible, main.wide").first().waitFor();
    return page;
  }
}

/** Starts a world before the tests of a file, and stops it after them. */
export function world() {
  const found = new World();
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
 * Waits until a function returns a true value.
 * @param {() => Promise<boolean>} test
 * @param {string} what
 */
export async function until(test, what) {
  for (let tries = 0; tries < 300; tries++) {
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
