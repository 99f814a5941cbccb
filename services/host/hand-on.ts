/**
 * Hand on: an acked turn's intents to the hands, in pieces that leave the process its event loop.
 *
 * HJ1 Nothing of the saga is acked or decided between two pieces: the turn is over when the last intent is handed on. A
 *    saga that begins to leave meanwhile owes the rest to its next host, one that is gone has one already.
 */
import type { OpenIntent } from "../../actors/contract/state.ts";
import type { Ports } from "../wire/ports.ts";
import type { Owned, Residence } from "./phase.ts";

/** What of an activation it takes. */
export interface Handing extends Pick<Residence, "phase"> {
  readonly deps: { readonly ports: Pick<Ports, "loop"> };
}

/** Hands on each of them, as far as the saga stays here. */
export async function handOnEach(
  self: Handing,
  { hands }: { readonly hands: Pick<Owned["hands"], "handOn"> },
  all: readonly OpenIntent[],
  settleFirst: boolean,
): Promise<void> {
  for (const [k, open] of all.entries()) {
    const wait = k === 0 ? undefined : self.deps.ports.loop.breathe();
    if (wait !== undefined) await wait;
    if (self.phase.type === "leaving") self.phase.owesIntents = true;
    if (self.phase.type !== "owning") return;
    hands.handOn(open, settleFirst);
  }
}
