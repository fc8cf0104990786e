/**
 * Draws the pictures of the page in docs/images. The tables directory of the user must have `9x9-6`.
 *
 *     STERNHALMA_PROGRAM=… node pictures.js
 */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

const IMAGES = new URL("../../docs/images/", import.meta.url).pathname;
const POSITION = "9/7o1/5oo2/4ooo2/9/2xx5/1x7/1x2x4/1x7_x_20";

/** @type {{name: string, link: string, colorScheme: "light" | "dark", checked: string, cell: string}[]} */
const PICTURES = [
  {
    name: "page-analyse",
    link: `#position=${POSITION}`,
    colorScheme: "light",
    checked: '[data-name="engine"]',
    cell: "b3",
  },
  {
    name: "page-distances",
    link: "#view=distances&table=9x9-6",
    colorScheme: "dark",
    checked: 'input[value="heat"]',
    cell: "c1",
  },
];

const server = spawn(process.env.STERNHALMA_PROGRAM ?? "sternhalma", ["serve", "--port", "0"], {
  stdio: ["ignore", "pipe", "ignore"],
});
const [address] = await new Promise((resolve) =>
  createInterface({ input: server.stdout }).once("line", (line) => resolve([line])),
);
const browser = await chromium.launch({
  executablePath: process.env.STERNHALMA_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const { name, link, colorScheme, checked, cell } of PICTURES) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme, reducedMotion: "reduce" });
  await page.goto(address + link);
  await page.locator(".chip").first().waitFor();
  const limit = page.locator('[data-name="engine-nodes"]');
  if (await limit.isVisible()) await limit.selectOption("100000");
  await page.locator(checked).check({ force: true });
  await page.waitForTimeout(6000);
  await page.locator(`[data-cell="${cell}"] .target`).click({ force: true });
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
}
await browser.close();
server.kill("SIGINT");
