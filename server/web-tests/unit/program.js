/** The command line program, as the oracle of the tests. */

import { execFileSync } from "node:child_process";

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
