/** What the browser keeps: settings, the current game and progress; and the links to views. */

const PREFIX = "sternhalma.";

/**
 * Returns a stored value, or another one if there is none.
 * @template T
 * @param {string} name
 * @param {T} missing
 * @returns {T}
 */
export function load(name, missing) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? missing : JSON.parse(text);
  } catch {
    return missing;
  }
}

/**
 * Stores a value, or removes it if it is undefined. Browsers that store nothing are no error.
 * @param {string} name
 * @param {unknown} value
 */
export function save(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A full or disabled storage loses only the convenience.
  }
}

/**
 * Returns settings: the stored ones, completed by the given ones. Stored members of another type are ignored.
 * @template {Record<string, unknown>} T
 * @param {string} name
 * @param {T} standard
 * @returns {T}
 */
export function settings(name, standard) {
  const stored = load(name, /** @type {Record<string, unknown>} */ ({}));
  const fits = Object.entries(stored ?? {}).filter(([key, value]) => typeof value === typeof standard[key]);
  return { ...standard, ...Object.fromEntries(fits) };
}

/** @typedef {Record<string, string>} Link the parts of a permalink */

/**
 * Parses the part of an address after `#`.
 * @param {string} hash
 * @returns {Link}
 */
export function parseLink(hash) {
  const link = Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
  if (link.position) link.position = link.position.replaceAll("_", " ");
  return link;
}

/**
 * Prints the part of an address after `#`. Blanks of a position become `_`, which needs no escape.
 * @param {Link} link
 */
export function printLink(link) {
  const parts = Object.entries(link).filter(([, value]) => value !== "");
  const escaped = (/** @type {string} */ value) =>
    encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2C", ",");
  const text = (/** @type {string[]} */ [name, value]) =>
    `${name}=${escaped(name === "position" ? value.replaceAll(" ", "_") : value)}`;
  return `#${parts.map(text).join("&")}`;
}

/**
 * Offers a text as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function download(name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
