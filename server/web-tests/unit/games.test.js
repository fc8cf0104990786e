import assert from "node:assert/strict";
import { test } from "node:test";

import { gameLinks, isLocal } from "../../web/js/games.js";

const QUERY = "?token=secret";

/** @param {string} address */
const at = (address) => new URL(address);

test("links lead to the page by an address that others can use", () => {
  const end = "#view=friend&game=abc";
  const lan = { pages: ["http://10.0.0.7:8017/", "http://192.168.1.5:8017/"], query: QUERY };
  const both = lan.pages.map((page) => `${page}${QUERY}${end}`);
  assert.deepEqual(gameLinks("abc", lan, at("http://localhost:8017/")), both);
  // An address that is not that of the machine alone is kept: perhaps of a proxy.
  const proxied = at("https://hub.example.org/user/jo/proxy/8017/");
  assert.deepEqual(gameLinks("abc", lan, proxied), [`${proxied}${QUERY}${end}`]);
  const local = { pages: [], query: "" };
  assert.deepEqual(gameLinks("abc", local, at("http://127.0.0.1:8017/")), [`http://127.0.0.1:8017/${end}`]);
});

test("addresses of the machine itself are recognised", () => {
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"]) assert.ok(isLocal(host), host);
  for (const host of ["10.0.0.7", "localhost.example.org", "board.lan"]) assert.ok(!isLocal(host), host);
});
