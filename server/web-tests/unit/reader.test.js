import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { TableFacts } from "../../web/js/explorer-facts.js";
import { choose, unrank } from "../../web/js/notation.js";
import { TableReader } from "../../web/js/reader.js";
import { TableFault } from "../../web/js/shards.js";
import { serve, sternhalma } from "./program.js";

/** @typedef {import("../../web/js/types.js").Side} Side */

const FOLDER = mkdtempSync(join(tmpdir(), "sternhalma-reader-"));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** The states of each table that are compared with the program. */
const STATES = 1000;

/** Boards: the size, the pieces, the covered cells, and whether the table is mirrored if that is possible. */
const TABLES = /** @type {[number, number, number | undefined, boolean][]} */ ([
  [3, 1, undefined, false],
  [3, 3, undefined, true],
  [5, 3, undefined, true],
  [5, 4, undefined, false],
  [7, 6, 34, false],
  [7, 6, 28, true],
  [6, 6, 26, true],
  [9, 3, undefined, true],
  [9, 6, 36, true],
  [9, 10, 21, true],
  [11, 15, 21, false],
  [11, 15, 21, true],
]);

const ENCODINGS = ["byte", "mod3", "ans", "zstd"];

/**
 * Builds a table in an encoding, and returns its name.
 * @param {[number, number, number | undefined, boolean]} board
 * @param {string} encoding
 */
function build([side, pieces, within, mirrored], encoding) {
  const name = `${side}-${pieces}-${within ?? "whole"}-${mirrored ? "mirrored" : "plain"}-${encoding}`;
  const file = join(FOLDER, `${name}.sht`);
  const board = ["--side", `${side}`, "--pieces", `${pieces}`, ...(within ? ["--within", `${within}`] : [])];
  const blocks = encoding === "ans" ? ["--block-states", "4096"] : [];
  const form = mirrored && pieces > 1 ? "--mirror" : "--no-mirror";
  sternhalma(["build", ...board, "--encoding", encoding, ...blocks, form, "-o", file, "--quiet"]);
  return file;
}

/**
 * Writes an explorer, and returns its facts and the descriptions of its tables.
 * @param {string} name the folder
 * @param {string[]} files
 */
function explorer(name, files) {
  const folder = join(FOLDER, name);
  sternhalma(["explorer", folder, ...files, "--quiet"]);
  const { tables } = JSON.parse(readFileSync(join(folder, "explorer.json"), "utf8"));
  /** @type {string[]} */
  const read = [];
  const facts = new TableFacts(tables, async (path) => {
    read.push(path);
    return readFileSync(join(folder, path));
  });
  return { folder, tables, facts, read };
}

/**
 * Returns random ranks, the same in each run.
 * @param {bigint} end
 */
