/**
 * Send: a call that writes to another saga becomes a signal's intent; the ack of its publish settles the call.
 */
import type { z } from "zod";
import { type IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { SendInput } from "../request/between-sagas.ts";
import { isInLine, isOpen } from "../contract/state.ts";
import { type Folding, newId, openIntent, refuseActor } from "./folding.ts";
import { toldUnder } from "./keys.ts";
import { forbidden } from "./lineage.ts";

/** BS2 of between-sagas.ts. The input is one that `faultOfSend` has let through. */
export function issueSend(f: Folding, actor: string, input: Json, decides?: string): void {
  const { to, agent, signal, data = null } = input as z.infer<typeof SendInput>; // Proof: faultOfSend has read it.
  const no = forbidden(f.state);
  if (no !== undefined) return refuseActor(f, actor, "send", no.code, no.reason);
  const saga = SagaId.safeParse(to).success ? (to as SagaId) : runningChild(f, to, agent);
  if (saga === undefined)
    return refuseActor(f, actor, "send", "CALL_INVALID", `call ${to} is no sub-agent ${agent} that runs`);
  const under = toldUnder(f, { saga, name: signal, data }, { call: actor, of: decides });
  openIntent(f, {
    intent: { kind: "signal", id: newId(f), ...under, saga, name: signal, to: agent, call: actor },
    input: data,
    attempt: 1,
    actor,
  });
}

function runningChild(f: Folding, call: string, name: string): SagaId | undefined {
  const id: IntentId | undefined = Object.hasOwn(f.state.actors, call) ? f.state.actors[call] : undefined;
  const open = id === undefined ? undefined : f.state.open[id];
  if (!isOpen(open, "saga") || isInLine(open)) return undefined;
  return open.intent.name === name ? open.intent.saga : undefined;
}
