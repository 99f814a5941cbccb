/**
 * Letters: what the demo and its processes tell each other over the channel that Node gives a child.
 *
 * The channel's end is also how a child learns that the demo is gone, whatever became of it.
 */
import type { PlannedKill } from "./kill-plan.ts";

/** From the demo to the outside world. */
export type ToWorld =
  | { readonly type: "arm"; readonly kills: readonly PlannedKill[] }
  /** A process of the demo's own: the only ones that may be killed. */
  | { readonly type: "mark"; readonly pid: number };

/** A kill that happened. `at` in milliseconds since the epoch, taken right before the signal was sent. */
export interface Strike {
  readonly kill: PlannedKill;
  readonly pid: number;
  /** Of the request that was hit. */
  readonly key: string;
  readonly at: number;
}

/** From a process to the demo. */
export type ToDemo =
  /** Before it takes anything, so whoever is killed at once has a name. */
  | { readonly type: "born"; readonly incarnation: string }
  | { readonly type: "ready"; readonly url?: string }
  | ({ readonly type: "struck" } & Strike);

/** Says something to the demo; nothing if nobody started this process. */
export const tellDemo = (letter: ToDemo): void => void process.send?.(letter);

/** Ends this process when the demo is gone. */
export const endWithDemo = (): void => void process.once("disconnect", () => process.exit(0));