function randomRanks(end) {
  let seed = 1n;
  const next = () => (seed = (seed * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n);
  return Array.from({ length: STATES }, () => ((next() >> 1n) * end) >> 63n);
}

/**
 * Returns the answers of the program about states.
 * @param {string} file the table
 * @param {string[]} states
 * @param {Side} player
 * @returns {{distance: number | null, exact: boolean | null}[]}
 */
function query(file, states, player) {
  const args = ["query", file, "--stdin", "--player", player, "--format", "ndjson"];
  const printed = printedBy(args, states.join("\n"));
  return printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/**
 * Returns what the program prints, also if it does not know all states.
 * @param {string[]} args
 * @param {string} input
 */
function printedBy(args, input) {
  try {
    return sternhalma(args, input);
  } catch (error) {
    const { status, stdout } = /** @type {{status: number, stdout: string}} */ (error);
    if (status !== 1) throw error;
    return stdout;
  }
}

/**
 * Compares the distances of random states with those of the program.
 * @param {TableFacts} facts
 * @param {any} table
 * @param {string} file
 */
async function compare(facts, table, file) {
  const { name, side, pieces, within } = table;
  const covered = choose(within, pieces);
  // A part of the states is in the whole board, most of which a partial table does not cover.
  const ranks = [...randomRanks(covered), ...randomRanks(choose(side * side, pieces)).slice(0, STATES / 10)];
  ranks.push(0n, covered - 1n);
  for (const player of /** @type {Side[]} */ (["x", "o"])) {
    const states = ranks.map((rank) => unrank(rank, side, pieces, player).join(","));
    const answers = query(file, states, player);
    const army = facts.table(name, player);
    let known = 0;
    for (const [place, state] of states.entries()) {
      const cells = army.parse(state);
      const found = army.distance(await army.reader.distance(cells));
      assert.deepEqual(found, { distance: answers[place].distance, exact: answers[place].exact }, `${name} ${state}`);
      assert.equal(BigInt(army.rank(cells)), ranks[place], `${name} ${state}`);
      if (found.distance !== null) known++;
    }
    assert.ok(known >= STATES);
  }
}

for (const encoding of ENCODINGS) {
  test(`distances of random states are those of the program: ${encoding}`, async () => {
    const files = TABLES.map((board) => build(board, encoding));
    const { tables, facts } = explorer(encoding, files);
    for (const [place, table] of tables.entries()) {
      assert.equal(table.encoding, encoding === "zstd" ? "ans" : encoding);
      await compare(facts, table, files[place]);
    }
    const inexact = tables.filter((/** @type {any} */ table) => table.exact_to !== null);
    assert.ok(inexact.length >= 2, "some distances are upper bounds");
  });
}

test("states, heat maps and lines are those of the server", async () => {
  const boards = [TABLES[2], TABLES[4], TABLES[5]];
  const files = ["byte", "mod3", "ans"].flatMap((encoding) => boards.map((board) => build(board, encoding)));
  const { tables, facts } = explorer("facts", files);
  const [server, url] = await serve(["--tables", FOLDER]);
  after(() => server.kill("SIGINT"));
  for (const { name, side, pieces } of tables) {
    for (const player of /** @type {Side[]} */ (["x", "o"])) {
      for (const rank of randomRanks(choose(side * side, pieces)).slice(0, 15)) {
        const cells = unrank(rank, side, pieces, player);
        const state = cells.join(",");
        const ask = async (/** @type {string} */ what, more = "") =>
          (await fetch(`${url}/api/tables/${name}/${what}?state=${state}&player=${player}${more}`)).json();
        const found = await facts.state(name, state, player);
        assert.deepEqual(found, await ask("state"), `${name} ${state}`);
        const heat = await facts.heat(name, state, player, cells[0]);
        assert.deepEqual(heat, (await ask("heat", `&piece=${cells[0]}`)).cells, `${name} ${state}`);
        if (found.distance === null) {
          await assert.rejects(facts.line(name, state, player), /does not cover/);
          continue;
        }
        const { line, ...rest } = await facts.line(name, state, player);
        const { line: expected, ...others } = await ask("line");
        assert.deepEqual([rest, line.length], [others, expected.length], `${name} ${state}`);
        // The lines may differ: each move must be one of the state, and one nearer to the goal.
        let before = found;
        for (const [place, row] of line.entries()) {
          const move = before.moves.find((other) => other.move === row.move);
          assert.deepEqual(
            [move?.path, move?.distance, row.distance],
            [row.path, row.distance, line.length - place - 1],
          );
          before = await facts.state(name, row.state, player);
          assert.equal(before.state, row.state);
        }
        assert.equal(before.category, line.length > 0 || found.distance === 0 ? "goal" : "outside");
      }
    }
  }
});

test("random states have their distance, and a seed draws one of them", async () => {
  const file = build(TABLES[2], "ans");
  const { tables, facts } = explorer("random", [file]);
  const [{ name, max_distance: most }] = tables;
  for (let distance = 0; distance <= most; distance++) {
    const drawn = new Set();
    for (let seed = 0; seed < 40; seed++) {
      const { state } = await facts.random(name, distance, seed % 2 ? "x" : "o", seed * 40961);
      assert.equal((await facts.state(name, state, seed % 2 ? "x" : "o")).distance, distance);
      drawn.add(state);
    }
    assert.ok(drawn.size > 1 || distance === 0);
  }
  await assert.rejects(facts.random(name, most + 1, "x"), /no state at distance/);
});

test("a look-up reads one file once, and caches have a bound", async () => {
  const file = build(TABLES[8], "ans");
  const { tables, facts, read } = explorer("once", [file]);
  const army = facts.table(tables[0].name, "x");
  const cells = army.parse(unrank(12345n, 9, 6, "x").join(","));
  await Promise.all([army.reader.distance(cells), army.reader.distance(cells)]);
  await army.reader.distance(cells);
  assert.equal(read.filter((path) => path.endsWith("bin")).length, 2, "the models and a shard");
  const { shards } = army.reader;
  shards.most = 10_000;
  const states = Number(choose(36, 6));
  for (let rank = 0; rank < states; rank += 4099)
    await army.reader.distance(army.parse(unrank(BigInt(rank), 9, 6, "x").join(",")));
  assert.ok(shards.bytes <= 10_000 && shards.entries.size <= 5, `${shards.bytes}`);
  const lengths = readdirSync(join(FOLDER, "once"), { recursive: true }).map((path) =>
    statSync(join(FOLDER, "once", `${path}`)),
  );
  assert.ok(lengths.every((file) => file.isDirectory() || file.size <= 256 * 1024));
});

test("damaged, exchanged and missing files are refused, also as files of another table", async () => {
  for (const encoding of ["byte", "mod3", "ans"]) {
    const { folder, tables, facts } = explorer(`damaged-${encoding}`, [build(TABLES[8], encoding)]);
    const [table] = tables;
    const shard = (/** @type {number} */ number) => join(folder, table.folder, `${number}.bin`);
    const army = facts.table(table.name, "x");
    const look = (/** @type {bigint} */ rank) => army.reader.distance(army.parse(unrank(rank, 9, 6, "x").join(",")));
    const bytes = readFileSync(shard(0));
    for (const place of [0, 4, bytes.length - 1]) {
      const damaged = Buffer.from(bytes);
      damaged[place] ^= 1;
      writeFileSync(shard(0), damaged);
      await assert.rejects(look(0n), TableFault);
    }
    for (const other of [bytes.subarray(0, 3), bytes.subarray(0, -1), readFileSync(shard(1))]) {
      writeFileSync(shard(0), other);
      await assert.rejects(look(0n), /damaged/);
    }
    rmSync(shard(0));
    await assert.rejects(look(0n));
    // The fault is not kept.
    writeFileSync(shard(0), bytes);
    assert.equal(await look(0n), 0);
  }
});

test("models that were not loaded are asked for again", async () => {
  const { folder, tables, facts } = explorer("models", [build(TABLES[8], "ans")]);
  const army = facts.table(tables[0].name, "x");
  const goal = army.parse(unrank(0n, 9, 6, "x").join(","));
  const models = readFileSync(join(folder, "models.bin"));
  rmSync(join(folder, "models.bin"));
  await assert.rejects(army.reader.distance(goal), /ENOENT/);
  writeFileSync(join(folder, "models.bin"), models);
  assert.equal(await army.reader.distance(goal), 0);
});

test("tables that the reader does not know are refused", () => {
  const { tables } = explorer("known", [build(TABLES[2], "byte")]);
  const read = async () => new Uint8Array();
  for (const change of [
    { side: 12 },
    { side: 2 },
    { pieces: 16 },
    { within: 26 },
    { encoding: "zstd" },
    { side: 11, pieces: 15, within: 121 },
  ])
    assert.throws(() => new TableReader({ ...tables[0], ...change }, read), TableFault, JSON.stringify(change));
});
