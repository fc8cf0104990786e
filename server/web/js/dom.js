/** Elements of the document. Texts from outside become text nodes, never markup. */

/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */
/** @typedef {globalThis.Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Sets the attributes of an element. A function is a listener of the event with its name; null and false remove.
 * @param {Element} element
 * @param {Attributes} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else {
      const text = value === true ? "" : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
}

/**
 * Creates an element. The name may have classes: `button.primary`.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T | `${T}.${string}`} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = /** @type {HTMLElementTagNameMap[T]} */ (document.createElement(tag));
  if (classes.length > 0) element.className = classes.join(" ");
  set(element, attributes);
  append(element, children);
  return element;
}

/**
 * Creates an element of a picture.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  set(element, attributes);
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/**
 * Replaces the children of an element. The focus stays on the child with the same `data-key`, and a text that was typed
 * into such a field stays if the field proposes the same value as before.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const active = document.activeElement;
  const key = active && element.contains(active) ? active.getAttribute("data-key") : null;
  const typed = fields(element).filter(({ value, defaultValue }) => value !== defaultValue);
  element.replaceChildren();
  append(element, children);
  const now = fields(element);
  for (const { dataset, value, defaultValue } of typed) {
    const again = now.find((field) => field.dataset.key === dataset.key);
    if (again?.defaultValue === defaultValue) again.value = value;
  }
  if (key === null) return;
  const again = element.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/**
 * Returns the fields inside an element that have a text and a `data-key`.
 * @param {Element} element
 */
function fields(element) {
  return /** @type {(HTMLInputElement | HTMLTextAreaElement)[]} */ ([
    ...element.querySelectorAll("input[data-key], textarea[data-key]"),
  ]);
}

/** The keys of the contents of elements. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/**
 * Replaces the children of an element if the key differs from that of the last call. A press that began on a child
 * is lost if the child is replaced, so contents that are drawn often need this.
 * @param {Element} element
 * @param {unknown} key a value that determines the children, as JSON
 * @param {() => Child[]} draw
 * @returns {boolean} whether the children were replaced
 */
export function refill(element, key, draw) {
  const text = String(JSON.stringify(key));
  if (drawn.get(element) === text) return false;
  drawn.set(element, text);
  fill(element, ...draw());
  return true;
}

/**
 * Creates a button.
 * @param {string} text
 * @param {(event: MouseEvent) => void} click
 * @param {Attributes & {icon?: Icon, primary?: boolean}} [options]
 */
export function button(text, click, { icon: name, primary, ...attributes } = {}) {
  const element = h("button", { type: "button", click, ...attributes }, name ? icon(name) : null, h("span", {}, text));
  if (primary) element.classList.add("primary");
  return element;
}

/**
 * Creates a button that shows only a picture; the text is its name.
 * @param {string} text
 * @param {Icon} name
 * @param {(event: MouseEvent) => void} click
 * @param {Attributes} [attributes]
 */
export function iconButton(text, name, click, attributes = {}) {
  return h("button.icon", { type: "button", "aria-label": text, title: text, click, ...attributes }, icon(name));
}

/** @typedef {keyof typeof ICONS} Icon */

