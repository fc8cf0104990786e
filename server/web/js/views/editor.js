/** Editor: any position, by hand or as text. */

import { api } from "../api.js";
import { SIZES, boardCells, other } from "../geometry.js";
import { button, choice, h, notify, panel, refill } from "../dom.js";
import { army, initial, parseArmy, parsePosition, printPosition, unrank } from "../notation.js";
import { sideBadge } from "../stage.js";
import { count } from "../text.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../storage.js").Link} Link
 * @typedef {import("../types.js").Side} Side
 * @typedef {import("../types.js").TableInfo} TableInfo
 * @typedef {import("../notation.js").Placement} Placement
 * @typedef {"move" | "x" | "o" | "erase"} Tool
 */

/** @type {[Tool, string][]} */
const TOOLS = [
  ["move", "Move"],
  ["x", "Put x"],
  ["o", "Put o"],
  ["erase", "Erase"],
];

/** The random armies that are drawn until one fits beside the other army. */
const TRIES = 30;

/** @type {Side[]} */
const SIDES = ["x", "o"];

export class EditorView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = "Editor";
    /** @type {import("../dom.js").Icon} */
    this.icon = "pencil";
    /** @type {Placement} */
    this.placement = initial(9, 6);
    /** @type {Tool} */
    this.tool = "move";
    this.opened = false;
    this.tools = h("div.form");
    this.text = h("div.form");
    this.draw = h("div.form");
    this.left = h("div", {}, panel("Board", this.tools));
    this.right = h("div", {}, panel("As text", this.text, this.draw));
  }

  /** @param {Link} link */
  show(link) {
    if (link.position) this.set(parsePosition(link.position));
    else if (!this.opened) this.set(this.app.session.placement);
    this.opened = true;
  }

  hide() {}

  link() {
    return { view: "editor", position: printPosition(this.placement) };
  }

  key() {
    return false;
  }

  /** @param {Placement} placement */
  set(placement) {
    this.placement = placement;
    this.app.update();
  }

  /**
   * @param {string} cell
   * @param {Side | null} side
   */
  put(cell, side) {
    const pieces = new Map(this.placement.pieces);
    if (side === null || pieces.get(cell) === side) pieces.delete(cell);
    else pieces.set(cell, side);
    this.set({ ...this.placement, pieces });
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  moved(from, to) {
    const pieces = new Map(this.placement.pieces);
    const side = pieces.get(from);
    pieces.delete(from);
    if (side) pieces.set(to, side);
    this.set({ ...this.placement, pieces });
  }

  update() {
    const { app, placement, tool } = this;
    const { size, pieces } = placement;
    const empty = boardCells(size)
      .map(({ name }) => name)
      .filter((name) => !pieces.has(name));
    const counts = SIDES.map((side) => army(placement, side).length);
    app.stage.board.set({
      size,
      pieces,
      homes: app.stage.homes(size, Math.min(Math.max(...counts), Math.floor((size * size) / 2))),
      destinations: tool === "move" ? new Map([...pieces.keys()].map((cell) => [cell, empty])) : new Map(),
      paths: new Map(),
      lastMove: [],
      arrows: [],
      marks: new Map(),
      label: "Board to edit. Arrow keys move between cells, Enter puts, erases or moves a piece.",
      onSelect: () => {},
      onMove: (from, to) => this.moved(from, to),
      onClick: (cell) => this.clicked(cell),
    });
    app.stage.plates([]);
    app.stage.status.textContent = this.fault() ?? `${count(counts[0], "piece")} each, ${placement.player} to move.`;
    app.stage.status.dataset.kind = "";
    refill(app.stage.controls, ["editor", this.fault()], () => this.actions());
    const text = printPosition(placement);
    const table = app.tables.find((known) => known.side === size && known.pieces === counts[0]);
    refill(this.tools, [text, tool], () => this.toolForms());
    refill(this.text, text, () => this.textForms());
    refill(this.draw, table ?? null, () => this.randomForm(table));
  }

  /** @param {string} cell */
  clicked(cell) {
    if (this.tool === "x" || this.tool === "o") this.put(cell, this.tool);
    if (this.tool === "erase") this.put(cell, null);
  }

  /** Returns why the position is none of a game, or null. */
  fault() {
    const [x, o] = SIDES.map((side) => army(this.placement, side).length);
    if (x !== o) return `x has ${count(x, "piece")}, o has ${o}: a game needs as many of both.`;
    return x === 0 ? "Put pieces on the board." : x > 15 ? "A game has at most 15 pieces each." : null;
  }

  actions() {
    const disabled = this.fault() !== null;
    return [
      button("Analyse", () => this.open("analyse"), {
        primary: true,
        icon: "chart",
        disabled,
        "data-action": "analyse",
        "data-key": "analyse",
      }),
      button("Play", () => this.open("play"), { icon: "play", disabled, "data-action": "play", "data-key": "play" }),
      button("Link", () => this.app.share(), { icon: "link", "data-key": "share" }),
    ];
  }

  /** @param {"analyse" | "play"} view */
  open(view) {
    this.app.session.begin(printPosition(this.placement));
    this.app.visit({ view });
  }

  toolForms() {
    const { placement, tool } = this;
    const sizes = /** @type {[string, string][]} */ (SIZES.map((size) => [`${size}`, `${size} × ${size}`]));
    const radios = TOOLS.map(([value, text]) => {
      const input = h("input", {
        type: "radio",
        name: "tool",
        value,
        "data-key": `tool-${value}`,
        change: () => [(this.tool = value), this.app.update()],
      });
      input.checked = tool === value;
      return h("label", {}, input, value === "x" || value === "o" ? sideBadge(value) : null, h("span", {}, text));
    });
    const pieces = Math.max(1, army(placement, "x").length);
    return [
      h("fieldset.segments", {}, h("legend", {}, "Press a cell to"), ...radios),
      h(
        "div.pair",
        {},
        choice(
          "Board",
          sizes,
          `${placement.size}`,
          (size) => this.set(initial(Number(size), Math.min(pieces, 6, Math.floor(Number(size) ** 2 / 2)))),
          { "data-name": "size", "data-key": "size" },
        ),
        choice(
          "To move",
          [
            ["x", "x"],
            ["o", "o"],
          ],
          placement.player,
          (player) => this.set({ ...placement, player: player === "o" ? "o" : "x" }),
          { "data-name": "to-move", "data-key": "to-move" },
        ),
      ),
      h(
        "div.row-actions",
        {},
        button(
          "Initial position",
          () => this.set(initial(placement.size, Math.min(pieces, Math.floor(placement.size ** 2 / 2)))),
          { "data-key": "initial" },
        ),
        button("Clear", () => this.set({ ...placement, pieces: new Map() }), {
          icon: "trash",
          "data-key": "clear",
          "data-action": "clear",
        }),
        button("Exchange sides", () => this.exchange(), { icon: "flip", "data-key": "exchange" }),
      ),
    ];
  }

  /** Gives each side the place of the other, seen from its home. */
  exchange() {
    const { placement } = this;
    const { size } = placement;
    const cells = boardCells(size).map(({ name }) => name);
    const turned = (/** @type {string} */ cell) => cells[cells.length - 1 - cells.indexOf(cell)];
    const pieces = new Map([...placement.pieces].map(([cell, side]) => [turned(cell), other(side)]));
    this.set({ ...placement, pieces, player: other(placement.player) });
  }

  textForms() {
    const position = h("input", {
      type: "text",
      value: printPosition(this.placement),
      spellcheck: false,
      autocomplete: "off",
      "data-name": "position",
      "data-key": "position",
    });
    const show = () => this.set(position.value.trim() === "startpos" ? initial(9, 6) : parsePosition(position.value));
    return [
      h(
        "form.inline",
        { submit: (event) => this.submitted(event, show) },
        h("label.field", {}, h("span", {}, "Position"), position),
        h("button", { type: "submit", "data-action": "set-position" }, h("span", {}, "Show")),
      ),
      ...SIDES.map((side) => this.armyForm(side)),
    ];
  }

  /** @param {Side} side */
  armyForm(side) {
    const { placement } = this;
    const input = h("input", {
      type: "text",
      value: army(placement, side).join(","),
      spellcheck: false,
      autocomplete: "off",
      "data-name": `army-${side}`,
      "data-key": `army-${side}`,
    });
    return h(
      "form.inline",
      { submit: (event) => this.submitted(event, () => this.setArmy(side, input.value)) },
      h("label.field", {}, h("span", {}, `Army of ${side}: cells or #rank`), input),
      h("button", { type: "submit", "data-action": `set-${side}` }, h("span", {}, "Show")),
    );
  }

  /**
   * Replaces an army. Pieces of the other army in its way are removed.
   * @param {Side} side
   * @param {string} text
   */
  setArmy(side, text) {
    const { placement } = this;
    const rank = /^#(\d{1,20})$/.exec(text.trim());
    const pieces = army(placement, side).length || army(placement, other(side)).length;
    const cells = rank ? unrank(BigInt(rank[1]), placement.size, pieces, side) : parseArmy(text, placement.size);
    const kept = [...placement.pieces].filter(([cell, owner]) => owner !== side && !cells.includes(cell));
    if (kept.length < army(placement, other(side)).length) notify(`Pieces of ${other(side)} in the way were removed.`);
    this.set({
      ...placement,
      pieces: new Map([...kept, ...cells.map((cell) => /** @type {[string, Side]} */ ([cell, side]))]),
    });
  }

  /**
   * Returns the form for a random army.
   * @param {TableInfo} [table] the table of the board
   */
  randomForm(table) {
    if (!table) return [h("p.note", {}, "Random states at a distance need a table of this board.")];
    const distance = h("input", {
      type: "number",
      min: 0,
      max: table.max_distance,
      value: Math.round(table.max_distance / 2),
      "data-name": "random-distance",
      "data-key": "random-distance",
    });
    return [
      h(
        "div.form",
        {},
        h("label.field", {}, h("span", {}, "Random army at distance"), distance),
        h(
          "div.row-actions",
          {},
          ...SIDES.map((side) =>
            button(`Draw ${side}`, () => this.random(table.name, Number(distance.value), side), {
              "data-key": `draw-${side}`,
              "data-action": `draw-${side}`,
            }),
          ),
        ),
      ),
    ];
  }

  /**
   * Replaces an army by a random one at a distance, whose cells the other army leaves free.
   * @param {string} table
   * @param {number} distance
   * @param {Side} side
   */
  async random(table, distance, side) {
    const taken = army(this.placement, other(side));
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        const { state } = await api.random(table, distance, side, Math.floor(Math.random() * 2 ** 31));
        if (!parseArmy(state, this.placement.size).some((cell) => taken.includes(cell)))
          return this.setArmy(side, state);
      }
      notify(`Drew ${TRIES} states; ${other(side)} stands in the way of each.`, "error");
    } catch (error) {
      this.app.fail(error);
    }
  }

  /**
   * Does what a form asks for. Then its fields have the values of the position again.
   * @param {SubmitEvent} event
   * @param {() => void} action
   */
  submitted(event, action) {
    event.preventDefault();
    try {
      action();
      if (event.target instanceof HTMLFormElement) event.target.reset();
    } catch (error) {
      this.app.fail(error);
    }
  }
}
