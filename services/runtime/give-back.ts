/**
 * Give back: what a burst of work has left to this process's engine. V8 keeps the pages that it has emptied, for ever: after
 * 10,000 starts at once a host has 31 MB of objects and 220 MB of empty pages. In its memory saver mode it returns them to the
 * system within some ten seconds, but its collector then takes a third more of the processor: so that is on while the process
 * does next to nothing.
 */
import { setFlagsFromString } from "node:v8";
import { every, type Repetition } from "../process/every.ts";

/** A share of one processor: what a host without work takes is under a hundredth. */
const idleMax = 0.05;
const lookEveryMs = 5_000;

/** The first Node whose engine was seen to have the mode; a flag that an engine lacks is complained of on stderr. */
const nodeMin = 24;

/** Looks every 5 s until the signal. Only where the process is ours alone: the engine is everybody's in it. Never rejects. */
export async function giveBack(repetition: Repetition): Promise<void> {
  if (Number.parseInt(process.versions.node, 10) < nodeMin) return;
  const { clock } = repetition;
  let isSaving = false;
  let before = { at: clock.elapsed(), used: process.cpuUsage() };
  await every(repetition, lookEveryMs, "giving memory back", () => {
    const now = { at: clock.elapsed(), used: process.cpuUsage() };
    const usedMs = (now.used.user + now.used.system - before.used.user - before.used.system) / 1_000;
    const isIdle = usedMs < (now.at - before.at) * idleMax;
    before = now;
    if (isIdle === isSaving) return;
    isSaving = isIdle;
    setFlagsFromString(isIdle ? "--memory-saver-mode" : "--no-memory-saver-mode");
  });
}
