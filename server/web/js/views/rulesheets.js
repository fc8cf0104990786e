/** Other games: any rulesheet, played by the list of its legal moves or on its board. */

import { api, isAbort } from "../api.js";
import { announce, button, choice, h, panel, refill, s } from "../dom.js";
import { findGrid, isEmpty, nameOf, parseTerm, place, placesOf } from "../terms.js";
import { count } from "../text.js";

/**
 * @typedef {import("../app.js").App} App
 * @typedef {import("../storage.js").Link} Link
 * @typedef {import("../terms.js").Grid} Grid
 * @typedef {import("../types.js").Finding} Finding
 * @typedef {import("../types.js").Rulesheet} Rulesheet
 * @typedef {import("../types.js").RulesheetState} RulesheetState
 * @typedef {import("../types.js").RulesheetRole} RulesheetRole
 */

const PLAYOUTS = ["100", "1000", "10000"];
const PERSON = "person";
/** The side of a cell in a picture. */
const CELL = 40;

export class RulesheetsView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = "Other games";
    this.short = "Games";
    /** @type {import("../dom.js").Icon} */
    this.icon = "rules";
    this.wide = true;
    /** @type {Rulesheet[]} */
    this.sheets = [];
    this.name = "";
    this.text = "";
    /** What the checker has found in the rulesheet. @type {Finding[]} */
    this.findings = [];
    /** The reason why the rulesheet cannot be played. */
    this.fault = "";
    /** Who plays each role: a person or a policy. @type {Record<string, string>} */
    this.seats = {};
    this.playouts = "1000";
    /** The states of the game, from the initial one. @type {RulesheetState[]} */
    this.states = [];
    /** The moves that are chosen for the next step. @type {Record<string, string>} */
    this.chosen = {};
    /** The places of the board that were pressed. @type {string[]} */
    this.pressed = [];
    /** @type {Grid | null} */
    this.grid = null;
    /** @type {AbortController | null} */
    this.work = null;
    this.setup = h("div.form");
    this.found = h("ul.findings", { hidden: true });
    this.heading = h("div.game-title");
    this.source = h("pre.source", { tabindex: 0 });
    this.status = h("p.status-line");
    this.board = h("div.grid-board");
    this.moves = h("div.legal");
    this.fluents = h("div");
    this.left = h(
      "div",
      {},
      panel("Players", this.setup),
      panel("Rulesheet", this.found, h("details", {}, h("summary", {}, "Show the rulesheet"), this.source)),
    );
    this.right = h(
      "div",
      {},
      panel("Game", this.heading, this.status, this.board, this.moves),
      panel("State", h("details", {}, h("summary", {}, "Show the fluents"), this.fluents)),
    );
  }

  /** @param {Link} link */
  async show(link) {
    try {
      if (this.sheets.length === 0) this.sheets = await api.rulesheets();
      const wanted = link.rules || this.name || "tic-tac-toe";
      const sheet = this.sheets.find(({ name }) => name === wanted) ?? this.sheets.find(({ error }) => !error);
      if (sheet && (sheet.name !== this.name || this.states.length === 0)) await this.choose(sheet.name);
      else this.advance();
    } catch (error) {
      this.app.fail(error);
    }
  }

  hide() {
    this.stop();
  }

  /** @returns {Link} */
  link() {
    return { view: "rulesheets", ...(this.name ? { rules: this.name } : {}) };
  }

  /** @param {string} key */
  key(key) {
    if (key !== "Escape" || this.pressed.length === 0) return false;
    this.pressed = [];
    this.app.update();
    return true;
  }

  get state() {
    return this.states[this.states.length - 1];
  }

  /** @param {string} name */
  async choose(name) {
    this.stop();
    this.name = name;
    [this.states, this.seats, this.grid, this.findings] = [[], {}, null, []];
    [this.text, this.fault] = ["", ""];
    const { text, findings, error } = await api.rulesheet(name);
    if (name !== this.name) return;
    [this.text, this.findings] = [text, findings];
    if (error) return this.fail(error);
    let first;
    try {
      first = await api.rulesheetState(name, {});
    } catch (error) {
      return this.fail(error instanceof Error ? error.message : String(error));
    }
    if (name !== this.name) return;
    const person = first.roles.find(({ role, legal }) => legal.length > 1 && role !== "random") ?? first.roles[0];
    this.seats = Object.fromEntries(
      first.roles.map(({ role }) => [role, role === person?.role ? PERSON : role === "random" ? "random" : "adaptive"]),
    );
    this.begin(first);
  }

  /**
   * Shows why the rulesheet cannot be played.
   * @param {string} fault
   */
  fail(fault) {
    this.fault = fault;
    announce(fault);
    this.app.update();
  }

  /** @param {RulesheetState} first */
  begin(first) {
    this.stop();
    this.grid = findGrid(first.state.map(parseTerm));
    this.go([first]);
    announce(`New game of ${this.name}. ${this.statusText()}`);
    this.advance();
  }

  /** @param {RulesheetState[]} states */
  go(states) {
    [this.states, this.chosen, this.pressed] = [states, {}, []];
    this.grid = findGrid(this.state.state.map(parseTerm), this.grid);
    this.app.update();
  }

  stop() {
    this.work?.abort();
    this.work = null;
  }

  /** @param {RulesheetRole} role */
  waitsFor({ role, legal }) {
    return this.seats[role] === PERSON && legal.length > 1 && !(role in this.chosen);
  }

  /** Returns the roles that must move and have no legal move, which is an error of the rulesheet. */
  stuck() {
    const { terminal = true, roles = [] } = this.state ?? {};
    return terminal ? [] : roles.filter(({ legal }) => legal.length === 0).map(({ role }) => role);
  }

  /** Lets the policies choose, and plays the step when all moves are known. */
  async advance() {
    if (this.work || !this.state || this.state.terminal || this.stuck().length > 0) return;
    if (this.state.roles.some((role) => this.waitsFor(role))) return;
    const { name, state } = this;
    const work = new AbortController();
    this.work = work;
    this.app.update();
    try {
      const policies = state.roles.filter(({ role, legal }) => legal.length > 1 && this.seats[role] !== PERSON);
      const moves = { ...this.chosen };
      for (const { role } of policies) {
        const options = { state: state.state, role, policy: this.seats[role], playouts: Number(this.playouts) };
        const seed = Math.floor(Math.random() * 2 ** 32);
        moves[role] = (await api.rulesheetMove(name, { ...options, seed }, work.signal)).move;
      }
      const next = await api.rulesheetState(name, { state: state.state, moves }, work.signal);
      if (work.signal.aborted) return;
      this.work = null;
      this.go([...this.states, next]);
      announce(`${playedText(next)} ${this.statusText()}`);
      this.advance();
    } catch (error) {
      if (isAbort(error)) return;
      this.work = null;
      this.app.fail(error);
      this.app.update();
    }
  }

  /**
   * @param {string} role
   * @param {string} move
   */
  play(role, move) {
    if (this.work) return;
    this.chosen[role] = move;
    this.pressed = [];
    this.app.update();
    this.advance();
  }

  /** Goes back to the last state in which a person moves. */
  undo() {
    this.stop();
    let states = this.states.slice(0, -1);
    const moves = (/** @type {RulesheetState} */ state) =>
      state.roles.some(({ role, legal }) => this.seats[role] === PERSON && legal.length > 1);
    while (states.length > 1 && !moves(states[states.length - 1])) states = states.slice(0, -1);
    if (states.length > 0) this.go(states);
    this.advance();
  }

  /** Returns the roles whose moves a person chooses now. */
  waiting() {
    return this.state?.terminal || this.work ? [] : (this.state?.roles ?? []).filter((role) => this.waitsFor(role));
  }

  /**
   * Returns the legal moves of a role that mention all pressed places.
   * @param {RulesheetRole} role
   */
  matching({ legal }) {
    return legal.filter((move) => this.pressed.every((pressed) => this.places(move).includes(pressed)));
  }

  /** @param {string} move */
  places(move) {
    return this.grid ? placesOf(parseTerm(move), this.grid) : [];
  }

  /** @param {string} pressed a place */
  press(pressed) {
    const [role] = this.waiting();
    if (!role) return;
    this.pressed = this.pressed.includes(pressed) ? [] : [...this.pressed, pressed];
    // A place that no such move mentions begins a new choice.
    if (this.matching(role).length === 0) this.pressed = [pressed];
    const moves = this.matching(role);
    if (moves.length === 0) this.pressed = [];
    if (moves.length === 1) this.play(role.role, moves[0]);
    this.app.update();
  }

  statusText() {
    const { state } = this;
    if (!state) return this.fault;
    if (state.terminal)
      return `The game is over: ${state.roles.map(({ role, goal }) => `${role} ${goal ?? "–"}`).join(", ")}.`;
    const stuck = this.stuck();
    if (stuck.length > 0)
      return `${stuck.join(" and ")} ${stuck.length === 1 ? "has" : "have"} no legal move, although the game is not over.`;
    if (this.work) return "A policy is thinking…";
    const roles = this.waiting().map(({ role }) => role);
    return roles.length > 0 ? `${roles.join(" and ")} to move.` : "Stopped.";
  }

  update() {
    this.drawHeading();
    this.drawSetup();
    this.drawBoard();
    this.drawMoves();
    const { state } = this;
    this.status.textContent = this.statusText();
    this.status.classList.toggle("fault", this.fault !== "" || this.stuck().length > 0);
    this.found.hidden = this.findings.length === 0;
    refill(this.found, this.findings, () => this.findings.map(findingItem));
    refill(this.source, this.text, () => [this.text]);
    refill(this.fluents, state?.state, () => [fluentTable(state?.state ?? [])]);
  }

  /** Shows the name of the game, and the choice of another one. */
  drawHeading() {
    const { sheets, name } = this;
    refill(this.heading, [sheets, name], () => [
      h("h1", {}, gameTitle(name)),
      choice(
        "Choose a game",
        sheets.map((sheet) => [
          sheet.name,
          sheet.error ? `${gameTitle(sheet.name)} (not valid)` : gameTitle(sheet.name),
        ]),
        name,
        (value) => this.app.visit({ view: "rulesheets", rules: value }),
        { "data-name": "rulesheet", "data-key": "rulesheet" },
      ),
    ]);
  }

  drawSetup() {
    const { seats, playouts, states } = this;
    const policies = /** @type {[string, string][]} */ (this.app.policies.map(({ name }) => [name, name]));
    refill(this.setup, [seats, playouts, states.length, policies], () => [
      ...Object.entries(seats).map(([role, seat]) =>
        choice(role, [[PERSON, "a person"], ...policies], seat, (value) => this.seat(role, value), {
          "data-name": `seat-${role}`,
          "data-key": `seat-${role}`,
        }),
      ),
      choice(
        "Playouts per move",
        PLAYOUTS.map((number) => [number, number]),
        playouts,
        (value) => (this.playouts = value),
        { "data-name": "playouts", "data-key": "playouts" },
      ),
      h(
        "div.row-actions",
        {},
        button("New game", () => this.states[0] && this.begin(this.states[0]), {
          primary: true,
          "data-action": "new-match",
          "data-key": "new-match",
        }),
        button("Undo", () => this.undo(), {
          icon: "undo",
          disabled: states.length < 2,
          "data-action": "undo-step",
          "data-key": "undo-step",
        }),
      ),
    ]);
  }

  /**
   * @param {string} role
   * @param {string} seat
   */
  seat(role, seat) {
    this.stop();
    this.seats = { ...this.seats, [role]: seat };
    this.app.update();
    this.advance();
  }

  drawBoard() {
    const { grid, pressed } = this;
    const active = this.waiting().flatMap((role) => this.matching(role).flatMap((move) => this.places(move)));
    refill(this.board, [grid?.name, grid && [...grid.marks], pressed, active], () =>
      grid ? [drawGrid(grid, new Set(pressed), new Set(active), (pressed) => this.press(pressed))] : [],
    );
  }

  drawMoves() {
    const waiting = this.waiting();
    refill(this.moves, [waiting, this.pressed, this.states.length], () =>
      waiting.map((role) =>
        h(
          "section",
          { "aria-label": `Moves of ${role.role}` },
          h("h3", {}, `${role.role}: ${count(this.matching(role).length, "legal move")}`),
          h(
            "div.chips",
            {},
            ...this.matching(role).map((move) =>
              button(move, () => this.play(role.role, move), {
                "data-legal": move,
                "data-key": `${role.role} ${move}`,
              }),
            ),
          ),
        ),
      ),
    );
  }
}

