/** A page with one game and its analysis, which is a file and needs no server. */

import { announce, button, h, notify, panel, refill, toggle } from "./dom.js";
import { Evaluations } from "./evaluations.js";
import { element, listenForKeys, showTheme } from "./frame.js";
import { GameStage } from "./game-stage.js";
import { GameGraph } from "./graph.js";
import { showLine } from "./lines.js";
import { showGame } from "./movelist.js";
import { showMoves } from "./moves-panel.js";
import { ReviewPanel } from "./review-panel.js";
import { positionOf } from "./saved-facts.js";
import { Session } from "./session.js";
import { Stage } from "./stage.js";
import { download } from "./storage.js";
import { count, distanceSpoken, valueText } from "./text.js";
import { Tree } from "./tree.js";

/**
 * @typedef {import("./tree.js").Node} Node
 *
 * @typedef {object} Data
 * @property {import("./types.js").GameRecord} record
 * @property {string} text the record as text
 * @property {string | null} table the name of the table of the distances
 * @property {import("./types.js").Rules[]} rules all rule sets
 * @property {import("./types.js").MarkLimits} marks the losses from which moves are marked
 * @property {[string, import("./saved-facts.js").ShortPosition][]} positions
 * @property {{node: number, info: import("./types.js").Info}[]} searches by the number of the node in the order of the record
 */

class SavedGame {
  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    this.session = new Session({ kept: false });
    this.session.ruleSets = data.rules;
    this.evaluations = new Evaluations(this.session);
    this.evaluations.limits = data.marks;
    this.review = new ReviewPanel(this);
    this.stage = new Stage();
    this.game = new GameStage(this);
    this.shows = true;
    /** The move that is shown on the board and is not in the game. @type {{node: Node, path: string[]} | null} */
    this.other = null;
    /** @type {Node | null} */
    this.said = null;
    this.list = h("div.move-groups");
    this.line = h("ol.lines", { "aria-label": "Line of the search" }, h("li"));
    this.about = h("p.note");
    this.graph = new GameGraph((node) => this.session.go(node));
    this.moves = h("div.moves");
    for (const [position, short] of data.positions)
      this.session.known.set(position, positionOf(position, short, data.table));
    /** @type {Node[]} */
    const nodes = [];
    this.session.tree = Tree.fromRecord(data.record, nodes);
    for (const { node, info } of data.searches) if (nodes[node]) this.evaluations.add(nodes[node], info);
  }

  start() {
    const { session, stage } = this;
    const distances = toggle("Show distances", this.shows, (on) => this.showDistances(on), {
      "data-name": "distances",
    });
    const save = button("Save the record", () => download("game.shg", this.data.text), {
      icon: "download",
      "data-action": "save",
    });
    const left = panel("Moves and distances", this.data.table ? distances : null, this.list);
    const right = panel(
      "Game",
      this.tags(),
      this.graph.element,
      this.review.element,
      this.line,
      this.about,
      this.moves,
      h("div.row-actions", {}, save),
    );
    element("main").replaceChildren(h("div.side.left", {}, left), stage.element, h("div.side.right", {}, right));
    const title = `${this.name("x")} – ${this.name("o")}`;
    element("title").textContent = title;
    document.title = title;
    showTheme(element("theme"));
    session.on(() => this.update());
    stage.onFlip = () => this.update();
    listenForKeys(stage, (key) => (key.toLowerCase() === "n" ? this.review.next() : session.stepKey(key)));
    session.changed();
  }

  /** @param {import("./types.js").Side} side */
  name(side) {
    return this.session.tree.tag(side === "x" ? "PlayerX" : "PlayerO") || `Player ${side}`;
  }

  tags() {
    const { tags, result } = this.data.record;
    const rows = [...tags, ["Result", result]].flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
    return h("dl", {}, ...rows);
  }

  /** @param {boolean} on */
  showDistances(on) {
    this.shows = on;
    this.stage.board.select(null);
    this.update();
  }

  /**
   * Goes to a move of the shown position. Another move than those of the game is shown on the board.
   * @param {string} move
   */
  play(move) {
    const { node, facts } = this.session;
    const next = node.children.find((child) => child.move === move);
    if (next) return this.session.go(next);
    const row = facts?.moves.find((other) => other.move === move);
    this.other = row ? { node, path: row.path } : null;
    this.stage.board.select(null);
    this.update();
    const distance = row && row.distance !== null ? ` It is ${distanceSpoken(row)}.` : "";
    const text = `${move.replace("-", " to ")} is not part of the game.${distance}`;
    notify(text);
    announce(text);
  }

  /**
   * Follows a line of a search as far as the game has it.
   * @param {string[]} moves
   */
  follow(moves) {
    const { session } = this;
    let at = session.node;
    for (const move of moves) {
      const next = at.children.find((child) => child.move === move);
      if (!next) break;
      at = next;
    }
    if (at === session.node) this.play(moves[0]);
    else session.go(at);
  }

  update() {
    const { session, evaluations } = this;
    const { node, tree, facts } = session;
    if (this.other?.node !== node) this.other = null;
    this.game.show({
      movable: true,
      overlay: this.shows ? "change" : "off",
      names: { x: this.name("x"), o: this.name("o") },
      arrows: this.other ? [{ path: this.other.path, tone: "line" }] : this.bestArrow(),
      play: (move) => this.play(move),
    });
    const over = session.result(node) !== null;
    if (facts && !over) showMoves(this.list, facts.moves, ({ move }) => this.play(move));
    else refill(this.list, over, () => [h("p.note", {}, "The game is over.")]);
    showGame(this.moves, tree, { go: (to) => session.go(to), mistake: (of) => evaluations.mistake(of) });
    this.graph.show(session, evaluations);
    this.review.show();
    this.showSearch();
    this.say();
  }

  found() {
    return this.evaluations.found.get(this.session.node);
  }

  bestArrow() {
    const move = this.found()?.pv[0];
    const path = this.session.facts?.moves.find((row) => row.move === move)?.path ?? [];
    return path.length > 1 ? [{ path, tone: "best" }] : [];
  }

  /** Shows the line of the search of the position, and the search that chose the move before it. */
  showSearch() {
    const { node } = this.session;
    const found = this.found();
    this.line.hidden = !found;
    if (found) showLine(this.line.children[0], found, node.position, (moves) => this.follow(moves));
    const { value, depth, nodes } = node.search;
    const parts = [
      value ? `value ${valueText(value)} for its player` : "",
      depth ? `depth ${depth}` : "",
      nodes ? count(nodes, "state") : "",
    ].filter(Boolean);
    this.about.textContent = `${node.move.replace("-", "–")}: ${parts.join(", ")}`;
    this.about.hidden = parts.length === 0;
  }

  say() {
    const { node } = this.session;
    if (this.said === node) return;
    this.said = node;
    announce(`${this.review.spoken()}${this.game.statusText()}`);
  }

  /** @param {unknown} error */
  fail(error) {
    notify(String(error), "error");
  }
}

new SavedGame(JSON.parse(element("data").textContent ?? "")).start();
