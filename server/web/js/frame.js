/** The frame of a document: its elements, its colours and the keys that work everywhere. */

import { fill, icon, set } from "./dom.js";
import { load, save } from "./storage.js";

/** @typedef {import("./stage.js").Stage} Stage */

/** @type {[string, import("./dom.js").Icon, string][]} */
const THEMES = [
  ["auto", "auto", "Colours as in the system"],
  ["light", "sun", "Light colours"],
  ["dark", "moon", "Dark colours"],
];

/**
 * Shows the colours that the browser has kept, and a button that changes them.
 * @param {HTMLElement} button
 * @param {string} [theme] other colours
 */
export function showTheme(button, theme = load("theme", "auto")) {
  const index = Math.max(
    0,
    THEMES.findIndex(([name]) => name === theme),
  );
  const [name, picture, text] = THEMES[index];
  set(document.documentElement, { "data-theme": name });
  save("theme", name);
  fill(button, icon(picture));
  set(button, { "aria-label": text, title: text });
  button.onclick = () => showTheme(button, THEMES[(index + 1) % THEMES.length][0]);
}

/**
 * Turns the board, or calls a function, when a key is pressed outside of inputs and dialogs.
 * @param {Stage} stage
 * @param {(key: string) => boolean} handle handles a key, and returns whether it did
 */
export function listenForKeys(stage, handle) {
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (target instanceof HTMLElement && target.closest("input, select, textarea")) return;
    const onStage = target instanceof Element && target.closest(".stage") !== null;
    const handled = onStage && event.key.toLowerCase() === "f" ? (stage.flip(), true) : handle(event.key);
    if (handled) event.preventDefault();
  });
}

/**
 * Returns an element of the document.
 * @param {string} id
 */
export function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the document has no element ${id}`);
  return found;
}
