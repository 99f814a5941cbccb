/**
 * Beats: how long the event loop of a process was held by the process's own work.
 *
 * A look is due every `beatMs`. One that comes late was held up, either by work of this process, or because the machine
 * gave it no time: it was stopped, or others ran. Only the first is the process's own, and it cannot be more than the
 * processor time that the process has used since the last look; so of the two the lesser counts. What other threads of
 * the process used counts in too, so it is a bound from above.
 *
 * A process that is killed while it is held tells nothing of that.
 */
import { openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readLines } from "./lines.ts";

const beatMs = 100;
/** Shorter ones are not written. */
const toldMs = 100;

export interface Beat {
  readonly at: number;
  /** Later than it was due. */
  readonly lateMs: number;
  /** Of this, held by work of this process. */
  readonly heldMs: number;
}

/** Begins to look, for as long as the process lives. */
export function startBeating(path: string): void {
  const file = openSync(path, "a");
  let seenAt = performance.now();
  let used = usedMs();
  setInterval(() => {
    const at = performance.now();
    const usedNow = usedMs();
    const lateMs = Math.round(at - seenAt - beatMs);
    const beat: Beat = { at: Date.now(), lateMs, heldMs: Math.round(Math.min(lateMs, usedNow - used)) };
    if (beat.heldMs >= toldMs) writeSync(file, `${JSON.stringify(beat)}\n`);
    seenAt = at;
    used = usedNow;
  }, beatMs).unref();
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The longest beats of each process, by its name. */
export const readBeats = (folder: string): ReadonlyMap<string, readonly Beat[]> =>
  new Map(
    readdirSync(folder)
      .filter((name) => name.startsWith("beats-"))
      .map((name) => [name.slice("beats-".length, -".jsonl".length), readLines<Beat>(join(folder, name))]),
  );
