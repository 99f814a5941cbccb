/**
 * Lean start: V8 keeps its heap small while modules load, and as usual from then on.
 *
 * Loading makes garbage that outlives a few scavenges, so V8 grows the young generation by 10 MB, and an idle
 * process never collects enough to give them back. V8's memory saver, on while the process starts, collects
 * and shrinks instead; it is off before there is work, which it would slow.
 */
import { setFlagsFromString } from "node:v8";

/** The first V8 known to have the flag, that of Node 24; an older one would complain on stderr. */
const v8Min = 13.6;
const isKnown = Number.parseFloat(process.versions.v8) >= v8Min;

export function beginLeanStart(): void {
  if (isKnown) setFlagsFromString("--memory-saver-mode");
}

export function endLeanStart(): void {
  if (isKnown) setFlagsFromString("--no-memory-saver-mode");
}