/**
 * Returns the name of a rulesheet as a title.
 * @param {string} name
 */
function gameTitle(name) {
  const words = name.replace(/[-_]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * Returns the moves before a state as a sentence. Roles with nothing to choose are left out.
 * @param {RulesheetState} state
 */
function playedText({ played }) {
  return Object.entries(played ?? {})
    .map(([role, move]) => `${role}: ${move}.`)
    .join(" ");
}

/** @param {Finding} finding */
function findingItem({ severity, code, line, column, message }) {
  const place = line === null ? "" : `line ${line}, column ${column}: `;
  return h("li", { class: severity === "error" ? "fault" : null }, `${place}${message} (${severity}: ${code})`);
}

/** @param {string[]} fluents */
function fluentTable(fluents) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const fluent of fluents) {
    const name = nameOf(parseTerm(fluent));
    groups.set(name, [...(groups.get(name) ?? []), fluent]);
  }
  const rows = [...groups].map(([name, texts]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, texts.length), h("td", {}, texts.join(" "))),
  );
  const head = h("tr", {}, ...["Name", "Number", "Fluents"].map((text) => h("th", { scope: "col" }, text)));
  return h("table.fluents", {}, h("thead", {}, head), h("tbody", {}, ...rows));
}

/**
 * Draws a board. The first coordinate is the column and the second one the row; the first row is the lowest.
 * @param {Grid} grid
 * @param {Set<string>} pressed
 * @param {Set<string>} active the places that legal moves mention
 * @param {(place: string) => void} press
 */
