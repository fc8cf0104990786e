import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const WEB = new URL("../../web/", import.meta.url).pathname;
const HTML = readFileSync(join(WEB, "index.html"), "utf8");
const SAVED = readFileSync(join(WEB, "saved.html"), "utf8");
const EXPLORER = readFileSync(join(WEB, "explorer.html"), "utf8");

/**
 * Adds a module and all that it imports.
 * @param {string} path
 * @param {Set<string>} found
 */
function collect(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  const text = readFileSync(join(WEB, path), "utf8");
  for (const [, name] of text.matchAll(/ from "(\.[^"]+)";/g)) collect(normalize(join(dirname(path), name)), found);
  return found;
}

/** The modules that the page loads on demand. */
const LATER = ["js/lesson.js", "js/rules.js", "js/views/friend.js", "js/views/tournaments.js"];

/** The modules of the page, of saved games and of the explorer. */
const MODULES = collect("js/explorer.js", collect("js/saved.js", collect("js/main.js")));
for (const path of LATER) collect(path, MODULES);

test("every file of the page is used", () => {
  const files = readdirSync(WEB, { recursive: true })
    .map(String)
    .filter((path) => /\.(js|css|svg)$/.test(path));
  const unused = files.filter((path) => !MODULES.has(path) && !HTML.includes(`"${path}"`));
  assert.deepEqual(unused, ["js/types.js"], "only the module with types is not loaded");
});

test("the documents name every module of their pages, so that the browser loads them at once", () => {
  for (const [html, entry] of [
    [HTML, "js/main.js"],
    [EXPLORER, "js/explorer.js"],
  ]) {
    const named = [...html.matchAll(/<link rel="modulepreload" href="([^"]+)" \/>/g)].map(([, path]) => path);
    assert.deepEqual([entry, ...named].sort(), [...collect(entry)].sort());
  }
});

test("the reader of tables is one module of at most 600 lines", () => {
  const lines = readFileSync(join(WEB, "js/reader.js"), "utf8").trimEnd().split("\n");
  assert.ok(lines.length <= 600, `${lines.length} lines`);
});

test("the modules that are loaded on demand are named where they are needed", () => {
  const named = [...MODULES].flatMap((path) => [
    ...readFileSync(join(WEB, path), "utf8").matchAll(/ await import\("\.{1,2}\/([\w/]+\.js)"\)/g),
  ]);
  assert.deepEqual(named.map(([, name]) => `js/${name}`).sort(), LATER);
});

test("the document has no scripts or styles of its own, which the policy forbids", () => {
  for (const html of [HTML, SAVED, EXPLORER]) assert.doesNotMatch(html, /<style|style=|onclick|<script(?![^>]* src=)/);
  for (const path of MODULES) {
    assert.doesNotMatch(
      readFileSync(join(WEB, path), "utf8"),
      /innerHTML|outerHTML\s*=|insertAdjacentHTML|eval\(|"style"/,
      path,
    );
  }
});
