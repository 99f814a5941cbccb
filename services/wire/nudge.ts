/**
 * Nudge: an input that says nothing new and obliges its saga's owner to hand on what is open.
 *
 * NZ1 It is the firing of a timer that no saga has. Every host takes that for a known input, one of an earlier version
 *     too: it proves that the saga is its own and hands on what a former owner left open. A host that reads the body hands
 *     on what is named there, although it has had the saga all along.
 * NZ2 Stored again it does no harm: what is handed on again is the same attempt under the same key.
 */
import { z } from "zod";
import { intentId, IntentId, type SagaId } from "../../protocol/ids.ts";
import { type Address, subjects } from "../../protocol/subjects.ts";
import type { Ports, StoredMessage } from "./ports.ts";

/** NZ1: a turn takes at most 64 steps, and no first turn decides so many intents. */
const noTimer = intentId(1, 99_999);

const Body = z.object({ calls: z.array(IntentId) });

/** Stores one. `calls` are the calls of tools that are in no queue; all other open intents are handed on in any case. */
export async function publishNudge(
  { inbox }: Pick<Ports, "inbox">,
  saga: SagaId,
  calls: readonly IntentId[],
): Promise<void> {
  const data = Buffer.from(JSON.stringify({ calls }));
  await inbox.publish({ subject: subjects.timerTarget(saga, noTimer), data, headers: {} });
}

/** The calls that an input names, if it is a nudge; none of one that cannot be read. */
export function nudgedCalls(
  address: Address,
  { data }: Pick<StoredMessage, "data">,
): readonly IntentId[] | undefined {
  if (address.kind !== "timer" || address.intent !== noTimer) return undefined;
  try {
    return Body.parse(JSON.parse(Buffer.from(data).toString())).calls;
  } catch {
    return [];
  }
}
