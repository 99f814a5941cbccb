/**
 * Call: the result of a deferred call, given from outside.
 *
 * GC1 The first answer counts. What the ledger has is compared first, then the claim decides (once.ts); an answer that
 *     says the same again is welcome and changes nothing.
 * GC2 A call is asked about once for each time that it was settled: an attempt that failed and is made again asks anew.
 * GC3 An answer also settles a doubt, and a failure that a host or worker reported: the outside knows best. What the
 *     outside itself has said stands.
 * GC4 The deadline is the server's: nothing is taken after it, whether or not its timer was recorded yet.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { LinkOf } from "../../protocol/link.ts";
import type { Turn } from "../../protocol/turn.ts";
import { says } from "../client/finding.ts";
import { type ClientDeps, settleIntent } from "../client/send.ts";
import { checkOutput } from "../client/registry.ts";
import type { IntentView } from "../views/view.ts";
import { patiently } from "../wire/patience.ts";
import { type Asked, firstFit, type Read, readAsked, type Taken, taken } from "./asked.ts";
import { takeOnce } from "./once.ts";
import { readingsFor, readSaid, type Said } from "./reading.ts";

type Result = { succeeded: Json } | { failed: string };

/** What the ledger says of a call. */
interface Call {
  readonly intent: IntentOf<"tool">;
  readonly viewed: IntentView;
  /** Until when the outside may answer; undefined while it is not recorded that it is deferred. */
  readonly dueAt: number | undefined;
  /** By what it was settled last. */
  readonly last: EventOf<"result"> | EventOf<"timer"> | undefined;
  /** How often it was settled (GC2). */
  readonly settled: number;
}

/** Reads what a result link is for. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, INTENT_UNKNOWN, CALLBACK_EXPIRED. */
export async function askedCall(deps: ClientDeps, link: LinkOf<"result">): Promise<Asked> {
  const read = await readAsked(deps, link.saga);
  const call = callIn(read, link);
  const { name } = call.intent;
  const now = await patiently(deps.clock, () => deps.ports.claims.now());
  if (isTooLate(call, now))
    throw new MeshError(
      "CALLBACK_EXPIRED",
      `${name} was to be answered by ${new Date(call.dueAt ?? now).toISOString()}`,
    );
  const schema = read.registered.tools.findLast((tool) => tool.name === name)?.["output"] as Json | undefined;
  const isOpen = takesAnswer(call);
  return {
    title: `Answer ${name}`,
    details: [`for ${read.view.definition.name} ${link.saga}`],
    schema,
    isFixed: false,
    over: isOpen(undefined) ? undefined : settledAlready(call),
    take: (given) => {
      const said = readSaid(given);
      return takeResult(deps, link, { call, read, isOpen }, withForms(said, schema));
    },
  };
}

const withForms = (said: Said, schema: Json | undefined): Said =>
  said.outcome === "failed" ? said : { ...said, readings: readingsFor(said.readings, schema) };

function callIn({ view, turns }: Read, { saga, intent: id }: LinkOf<"result">): Call {
  const viewed = view.intents.find(({ intent }) => intent.id === id);
  if (viewed?.intent.kind !== "tool") throw new MeshError("INTENT_UNKNOWN", `${saga} has no call ${id}`);
  return { intent: viewed.intent, viewed, ...historyOf(turns, id) };
}

function historyOf(turns: readonly Turn[], id: string): Pick<Call, "dueAt" | "last" | "settled"> {
  let dueAt: number | undefined;
  let last: Call["last"];
  let settled = 0;
  for (const { event, intents } of turns.flatMap((turn) => turn.steps)) {
    if (event.type === "deferred" && event.intent === id) ({ dueAt } = event);
    if ((event.type === "result" || event.type === "timer") && event.intent === id) {
      last = event;
      settled += 1;
    }
    if (intents.some((intent) => intent.kind === "retry" && intent.id === id)) dueAt = undefined;
  }
  return { dueAt, last, settled };
}

/** GC4 */
const isTooLate = ({ viewed, dueAt, last }: Call, now: number): boolean =>
  viewed.outcome === undefined ? dueAt !== undefined && now >= dueAt : last?.type === "timer";

/** GC3. Without an answer: whether any is taken. */
const takesAnswer =
  ({ viewed, intent, last }: Call) =>
  (said: Said | undefined): boolean => {
    const { outcome } = viewed;
    if (outcome === undefined) return true;
    if (last?.type === "result" && last.by === outside) return false;
    if (outcome === "in_doubt") return true;
    return outcome === "failed" && intent.reads !== true && said?.outcome !== "failed";
  };

/** Who answers through a gateway, in the ledger: the same for all of them, so that a repeat is the same message. */
const outside = "gateway";

async function takeResult(
  deps: ClientDeps,
  { saga, intent }: LinkOf<"result">,
  { call, read, isOpen }: { call: Call; read: Read; isOpen: (said: Said) => boolean },
  said: Said,
): Promise<Taken> {
  if (!isOpen(said)) {
    if (isRecorded(call, said)) return "already";
    throw settledAlready(call);
  }
  const result: Result =
    said.outcome === "failed"
      ? { failed: said.reason }
      : { succeeded: firstFit(said.readings, (one) => checkOutput(read.registered, call.intent, one)) };
  const answer = { attempt: call.viewed.attempt, result };
  const question = { key: `${saga}.${intent}.answer`, round: call.settled + 1 };
  const isTaken = await takeOnce(deps, question, answer, (first) =>
    settleIntent({ ...deps, from: outside }, { saga, intent, attempt: first.attempt }, first.result),
  );
  if (isTaken) return "stored";
  throw taken(`another answer to ${call.intent.name} was given first`);
}

/** GC1 */
function isRecorded({ last }: Call, said: Said): boolean {
  if (last?.type !== "result") return false;
  const { result } = last;
  if (said.outcome === "failed") return result.outcome === "failed" && result.reason === said.reason;
  return result.outcome === "succeeded" && said.readings.some((one) => says(one, result.output));
}

const settledAlready = ({ intent, viewed }: Call): MeshError =>
  taken(`${intent.name} is settled already: ${viewed.outcome ?? "?"} in turn ${viewed.settledTurn ?? "?"}`);
