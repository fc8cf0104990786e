/** Loading and saving of records, and the names of players in them. */

import { api } from "./api.js";
import { button, h, notify } from "./dom.js";
import { download } from "./storage.js";
import { Tree } from "./tree.js";

/** @typedef {import("./app.js").App} App */

/** @typedef {Pick<App, "session" | "fail"> & {evaluations?: App["evaluations"]}} Host */

/**
 * Saves the game as a file.
 * @param {Host} app
 */
export async function saveRecord(app) {
  const { tree } = app.session;
  if (!tree.tag("Date")) tree.setTag("Date", new Date().toISOString().slice(0, 10));
  try {
    download(`sternhalma-${tree.tag("Date")}.shg`, await api.printRecord(tree.toRecord()));
  } catch (error) {
    app.fail(error);
  }
}

/**
 * Shows another game. If the shown game has moves, a message offers to return to it.
 * @param {App} app
 * @param {Tree} tree
 * @param {string} text the message
 * @param {() => void} [back] prepares the return
 */
export function replaceGame(app, tree, text, back = () => {}) {
  const { tree: previous } = app.session;
  app.session.show(tree);
  if (previous.root.children.length === 0) return;
  const run = () => {
    back();
    app.session.show(previous);
  };
  notify(text, "info", { text: "Back to the previous game", run });
}

/**
 * Saves the game with its analysis, if there is one, as a page that opens without a server.
 * @param {Host} app
 */
async function savePage(app) {
  const { tree } = app.session;
  const rows = tree.recordOrder().flatMap((position, node) => {
    const found = app.evaluations?.found.get(position);
    if (!found) return [];
    const { line, depth, nodes, playouts, seconds, value, pv } = found;
    return [{ node, info: { line, depth, nodes, playouts, seconds, value, pv } }];
  });
  try {
    download("sternhalma.html", await api.recordPage(tree.toRecord(), rows), "text/html");
  } catch (error) {
    app.fail(error);
  }
}

/**
 * Shows the game of a record, at its end.
 * @param {App} app
 * @param {string} text
 * @returns {Promise<boolean>} whether the text is a record
 */
export async function loadRecord(app, text) {
  try {
    const tree = Tree.fromRecord(await api.parseRecord(text));
    const line = tree.shownLine();
    tree.current = line[line.length - 1];
    replaceGame(app, tree, "The record is open.");
    return true;
  } catch (error) {
    app.fail(error);
    return false;
  }
}

/**
 * Creates a button that loads a record from a file.
 * @param {App} app
 */
export function loadButton(app) {
  const input = h("input", {
    type: "file",
    accept: ".shg,.txt,text/plain",
    hidden: true,
    "aria-label": "File of a record",
    change: async () => {
      const file = input.files?.[0];
      if (file) await loadRecord(app, await file.text());
      input.value = "";
    },
  });
  return h(
    "span",
    {},
    button("Open", () => input.click(), { icon: "upload", "data-action": "open" }),
    input,
  );
}

/**
 * Creates a button that saves the game.
 * @param {Host} app
 */
export function saveButton(app) {
  return button("Save", () => saveRecord(app), { icon: "download", "data-action": "save" });
}

/**
 * Creates a button that saves the game as a page.
 * @param {Host} app
 */
export function pageButton(app) {
  return button("Save as a page", () => savePage(app), { icon: "download", "data-action": "save-page" });
}
