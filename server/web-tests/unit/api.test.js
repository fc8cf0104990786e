import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { api } from "../../web/js/api.js";

const { fetch } = globalThis;
afterEach(() => {
  globalThis.fetch = fetch;
});

/** Replaces the server by one that is busy for a number of requests. @param {number} refusals */
const busy = (refusals) => {
  let requests = 0;
  globalThis.fetch = async () => {
    requests++;
    if (requests > refusals) return new Response('event: best\ndata: {"move":"a1-a2"}\n\n');
    return new Response('{"error":"busy","code":"busy"}', { status: 503, headers: { "Retry-After": "0.01" } });
  };
  return () => requests;
};

test("a search is requested again while the server is busy", async () => {
  const requests = busy(2);
  const best = await api.analyse({ position: "", moves: undefined }, {}, () => {}, new AbortController().signal);
  assert.deepEqual([best.move, requests()], ["a1-a2", 3]);
});

test("a search that is stopped is not requested again", async () => {
  const requests = busy(Infinity);
  const stop = new AbortController();
  const search = api.analyse({ position: "", moves: undefined }, {}, () => {}, stop.signal);
  setTimeout(() => stop.abort(), 30);
  await assert.rejects(search, { name: "AbortError" });
  const before = requests();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(requests(), before);
});

test("an error has the code of the server, and none without one", async () => {
  const failure = async (/** @type {string} */ body, /** @type {number} */ status) => {
    globalThis.fetch = async () => new Response(body, { status });
    return api.players().then(
      () => assert.fail("the request succeeds"),
      (error) => [error.status, error.message, error.code],
    );
  };
  const sealed = '{"error":"not legal","code":"sealed-goal"}';
  assert.deepEqual(await failure(sealed, 400), [400, "not legal", "sealed-goal"]);
  assert.deepEqual((await failure("<h1>Bad Gateway</h1>", 502))[2], "");
});
