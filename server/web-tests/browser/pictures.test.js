/**
 * Compares views with the pictures in this folder. STERNHALMA_UPDATE_PICTURES=1 draws the pictures again.
 *
 * The pictures have a quarter of the width and height of the views, so small differences of texts have little weight.
 */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { sternhalma } from "../unit/program.js";
import { world } from "./harness.js";

const here = world();
before(() => {
  here.build(9, 3);
  const games = ["random", "greedy", "--side", "4", "--pieces", "3", "--games", "40", "--sprt", "0,10"];
  sternhalma(["tournament", ...games, "--log", join(here.folder, "logs", "games.ndjson"), "--quiet"]);
});

const FOLDER = new URL("pictures/", import.meta.url);
/** The least difference of a colour, 0 to 255, that counts. */
const VISIBLE = 40;
/** The largest part of the pixels that may differ. A piece that stands elsewhere changes more. */
const TOLERANCE = 0.001;

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const POSITION = "8o/7o1/5o3/9/2x6/9/1x7/9/x8_x_8";

/**
 * @typedef {object} View
 * @property {string} link
 * @property {string} ready what the view shows when it is complete
 * @property {{width: number, height: number}} size
 * @property {"light" | "dark"} colorScheme
 * @property {string} [checked] a control that is checked
 */

/** @type {Record<string, View>} */
const VIEWS = {
  play: { link: "", ready: ".cell.movable", size: WIDE, colorScheme: "light" },
  analyse: {
    link: `#position=${POSITION}&moves=a1-a2,i9-i8,a2-a3`,
    ready: ".chip",
    size: WIDE,
    colorScheme: "light",
  },
  distances: {
    link: "#view=distances&table=9x9-3&state=a1,b4,d6",
    ready: ".figure",
    size: WIDE,
    colorScheme: "dark",
    checked: 'input[value="heat"]',
  },
  editor: { link: `#view=editor&position=${POSITION}`, ready: ".segments", size: WIDE, colorScheme: "light" },
  tables: { link: "#view=tables", ready: ".histogram", size: WIDE, colorScheme: "dark" },
  tournaments: { link: "#view=tournaments", ready: ".sprt", size: WIDE, colorScheme: "light" },
  phone: { link: "", ready: ".cell.movable", size: PHONE, colorScheme: "light" },
};

/**
 * Opens a view with the same font on every machine.
 * @param {View} view
 */
async function open({ link, ready, size, colorScheme, checked }) {
  const page = await here.open(link, { viewport: size, colorScheme, bypassCSP: true });
  await page.addStyleTag({
    content: "* { font-family: 'Liberation Sans' !important; transition: none !important; animation: none !important }",
  });
  await page.locator(ready).first().waitFor();
  if (checked) await page.locator(checked).check({ force: true });
  await page.waitForTimeout(500);
  return page;
}

/**
 * Returns the picture of a page, as a PNG in base64.
 * @param {import("./harness.js").Page} page
 */
async function picture(page) {
  const whole = (await page.screenshot()).toString("base64");
  return page.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width / 4;
    canvas.height = image.height / 4;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png").split(",")[1];
  }, whole);
}

/**
 * Returns the part of the pixels that differ between two pictures.
 * @param {import("./harness.js").Page} page
 * @param {string} one
 * @param {string} other
 */
function difference(page, one, other) {
  return page.evaluate(
    async ({ pictures, visible }) => {
      const [a, b] = await Promise.all(
        pictures.map(async (png) => {
          const image = new Image();
          image.src = `data:image/png;base64,${png}`;
          await image.decode();
          const context = /** @type {CanvasRenderingContext2D} */ (
            Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }).getContext(
              "2d",
            )
          );
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height);
        }),
      );
      if (a.width !== b.width || a.height !== b.height) return 1;
      let pixels = 0;
      for (let at = 0; at < a.data.length; at += 4)
        pixels += Number([0, 1, 2].some((color) => Math.abs(a.data[at + color] - b.data[at + color]) > visible));
      return pixels / (a.width * a.height);
    },
    { pictures: [one, other], visible: VISIBLE },
  );
}

for (const [name, view] of Object.entries(VIEWS)) {
  test(`${name} looks as in its picture`, async () => {
    const page = await open(view);
    const actual = await picture(page);
    const file = new URL(`${name}.png`, FOLDER);
    if (process.env.STERNHALMA_UPDATE_PICTURES) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(file, actual, "base64");
    }
    const part = await difference(page, readFileSync(file).toString("base64"), actual);
    assert.ok(part <= TOLERANCE, `${(100 * part).toFixed(2)} % of the pixels differ from ${file.pathname}`);
    await page.context().close();
  });
}

test("a piece that stands elsewhere exceeds the tolerance", async () => {
  const page = await open({ ...VIEWS.editor, link: `#view=editor&position=${POSITION.replace("2x6", "3x5")}` });
  const part = await difference(
    page,
    readFileSync(new URL("editor.png", FOLDER)).toString("base64"),
    await picture(page),
  );
  assert.ok(part > TOLERANCE, `${(100 * part).toFixed(2)} % of the pixels differ`);
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
