/** A page with tables, whose files any file server can serve. */

import { h } from "./dom.js";
import { TableFacts } from "./explorer-facts.js";
import { element, listenForKeys } from "./frame.js";
import { Shell } from "./shell.js";
import { TableFault } from "./shards.js";
import { printLink } from "./storage.js";
import { DistancesView } from "./views/distances.js";
import { PuzzlesView } from "./views/puzzles.js";

/**
 * @typedef {import("./shards.js").Description} Description
 * @typedef {import("./types.js").TablesApp} TablesApp
 */

/** The version of `explorer.json`. */
const VERSION = 1;

/**
 * Returns the bytes of a file of the folder.
 * @param {string} path
 */
async function readFile(path) {
  try {
    const response = await fetch(path);
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
    throw new TableFault(`The file ${path} is missing (${response.status}). Copy the whole folder to the server.`);
  } catch (error) {
    if (error instanceof TableFault) throw error;
    throw new TableFault(`The file ${path} was not loaded: the file server does not answer.`);
  }
}

/**
 * Returns the descriptions of the tables of the folder.
 * @returns {Promise<Description[]>}
 */
async function readTables() {
  const text = new TextDecoder().decode(await readFile("explorer.json"));
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new TableFault("The file explorer.json is damaged. Write the folder again.");
  }
  if (found.explorer !== VERSION)
    throw new TableFault("The file explorer.json is of another version than the page. Load the page again.");
  if (found.tables.length === 0)
    throw new TableFault("This folder has no tables: the command that writes it was interrupted. Run it again.");
  return found.tables;
}

/** @implements {TablesApp} */
class Explorer extends Shell {
  /** @param {Description[]} tables */
  constructor(tables) {
    super();
    this.tables = tables;
    this.facts = new TableFacts(tables, readFile);
    this.builds = /** @type {import("./types.js").TablesApp["builds"]} */ (null);
    /** Whether the address names the view or state that is being opened. */
    this.followed = false;
    this.views = { distances: new DistancesView(this), puzzles: new PuzzlesView(this) };
  }

  start() {
    this.drawFrame();
    this.stage.onFlip = () => this.update();
    addEventListener("hashchange", () => this.follow(location.hash));
    listenForKeys(this.stage, (key) => this.view.key(key));
    this.follow(location.hash);
  }

  /** @param {string} hash */
  follow(hash) {
    this.followed = true;
    super.follow(hash);
  }

  update() {
    super.update();
    queueMicrotask(() => this.showAddress());
  }

  /** Shows the state in the address, as a new entry of the history unless the address has led to the state. */
  showAddress() {
    if (!this.view || this.view.opening) return;
    const hash = printLink(this.view.link());
    if (this.followed) history.replaceState(null, "", hash);
    else if (hash !== location.hash) history.pushState(null, "", hash);
    this.followed = false;
  }

  /** @param {unknown} error */
  isExpected(error) {
    return error instanceof TableFault || super.isExpected(error);
  }
}

readTables().then(
  (tables) => new Explorer(tables).start(),
  (error) => element("main").replaceChildren(h("p.fault", { role: "alert" }, error.message)),
);
