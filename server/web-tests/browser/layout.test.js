/** The page in the windows of phones and tablets. */

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { SHOTS, narrow, world } from "./harness.js";

const here = world();

const VIEWPORTS = [
  { width: 844, height: 390 },
  { width: 667, height: 375 },
  { width: 390, height: 844 },
  { width: 360, height: 640 },
  { width: 768, height: 1024 },
];

for (const viewport of VIEWPORTS) {
  const size = `${viewport.width}x${viewport.height}`;
  for (const [view, link] of [
    ["play", ""],
    ["analyse", "#view=analyse"],
    ["editor", "#view=editor"],
  ]) {
    test(`the whole board of ${view} is visible at ${size}, and nothing is outside`, async () => {
      const page = await here.open(link, { viewport, hasTouch: true });
      await page.locator("[data-cell]").first().waitFor();
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(over, 0, "the page is wider than the window");
      const hidden = await page.locator("[data-cell] .hole").evaluateAll((holes) => {
        const header = document.querySelector("header")?.getBoundingClientRect().bottom ?? 0;
        const views = /** @type {Element} */ (document.querySelector("#views"));
        const isBelow = getComputedStyle(views).position === "fixed";
        const bottom = isBelow ? views.getBoundingClientRect().top : innerHeight;
        return holes
          .map((hole) => hole.getBoundingClientRect())
          .filter((box) => box.top < header || box.bottom > bottom || box.left < 0 || box.right > innerWidth).length;
      });
      assert.equal(hidden, 0, "cells that are hidden");
      const outside = await page.locator("header *:visible, #views a:visible").evaluateAll((found) =>
        found
          .filter((element) => {
            const { left, right } = element.getBoundingClientRect();
            return getComputedStyle(element).clipPath === "none" && (left < 0 || right > innerWidth + 1);
          })
          .map((element) => element.outerHTML),
      );
      assert.deepEqual(outside, [], "parts of the header outside the window");
      assert.deepEqual(await narrow(page), []);
      if (SHOTS) {
        mkdirSync(SHOTS, { recursive: true });
        await page.screenshot({ path: join(SHOTS, `layout-${view}-${size}.png`) });
      }
      await page.context().close();
    });
  }
}

test("no page reported an error", () => assert.deepEqual(here.errors, []));