/** The pictures of buttons: paths on a square of 24. */
const ICONS = {
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M8 5v14M16 5v14",
  chart: "M4 19h16M6.5 15.5l4-5 3.5 3 5-7",
  flame: "M12 3.5l7 8.5-7 8.5L5 12zM12 8.5l2.9 3.5-2.9 3.5L9.1 12z",
  puzzle: "M9 6a2 2 0 114 0h5v5a2 2 0 110 4v4H6v-5a2 2 0 100-4V6z",
  pencil: "M5 19l1-4L16.5 4.5l3 3L9 18z",
  table: "M4.5 6h15v12h-15zM4.5 10h15M4.5 14h15M10 6v12",
  flip: "M8 4v15M8 4L5 7.5M8 4l3 3.5M16 20V5m0 15l-3-3.5m3 3.5l3-3.5",
  undo: "M9 7l-4 4 4 4M5 11h9a5 5 0 010 10h-2",
  first: "M7 6v12M18 6l-8 6 8 6z",
  previous: "M15 6l-8 6 8 6z",
  next: "M9 6l8 6-8 6z",
  last: "M17 6v12M6 6l8 6-8 6z",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M19.5 14.5A8 8 0 119.5 4.5a6.5 6.5 0 0010 10z",
  auto: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 4v16M12 8h6M12 12h8M12 16h6",
  bulb: "M9.5 18h5M10.5 21h3M8.5 14.5a5.5 5.5 0 117 0c-.6.6-1 1.2-1 2h-5c0-.8-.4-1.4-1-2z",
  flag: "M6 21V4m0 1h11l-2.5 4 2.5 4H6",
  plus: "M12 5v14M5 12h14",
  link: "M10 14a4 4 0 006 .5l2.5-2.500a4 4 0 00-5.7-5.700L11.5 7.600M14 10a4 4 0 00-6-.5L5.5 12a4 4 0 005.7 5.700l1.3-1.3",
  download: "M12 4v11m0 0l-4-4m4 4l4-4M5 20h14",
  upload: "M12 16V5m0 0L8 9m4-4l4 4M5 20h14",
  trash: "M5 7h14M10 7V4.500h4V7M7 7l1 13h8l1-13",
  up: "M12 19V6m0 0l-5 5m5-5l5 5",
  names: "M3.5 17.5L7.5 7h1l4 10.5M5 14h6M16.5 9.5L19 8v9.5M16.5 17.5h5",
  rules: "M6 4.500h9l3.500 3.500v11.500H6zM9 10h6M9 13h6M9 16h4",
  cup: "M8 4.5h8v6a4 4 0 01-8 0zM8 6H4.500v1.500a3.500 3.500 0 003.500 3.500M16 6h3.500v1.500a3.500 3.500 0 01-3.500 3.500M12 14.500v3M8.500 19.500h7",
  close: "M6 6l12 12M18 6L6 18",
  help: "M12 3.500a8.500 8.500 0 100 17 8.500 8.500 0 000-17zM9.500 9.500a2.500 2.500 0 113.600 2.300c-.8.4-1.100.9-1.100 1.700M12 16.600v.1",
};

/**
 * Creates the picture of a button.
 * @param {Icon} name
 */
export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

/**
 * Creates a text for screen readers only.
 * @param {string} text
 */
export function unseen(text) {
  return h("span.unseen", {}, text);
}

/**
 * Creates a labelled selection.
 * @param {string} label
 * @param {[string, string][]} options values and texts
 * @param {string} value
 * @param {(value: string) => void} change
 * @param {Attributes} [attributes]
 */
export function choice(label, options, value, change, attributes = {}) {
  const items = options.map(([key, text]) => h("option", { value: key, selected: key === value }, text));
  const input = h("select", { change: () => change(input.value), ...attributes }, ...items);
  return h("label.field", {}, h("span", {}, label), input);
}

/**
 * Creates a labelled switch.
 * @param {string} label
 * @param {boolean} on
 * @param {(on: boolean) => void} change
 * @param {Attributes} [attributes]
 */
export function toggle(label, on, change, attributes = {}) {
  const input = h("input", { type: "checkbox", role: "switch", change: () => change(input.checked), ...attributes });
  input.checked = on;
  return h("label.toggle", {}, input, h("span", {}, label));
}

/**
 * Creates a panel with a heading.
 * @param {string} title
 * @param {...Child} children
 */
export function panel(title, ...children) {
  return h("section.panel", { "aria-label": title }, h("h2", {}, title), ...children);
}

/**
 * Says a text to screen readers.
 * @param {string} text
 */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

/**
 * Shows a short message at the edge of the page for a few seconds, with a button if there is something to do about it.
 * @param {string} text
 * @param {"info" | "error"} [kind]
 * @param {{text: string, run: () => void}} [action]
 */
export function notify(text, kind = "info", action) {
  const region = document.getElementById("messages");
  if (!region) return;
  const message = h("p.message", { "data-kind": kind }, text);
  if (action) {
    const run = () => {
      message.remove();
      action.run();
    };
    message.append(" ", button(action.text, run, { "data-action": "message" }));
  }
  region.append(message);
  setTimeout(() => message.remove(), action ? 12000 : kind === "error" ? 8000 : 4000);
}
