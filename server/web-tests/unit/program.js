/** The command line program, as the oracle of the tests, and its server. */

import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const program = process.env.STERNHALMA_PROGRAM;
if (!program) throw new Error("STERNHALMA_PROGRAM must name the program");

/**
 * Returns what the program prints.
 * @param {string[]} args
 * @param {string} [input] the text on its standard input
 */
export function sternhalma(args, input = "") {
  return execFileSync(program ?? "", args, { encoding: "utf8", input, stdio: ["pipe", "pipe", "pipe"] }).trim();
}

/**
 * Starts a server, and returns its process and its address without the last slash.
 * @param {string[]} [args]
 * @returns {Promise<[import("node:child_process").ChildProcess, string]>}
 */
export async function serve(args = []) {
  const server = spawn(program ?? "", ["serve", "--port", "0", ...args], { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: server.stdout })) {
    const found = /http:\/\/\S+/.exec(line);
    if (found) return [server, found[0].replace(/\/$/, "")];
  }
  throw new Error("the server printed no address");
}
