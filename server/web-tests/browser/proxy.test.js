import assert from "node:assert/strict";
import { after, test } from "node:test";

import { serve } from "../unit/program.js";
import { newGame, playMove, until, world } from "./harness.js";
import { startProxy } from "./proxy.js";

/** The name by which the browser reaches the proxies. */
const NAME = "board.example";
const PREFIX = "/user/jo/proxy/8017";

const here = world({ args: ["--allow-host", NAME], names: [NAME] });

/** @type {import("node:http").Server[]} */
const proxies = [];
after(() => proxies.forEach((proxy) => proxy.closeAllConnections() ?? proxy.close()));

/**
 * Starts a proxy, and returns the address of the page behind it.
 * @param {boolean} keepHost
 * @param {string} [target]
 */
async function behind(keepHost, target = here.url) {
  const [proxy, port] = await startProxy(target, PREFIX, { keepHost });
  proxies.push(proxy);
  return `http://${NAME}:${port}${PREFIX}/`;
}

/** @param {import("./harness.js").Page} page */
const moves = (page) => page.locator(".moves [data-move]").count();

for (const keepHost of [true, false]) {
  test(`the page works under a path, ${keepHost ? "with the host of the browser" : "with another host"}`, async () => {
    const address = await behind(keepHost);
    /** @type {string[]} */
    const requests = [];
    const page = await here.visit(address, {}, (asked) => requests.push(asked));
    // The player searches, which is a stream.
    await newGame(page, { who: "x" });
    await playMove(page, "a2", "a3");
    await until(async () => (await moves(page)) === 2, "the reply");
    // The server checks the origin of requests with a body.
    await Promise.all([page.waitForEvent("download"), page.locator('[data-action="save"]').click()]);
    for (const view of ["tables", "tournaments", "rulesheets"]) {
      await page.locator(`[data-view="${view}"]`).click();
      await page.locator("main.wide").waitFor();
    }
    await page.locator("[data-legal]").first().waitFor();
    // The changes of a game arrive through the proxy.
    await page.goto(`${address}#view=friend`);
    await page.locator('[data-action="begin"]').click();
    const link = page.locator('[data-name="link"]');
    assert.match(await link.inputValue(), new RegExp(`^${address}#view=friend&game=[0-9a-f]{32}$`));
    await page.getByText("Send the link to your friend.").waitFor();
    assert.deepEqual(
      requests.filter((asked) => !asked.startsWith(address) && !asked.startsWith("blob:")),
      [],
    );
    await page.context().close();
  });
}

test("the document of the interface has addresses relative to its own", async () => {
  const { port } = new URL(await behind(true));
  const address = `http://127.0.0.1:${port}${PREFIX}/api/openapi.json`;
  const document = await (await fetch(address)).json();
  const server = new URL(document.servers[0].url, address).href;
  assert.equal((await fetch(`${server.replace(/\/$/, "")}/api/players`)).status, 200);
});

test("a token is accepted under a path", async () => {
  const [server, url] = await serve(["--bind", "0.0.0.0", "--allow-host", NAME, "--tables", here.folder]);
  try {
    const address = await behind(true, url);
    const page = await here.visit(`${address}${new URL(url).search}`);
    await page.locator(".cell.movable").first().waitFor({ state: "attached" });
    assert.equal(page.url(), address);
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.path, PREFIX);
    await page.context().close();
  } finally {
    server.kill("SIGINT");
  }
});

test("names that are not allowed are refused", async () => {
  const [server, url] = await serve(["--tables", here.folder]);
  try {
    const { port } = new URL(await behind(true, url));
    const answer = await here.status(`http://${NAME}:${port}${PREFIX}/`);
    assert.equal(answer, 403);
  } finally {
    server.kill("SIGINT");
  }
});

test("no page reported an error", () => assert.deepEqual(here.errors, []));
