import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, url } from "../../web/js/api.js";
import { parseLink, printLink } from "../../web/js/storage.js";
import { bytesText, distanceText, signed, valueFor, valueText } from "../../web/js/text.js";

test("events are found however the text is cut", () => {
  const text = 'event: info\ndata: {"depth":1}\n\n:\n\nevent: best\r\ndata: a\r\ndata: b\r\n\r\ndata:c\n\n';
  const expected = [
    { event: "info", data: '{"depth":1}' },
    { event: "best", data: "a\nb" },
    { event: "message", data: "c" },
  ];
  for (let cut = 0; cut <= text.length; cut++) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], expected, `${cut}`);
  }
});

test("parameters without a value are left out", () => {
  assert.equal(
    url("/api/analysis", { position: "3/3/3 x 0", nodes: undefined, lines: 2 }),
    "/api/analysis?position=3%2F3%2F3+x+0&lines=2",
  );
  assert.equal(url("/healthz"), "/healthz");
});

test("links are read as they were printed", () => {
  /** @type {import("../../web/js/storage.js").Link[]} */
  const links = [
    { position: "6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0", moves: "a2-a4,i8-i6" },
    { position: "3/3/3 x 0", moves: "a1-a2", rules: "blocked-goal" },
    { view: "distances", table: "9x9-6", player: "o", state: "a1,b1" },
    { view: "distances", state: "#17 & more" },
  ];
  for (const link of links) assert.deepEqual(parseLink(printLink(link)), link);
  assert.equal(printLink({ position: "3/3/3 x 0", moves: "" }), "#position=3/3/3_x_0");
});

test("values are negated for the other side", () => {
  assert.deepEqual(valueFor({ kind: "lead", value: 2 }, "x", "o"), { kind: "lead", value: -2 });
  assert.deepEqual(valueFor({ kind: "won", value: 3 }, "o", "x"), { kind: "lost", value: 3 });
  assert.deepEqual(valueFor({ kind: "lost", value: 3 }, "x", "x"), { kind: "lost", value: 3 });
  assert.equal(valueFor(null, "x", "o"), null);
});

test("numbers are printed", () => {
  assert.deepEqual([signed(-1), signed(0), signed(2), signed(-0.04, 1)], ["−1", "0", "+2", "0.0"]);
  assert.deepEqual(
    [valueText({ kind: "lead", value: 1.25 }), valueText({ kind: "won", value: 5 }), valueText(null)],
    ["+1.3", "win in 5", "–"],
  );
  assert.deepEqual(
    [
      distanceText({ distance: 7, exact: true }),
      distanceText({ distance: 7, exact: false }),
      distanceText({ distance: null, exact: null }),
    ],
    ["7", "≤ 7", "–"],
  );
  assert.deepEqual([bytesText(500), bytesText(2048), bytesText(324540216)], ["500 bytes", "2.0 KiB", "310 MiB"]);
});
