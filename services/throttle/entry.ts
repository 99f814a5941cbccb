/**
 * Entry: a throttle's entry as it is shared: read, and changed by compare-and-set.
 */
import { decode, encodeJson } from "../../protocol/codec.ts";
import { throttleKey, ThrottleState, type Throttled } from "../../protocol/throttle.ts";
import { isRivalry, patiently } from "../wire/patience.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { openThrottle } from "./admit.ts";

/** Where entries are, and how rivals step aside. */
export interface EntryDeps {
  readonly ports: Pick<Ports, "throttles" | "claims">;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** The entry now; one that was never written, or cannot be read, is open. */
export async function readThrottle(deps: EntryDeps, what: Throttled): Promise<ThrottleState> {
  const entry = await patiently(deps.clock, () => deps.ports.throttles.read(throttleKey(what)));
  return entry === undefined ? openThrottle : stateOf(entry.data);
}

/**
 * Changes the entry by what `change` makes of it, which is called again if another process was first. Returns
 * what it returned last. Throws UNAVAILABLE when the server stays silent: then it may or may not be changed.
 */
export async function changeThrottle<T extends ThrottleState | { readonly state: ThrottleState }>(
  { ports, clock, chance }: EntryDeps,
  what: Throttled,
  change: (state: ThrottleState) => T,
): Promise<T> {
  const key = throttleKey(what);
  for (;;) {
    const entry = await patiently(clock, () => ports.throttles.read(key));
    const before = entry === undefined ? openThrottle : stateOf(entry.data);
    const changed = change(before);
    const after = "state" in changed ? changed.state : changed;
    try {
      await ports.throttles.write(key, encodeJson(after), entry?.revision ?? 0);
      return changed;
    } catch (error) {
      // A write that may have happened is not sent again: a permit could be given twice where it is only lost.
      if (!isRivalry(error)) throw error;
    }
    await clock.sleep(rivalryMs * chance.random());
  }
}

/** Of several who lost to one another, the next time one is first. */
const rivalryMs = 40;

function stateOf(data: Uint8Array): ThrottleState {
  try {
    return ThrottleState.catch(openThrottle).parse(decode(data));
  } catch {
    return openThrottle;
  }
}

/** How often the difference of the server's clock and ours is looked at. */
const clockCheckMs = 60_000;

/** The server's time, by this process's clock and their difference. */
export function serverClock({ ports, clock }: Pick<EntryDeps, "ports" | "clock">): () => Promise<number> {
  let offset = 0;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (clock.now() - checkedAt > clockCheckMs) {
      offset = (await patiently(clock, () => ports.claims.now())) - clock.now();
      checkedAt = clock.now();
    }
    return clock.now() + offset;
  };
}
