/**
 * Exits: how long commands that end early take to end, from the packed package.
 *
 * Method: the package is packed and installed in a folder of its own; each command runs so many times, the commands
 * taking turns, first with nothing beside it, then beside as many spinning threads as the machine has processors. An exit
 * that hangs is a matter of the timing of V8's threads, so only many show that there is none.
 *
 * What it does not measure: the first start of a Node on this machine, and what `npx` takes on top.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import {
  codeOf,
  type EarlyExit,
  earlyCommands,
  exitEarly,
  exitMsMax,
  writeEarlyApps,
} from "../support/early-exits.ts";
import { installPacked } from "../support/packed.ts";
import { median, type Report } from "./figures.ts";

export interface ExitOptions {
  /** How often each command ends. */
  readonly exits: number;
  /** What it ends beside. */
  readonly besides: readonly Beside[];
}

/** Nothing of ours; or as many threads that spin as the machine has processors. */
export type Beside = "nothing" | "spinning";

/** Throws if one took longer than it may, or ended as it should not. */
export async function measureExits({ exits, besides }: ExitOptions): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-exits-"));
  try {
    const main = await installPacked(folder);
    await writeEarlyApps(folder);
    const rows: Report["rows"][number][] = [];
    for (const beside of besides) {
      const threads = beside === "nothing" ? 0 : availableParallelism();
      const spinning = Array.from({ length: threads }, () => new Worker("for (;;);", { eval: true }));
      const ended = await endOften(main, folder, exits);
      await Promise.all(spinning.map((worker) => worker.terminate()));
      const bad = ended.filter(isBad);
      if (bad.length > 0)
        throw new Error(`${bad.length} exits were too slow, or wrong: ${JSON.stringify(bad.slice(0, 10))}`);
      rows.push(...rowsOf(beside, ended));
    }
    return {
      title: "Commands that end early, from their start to their end",
      rows,
      notes: [`None took longer than ${exitMsMax} ms after its last word, and none had to be killed.`],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function endOften(main: string, folder: string, exits: number): Promise<EarlyExit[]> {
  const ended: EarlyExit[] = [];
  for (let round = 0; round < exits; round++)
    for (const command of earlyCommands) ended.push(await exitEarly(main, folder, command));
  return ended;
}

const isBad = ({ command, code, exitMs, isForced }: EarlyExit): boolean =>
  code !== codeOf(command) || exitMs > exitMsMax || isForced;

const rowsOf = (beside: Beside, ended: readonly EarlyExit[]) =>
  earlyCommands.map((command) => {
    const all = ended.filter((one) => one.command === command);
    const whole = all.map(({ ms }) => Math.round(ms));
    return {
      command,
      beside,
      exits: all.length,
      "median, ms": Math.round(median(whole)),
      "longest, ms": Math.max(...whole),
      "longest after its last word, ms": Math.round(Math.max(...all.map(({ exitMs }) => exitMs))),
    };
  });
