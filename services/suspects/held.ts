/**
 * Held: what a holding of a process's loop is taken for, by how long it has lasted. Pure.
 *
 * XH1 It has lasted as long as the loop's thread ran meanwhile, or a tenth of the looks' time if that is more: a process that
 *     gets no processor, or was stopped, is starved and not stuck; one that waits within the holding runs for no time at all.
 * XH2 It is told once that a holding is suspect, once that such a one is over, and once that it is to be ended.
 */
import { limits } from "../../protocol/limits.ts";
import type { Hold } from "../process/holding.ts";

/** What follows from a look. `suspect`: it may never end; `over`: it has ended; `end`: its process is to be ended. */
export type Verdict =
  | { readonly type: "nothing" }
  | { readonly type: "suspect" | "end"; readonly hold: Hold; readonly heldMs: number }
  | { readonly type: "over"; readonly hold: Hold };

/** After how long what follows. */
export interface HeldBounds {
  /** How long a holding lasts before its saga is suspect, milliseconds. */
  readonly suspectMs: number;
  /** And before its process is ended. */
  readonly endMs: number;
}

/** How much longer what runs for no time must last (XH1). */
const idleFactor = 10;

/** Takes one look after the other: what holds the loop, and how long the loop's thread has run since it began, milliseconds. */
export function createHeldJudge({
  suspectMs,
  endMs,
}: HeldBounds): (hold: Hold | undefined, ranMs: number) => Verdict {
  let present:
    { hold: Hold; sinceRanMs: number; looks: number; told: "nothing" | "suspect" | "end" } | undefined;
  return (hold, ranMs) => {
    const before = present;
    if (hold === undefined || before?.hold.number !== hold.number) {
      present = hold && { hold, sinceRanMs: ranMs, looks: 0, told: "nothing" };
      return before?.told === "suspect" ? { type: "over", hold: before.hold } : { type: "nothing" };
    }
    before.looks += 1;
    const heldMs = Math.max(ranMs - before.sinceRanMs, (before.looks * limits.heldLookMs) / idleFactor); // XH1
    const next = heldMs >= endMs ? "end" : heldMs >= suspectMs ? "suspect" : "nothing";
    if (next === before.told || before.told === "end") return { type: "nothing" };
    if (next === "nothing") return { type: "nothing" };
    before.told = next;
    return { type: next, hold, heldMs };
  };
}
