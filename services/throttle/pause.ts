/**
 * Pause: an operator stops what uses one tool or model, and lets it go on.
 *
 * A tool is paused where its work waits, at its queues, one for each contract. A model is asked by hosts, who look at the
 * shared entry before each call. What runs already is left to end in both cases.
 *
 * PQ1 The entry is written before the queues are touched, and a queue is opened before the entry is read: so a queue that
 *     is opened meanwhile is seen by the operator, or its worker sees the entry.
 */
import { changeThrottle, type EntryDeps, readThrottle, serverClock } from "./entry.ts";
import type { Throttled, ThrottleState } from "../../protocol/throttle.ts";
import type { Ports } from "../wire/ports.ts";

/** What a pause takes. */
export interface PauseDeps extends EntryDeps {
  readonly ports: Pick<Ports, "throttles" | "claims" | "work">;
  /** Who asks, for an operator who looks later. */
  readonly from: string;
}

/** Pauses, and says so in the entry. Doing it again renews the reason. Throws UNAVAILABLE. */
export async function pause(deps: PauseDeps, what: Throttled, reason?: string): Promise<void> {
  const at = await serverClock(deps)();
  await changeThrottle(deps, what, (state) => ({
    ...state,
    paused: { at, by: deps.from, ...(reason === undefined ? {} : { reason }) },
  }));
  if (what.kind === "tool") await deps.ports.work.pause(what.name); // PQ1
}

/** Lets it go on; a time that a provider asked to wait for is over, too. Nothing paused is no error. */
export async function resume(deps: PauseDeps, what: Throttled): Promise<void> {
  await changeThrottle(
    deps,
    what,
    ({ paused: _paused, notBefore: _notBefore, ...state }): ThrottleState => state,
  );
  if (what.kind === "tool") await deps.ports.work.resume(what.name); // PQ1
}

/** For a worker that has opened queues of the tool and takes nothing yet: they are paused if the tool is (PQ1). */
export async function holdWhilePaused(
  deps: EntryDeps & { readonly ports: Pick<Ports, "work"> },
  tool: string,
): Promise<void> {
  const isPaused = async () => (await readThrottle(deps, { kind: "tool", name: tool })).paused !== undefined;
  if (!(await isPaused())) return;
  await deps.ports.work.pause(tool);
  if (!(await isPaused())) await deps.ports.work.resume(tool); // It was resumed in between.
}