function drawGrid({ name, columns, rows, marks }, pressed, active, press) {
  const [width, height] = [columns.length * CELL, rows.length * CELL];
  const kinds = [...new Set([...marks.values()].filter((mark) => !isEmpty(mark)))].sort();
  const cells = rows.flatMap((row, y) =>
    columns.map((column, x) => {
      const here = place(column, row);
      const mark = marks.get(here);
      const names = ["place", active.has(here) && "active", pressed.has(here) && "chosen"].filter(Boolean).join(" ");
      const [left, top] = [x * CELL, height - (y + 1) * CELL];
      const group = s(
        "g",
        { class: names, "data-place": here, "data-mark": mark ?? "", click: () => press(here) },
        s("rect", { x: left + 1, y: top + 1, width: CELL - 2, height: CELL - 2, rx: 4 }),
      );
      if (mark !== undefined && !isEmpty(mark)) {
        const short = mark.length > 3 ? mark.slice(0, 2) : mark;
        group.append(
          s("circle", { class: `kind-${kinds.indexOf(mark) % 4}`, cx: left + CELL / 2, cy: top + CELL / 2, r: 15 }),
          s("text", { x: left + CELL / 2, y: top + CELL / 2 + 5, "text-anchor": "middle" }, short),
        );
      }
      group.append(s("title", {}, `${column} ${row}: ${mark ?? "nothing"}`));
      return group;
    }),
  );
  const label = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ text) =>
    s("text", { class: "axis-label", x, y, "text-anchor": "middle" }, text);
  return s(
    "svg",
    {
      viewBox: `-20 0 ${width + 20} ${height + 20}`,
      role: "img",
      "aria-label": `The fluents ${name} as a board of ${columns.length} by ${rows.length}. The moves are listed below.`,
    },
    ...cells,
    ...columns.map((column, x) => label((x + 0.5) * CELL, height + 14, column)),
    ...rows.map((row, y) => label(-10, height - (y + 0.5) * CELL + 4, row)),
  );
}
