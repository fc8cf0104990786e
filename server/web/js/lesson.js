/** Learning from mistakes: the user looks for a better move than each marked one, and the engine judges it. */

import { api, isAbort } from "./api.js";
import { announce, button, h, refill } from "./dom.js";
import { signOf } from "./evaluations.js";
import { sideOf, spokenSign } from "./review-panel.js";
import { count, resultValue, valueFor, valueText } from "./text.js";

/**
 * @typedef {import("./evaluations.js").Evaluations} Evaluations
 * @typedef {import("./session.js").Session} Session
 * @typedef {import("./tree.js").Node} Node
 * @typedef {import("./types.js").Side} Side
 * @typedef {import("./types.js").Value} Value
 * @typedef {"ask" | "wait" | "wrong" | "right" | "shown"} State
 *
 * @typedef {object} LessonHost
 * @property {Session} session
 * @property {Evaluations} evaluations
 * @property {() => void} update
 */

export class Lesson {
  /**
   * @param {LessonHost} host
   * @param {Node[]} nodes the positions after the marked moves
   * @param {{player: string, nodes: number}} search the searches that judge moves, those of the whole game
   * @param {() => void} leave
   */
  constructor(host, nodes, search, leave) {
    this.host = host;
    this.nodes = nodes;
    this.search = search;
    this.leave = leave;
    this.index = 0;
    /** The tasks that were solved without the solution. */
    this.solved = 0;
    /** @type {State} */
    this.state = "ask";
    this.text = "";
    /** The move that the user has tried. */
    this.tried = "";
    this.abort = new AbortController();
    this.element = h("div.lesson", { role: "group", "aria-label": "Learn from mistakes" });
    this.begin(0);
  }

  /** The position after the marked move. */
  get node() {
    return this.nodes[this.index];
  }

  /** The position in which a better move is sought. @returns {Node} */
  get task() {
    return this.node.parent ?? this.node;
  }

  get judged() {
    return this.host.evaluations.judge(this.node);
  }

  /** Returns whether the solution may be seen. */
  isOpen() {
    return this.state === "right" || this.state === "shown";
  }

  /** @param {number} index */
  begin(index) {
    this.abort.abort();
    this.abort = new AbortController();
    [this.index, this.state, this.tried, this.isSettled] = [index, "ask", "", false];
    const sign = this.host.evaluations.mistake(this.node)?.sign ?? "?";
    const { move } = this.node;
    this.text = `${sideOf(this.node)} played ${move.replace("-", "–")}, a${sign === "?!" ? "n" : ""} ${spokenSign(sign)}. Find a better move.`;
    announce(`Task ${index + 1} of ${this.nodes.length}. ${this.text.replace("–", " to ")}`);
    this.host.session.go(this.task);
    this.host.update();
  }

  /**
   * @param {State} state
   * @param {string} text
   */
  say(state, text) {
    [this.state, this.text] = [state, text];
    announce(text.replaceAll("–", " to "));
    this.host.update();
  }

  /**
   * Judges a move of the user.
   * @param {string} move
   */
  async try(move) {
    const { judged, task } = this;
    if (!judged || this.state === "wait" || this.host.session.node !== task) return;
    this.abort.abort();
    this.abort = new AbortController();
    this.tried = move;
    const name = move.replace("-", "–");
    if (move === judged.best) return this.solve(`${name} is the best move: ${valueText(judged.bestValue)}.`);
    if (move === this.node.move) return this.say("wrong", `${name} is the move of the game. Try another one.`);
    this.say("wait", `${name}: the engine judges this move…`);
    try {
      const value = await this.valueAfter(move, this.abort.signal);
      this.judge(name, value);
    } catch (error) {
      if (!isAbort(error)) this.say("ask", error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {string} name the move of the user
   * @param {Value | null} value
   */
  judge(name, value) {
    const { judged } = this;
    const { limits } = this.host.evaluations;
    if (!judged || !limits || !value) return this.say("wrong", `${name} has no value. Try another move.`);
    const sign = signOf(judged.bestValue, value, limits);
    const found = `${valueText(value)} with ${name}, and ${valueText(judged.value)} in the game`;
    if (sign === null) return this.solve(`${name} is good: ${found}.`);
    this.say(
      "wrong",
      `${name} is no better than ${sign === "?!" ? "an inaccuracy" : `a ${spokenSign(sign)}`}: ${found}. Try again.`,
    );
  }

  /** @param {string} text */
  solve(text) {
    if (!this.isSettled) this.solved++;
    this.isSettled = true;
    this.say("right", text);
  }

  /**
   * Returns the value of a move for its player, by its result or by a search of the position after it.
   * @param {string} move
   * @param {AbortSignal} signal
   * @returns {Promise<Value | null>}
   */
  async valueAfter(move, signal) {
    const { session } = this.host;
    const { position, moves } = this.task.game();
    const game = { position, moves: [...(moves ? [moves] : []), move].join(",") };
    const next = session.tree.after(this.task, move);
    const { result } = await session.ask(next);
    signal.throwIfAborted();
    if (result) return resultValue(result, sideOf(this.node));
    const { player, nodes } = this.search;
    const info = await api.analyse(game, { player, rules: session.rules, nodes }, () => {}, signal);
    return valueFor(info.value, "o", "x");
  }

  showSolution() {
    const { judged } = this;
    if (!judged) return;
    this.isSettled = true;
    this.abort.abort();
    this.tried = "";
    const { bestValue, best, value } = judged;
    this.say(
      "shown",
      `The best move is ${best.replace("-", "–")}: ${valueText(bestValue)}, and ${valueText(value)} in the game.`,
    );
  }

  next() {
    if (this.index + 1 < this.nodes.length) return this.begin(this.index + 1);
    const text = `${this.solved} of ${count(this.nodes.length, "task")} solved.`;
    announce(text);
    this.end();
  }

  end() {
    this.abort.abort();
    this.leave();
  }

  /** Returns the arrow on the board: the solution, or the move that was tried. */
  arrows() {
    const move = this.state === "shown" ? this.judged?.best : this.tried;
    const { session } = this.host;
    if (!move || session.node !== this.task) return [];
    const path = session.facts?.moves.find((row) => row.move === move)?.path ?? [];
    return path.length > 1 ? [{ path, tone: this.isOpen() ? "best" : "line" }] : [];
  }

  /** Shows the task, the answer and the buttons. */
  show() {
    const { index, nodes, state, text, solved } = this;
    const isLast = index + 1 === nodes.length;
    refill(this.element, [index, nodes.length, state, text, solved, this.host.session.node === this.task], () => [
      h("h3", {}, `Task ${index + 1} of ${nodes.length}`),
      h("p", { "data-name": "lesson", "data-state": state }, text),
      this.host.session.node === this.task
        ? null
        : button("Back to the task", () => this.host.session.go(this.task), { "data-key": "task" }),
      h(
        "div.row-actions",
        {},
        this.isOpen()
          ? null
          : button("Show the solution", () => this.showSolution(), {
              icon: "bulb",
              "data-action": "solution",
              "data-key": "solution",
            }),
        button(isLast ? "Finish" : "Next task", () => this.next(), {
          primary: this.isOpen(),
          "data-action": "next-task",
          "data-key": "next-task",
        }),
        button("Leave", () => this.end(), { icon: "close", "data-action": "leave-lesson", "data-key": "leave-lesson" }),
      ),
      h("p.note", {}, `${solved} solved.`),
    ]);
  }
}
