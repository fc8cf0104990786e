import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const WEB = new URL("../../web/", import.meta.url).pathname;
const HTML = readFileSync(join(WEB, "index.html"), "utf8");
const SAVED = readFileSync(join(WEB, "saved.html"), "utf8");

const STATIC = / from "(\.[^"]+)";/g;
/** Imports of modules that are loaded at once, and of those that are loaded when they are needed. */
const ANY = /(?: from |await import\()"(\.[^"]+)"/g;

/**
 * Adds a module and all that it imports.
 * @param {RegExp} imports
 * @param {string} path
 * @param {Set<string>} found
 */
function collect(imports, path = "js/main.js", found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  const text = readFileSync(join(WEB, path), "utf8");
  for (const [, name] of text.matchAll(imports)) collect(imports, normalize(join(dirname(path), name)), found);
  return found;
}

test("the document names every module of the first page, so that the browser loads them at once", () => {
  const named = [...HTML.matchAll(/(?:href|src)="(js\/[^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(named.sort(), [...collect(STATIC)].sort());
});

test("every file of the page is used", () => {
  const files = readdirSync(WEB, { recursive: true })
    .map(String)
    .filter((path) => /\.(js|css|svg)$/.test(path));
  const modules = collect(ANY, "js/saved.js", collect(ANY));
  const unused = files.filter((path) => !modules.has(path) && !HTML.includes(`"${path}"`));
  assert.deepEqual(unused, ["js/types.js"], "only the module with types is not loaded");
});

test("the document has no scripts or styles of its own, which the policy forbids", () => {
  for (const html of [HTML, SAVED]) assert.doesNotMatch(html, /<style|style=|onclick|<script(?![^>]* src=)/);
  for (const path of collect(ANY, "js/saved.js", collect(ANY))) {
    assert.doesNotMatch(
      readFileSync(join(WEB, path), "utf8"),
      /innerHTML|outerHTML\s*=|insertAdjacentHTML|eval\(|"style"/,
      path,
    );
  }
});
