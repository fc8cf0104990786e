import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { SHOTS, faults, narrow, newGame, playMove, world } from "./harness.js";

const here = world();

/** @param {import("./harness.js").Page} page */
const dialog = (page) => page.getByRole("dialog", { name: "How to play" });

test("a newcomer is offered the rules once", async () => {
  const page = await here.open("", { newcomer: true });
  await page.locator('[data-action="welcome-rules"]').click();
  await dialog(page).waitFor();
  assert.equal(await dialog(page).locator(".rules li").count(), 6);
  assert.equal(await dialog(page).locator('svg[role="img"][aria-label]').count(), 6);
  await page.keyboard.press("Escape");
  assert.equal(await dialog(page).count(), 0);
  assert.equal(await page.locator(".welcome").count(), 0);
  await page.reload();
  await page.locator(".cell.movable").first().waitFor();
  assert.equal(await page.locator(".welcome").count(), 0);
  await page.context().close();
});

test("the offer can be refused", async () => {
  const page = await here.open("", { newcomer: true });
  await page.locator('[data-action="welcome-close"]').click();
  assert.equal(await page.locator(".welcome").count(), 0);
  assert.equal(await dialog(page).count(), 0);
  await page.context().close();
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`the rules are reachable in every window and have no serious fault, ${colorScheme}`, async () => {
    const page = await here.open("", { colorScheme, newcomer: true });
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 844, height: 390 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(viewport);
      await page.locator("#help").click();
      await dialog(page).waitFor();
      const size = `${viewport.width}x${viewport.height}`;
      const over = await page.evaluate(() => {
        const found = /** @type {HTMLElement} */ (document.querySelector("dialog"));
        return [found.scrollWidth - found.clientWidth, found.scrollHeight - found.clientHeight];
      });
      assert.equal(over[0], 0, `${size}: the rules are wider than their dialog`);
      if (viewport.width === 1280) assert.equal(over[1], 0, `${size}: the rules need more than one screen`);
      // Only colours depend on the scheme.
      if (colorScheme === "light" || viewport.width === 390) assert.deepEqual(await faults(page), [], size);
      if (SHOTS) {
        mkdirSync(SHOTS, { recursive: true });
        await page.screenshot({ path: join(SHOTS, `howto-${size}-${colorScheme}.png`) });
      }
      await page.locator('[data-action="howto-close"]').click();
      assert.deepEqual(await narrow(page), [], size);
    }
    await page.context().close();
  });
}

test("the text about forbidden moves leads to the rule", async () => {
  const page = await here.open();
  await newGame(page, { size: "7", pieces: "6" });
  for (const [from, to] of [
    ["a3", "a4"],
    ["g5", "g4"],
  ]) {
    await playMove(page, from, to);
  }
  await page.locator(".note", { hasText: "Forbidden" }).locator('[data-action="rule-forbidden"]').click();
  await dialog(page).waitFor();
  assert.match(await dialog(page).locator("li.sought").innerText(), /^Forbidden moves/);
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("data-rule"));
  assert.equal(focused, "forbidden");
  // The keys of the game do nothing behind the dialog.
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator('.moves [data-move="g5-g4"][aria-current]').count(), 1);
  await page.context().close();
});

test("each rule set is explained", async () => {
  const page = await here.open();
  const about = page.locator("#about-rules");
  await page.locator('[data-name="rules"]').selectOption("blocked-goal-2");
  assert.match(await about.innerText(), /unless it wins/);
  await page.locator('[data-name="rules"]').selectOption("paper");
  assert.match(await about.innerText(), /may lock cells/);
  await page.context().close();
});

test("the other games have a name, a title and their choice on the first screen of a phone", async () => {
  const page = await here.open("#view=rulesheets&rules=tic-tac-toe", { viewport: { width: 390, height: 844 } });
  await page.locator("[data-legal]").first().waitFor();
  assert.equal(await page.locator('#views a[data-view="rulesheets"]').innerText(), "Games");
  assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Tic tac toe");
  const box = await page.locator('[data-name="rulesheet"]').boundingBox();
  assert.ok(box && box.y + box.height < 844 / 2, JSON.stringify(box));
  await page.setViewportSize({ width: 1440, height: 900 });
  assert.equal(await page.locator('#views a[data-view="rulesheets"]').innerText(), "Other games");
  await page.context().close();
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
