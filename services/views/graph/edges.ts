/**
 * Edges: why the nodes of a graph are there, found as a ledger is read (GG2, GG3 of graph.ts).
 *
 * GE1 Of an intent that is over a few words are kept, by which a later edge finds it: what it was, whom it served, which call it is and
 *     what that rests on.
 */
import type { GraphEdge, GraphReason } from "../../../protocol/documents/graph.ts";
import type { ErrorCode } from "../../../protocol/errors.ts";
import { type IntentId, placeOfCall } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { ModelReply } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Account, DecidedIntent, News, StepPlace } from "../../ledger/account.ts";
import { intentOfEvent, isDecision } from "../../ledger/account-decisions.ts";
import { stepsOf } from "../../ledger/account-reader.ts";
import type { Place } from "../ledger-index.ts";

export const startNode = "start";
export const forkNode = ({ turn, step }: StepPlace): string => `forked-${turn}-${step}`;
export const moveNode = ({ turn, step }: StepPlace): string => `migrated-${turn}-${step}`;
export const signalNode = ({ turn, step }: StepPlace): string => `signal-${turn}-${step}`;

/** Finds edges as turns are read. */
export interface EdgeFinder {
  /** The account took this turn. */
  take(turn: Turn, account: Account): void;
  /** Of the turns taken, in the order of what they lead to; those of signals come last. */
  all(): GraphEdge[];
}

/** What is kept of an intent (GE1). */
interface Brief {
  readonly kind: DecidedIntent["kind"];
  readonly isApproval: boolean;
  readonly isDecision: boolean;
  readonly for: IntentId | undefined;
}

/** A call that others name. */
interface Named {
  readonly id: IntentId;
  readonly order: number;
  readonly dependsOn: readonly string[];
}

/** What edges look up. */
interface Lookup {
  readonly account: Account;
  readonly briefs: ReadonlyMap<IntentId, Brief>;
  readonly calls: ReadonlyMap<string, readonly Named[]>;
  /** Which outputs the inputs of a decision's calls refer to, by their places. */
  readonly refs: ReadonlyMap<IntentId, readonly (readonly string[] | undefined)[]>;
}

/** Nothing was taken yet. */
export function findingEdges(): EdgeFinder {
  const briefs = new Map<IntentId, Brief>();
  const calls = new Map<string, Named[]>();
  const refs = new Map<IntentId, readonly (readonly string[] | undefined)[]>();
  const edges: GraphEdge[] = [];
  const waits: GraphEdge[] = [];
  const ended = waitsEnded();
  const know = (at: StepPlace) => {
    for (const intent of at.intents) {
      if (intent.kind === "retry") continue;
      briefs.set(intent.id, briefOf(intent));
      if ((intent.kind !== "tool" && intent.kind !== "saga") || intent.call === undefined) continue;
      const named = { id: intent.id, order: briefs.size, dependsOn: intent.dependsOn ?? [] };
      calls.set(intent.call, [...(calls.get(intent.call) ?? []), named]);
    }
  };
  return {
    take: (turn, account) => {
      const lookup: Lookup = { account, briefs, calls, refs };
      for (const at of stepsOf(turn)) {
        const reply = replyIn(account, at);
        if (reply?.calls.some((call) => call.refs !== undefined) === true)
          refs.set(
            reply.by,
            reply.calls.map((call) => call.refs),
          );
        know(at);
        for (const intent of at.intents) {
          if (intent.kind === "retry") continue;
          const place = { ...at, intent, proposedBy: account.intents.get(intent.id)?.proposedBy };
          for (const edge of edgesTo(lookup, place)) edges.push(edge);
          for (const from of readingsOf(lookup, place)) edges.push({ from, to: intent.id, reason: "reads" });
        }
        for (const edge of ended(account, at)) waits.push(edge);
      }
    },
    all: () => [...edges, ...waits],
  };
}

const briefOf = (intent: DecidedIntent): Brief => ({
  kind: intent.kind,
  isApproval: intent.kind === "task" && intent.about === "approval",
  isDecision: isDecision(intent),
  for: "for" in intent ? intent.for : undefined,
});

/** What a decision was answered with in a step. */
function replyIn(
  { numbers }: Account,
  { event }: StepPlace,
): (ModelReply & { readonly by: IntentId }) | undefined {
  if (event.type !== "result" || !numbers.has(event.intent) || event.result.outcome !== "succeeded")
    return undefined;
  const reply = ModelReply.safeParse(event.result.output).data;
  return reply && { ...reply, by: event.intent };
}

/** The edges that lead to an intent. */
function edgesTo(lookup: Lookup, place: Place): GraphEdge[] {
  const { intent } = place;
  const to = intent.id;
  const edge = (from: string, reason: GraphReason): GraphEdge => ({ from, to, reason });
  if (isDecision(intent)) return decisionEdges(lookup, place);
  if ("for" in intent && intent.for !== undefined) return [edge(intent.for, "serves")];
  if (intent.kind === "task") {
    if (intent.after !== undefined) return [edge(intent.after.task, "follows")];
    if (intent.of !== undefined) return [edge(intent.of, "asks about")];
  }
  const undone = "undoes" in intent && intent.undoes !== undefined ? [edge(intent.undoes, "undoes")] : [];
  const rests = groundOf(lookup, intent).map((from) => edge(from, "rests on"));
  // The last of several that a node waited for is no more its cause than the others.
  const isNode = rests.length > 0 && place.proposedBy === undefined;
  return [...undone, ...rests, ...(isNode ? [] : causeOf(lookup, place))];
}

/** The calls that an intent rests on itself: not those it names because what it rests on rests on them. */
function groundOf({ calls }: Lookup, intent: Place["intent"]): IntentId[] {
  if ((intent.kind !== "tool" && intent.kind !== "saga") || intent.dependsOn === undefined) return [];
  const named = [...new Set(intent.dependsOn)]
    .flatMap((call) => (calls.get(call) ?? []).map((one) => ({ ...one, call })))
    .sort((one, other) => one.order - other.order);
  const through = new Set(named.flatMap(({ dependsOn }) => dependsOn));
  return named.flatMap(({ id, call }) => (through.has(call) ? [] : [id]));
}

/** Which calls' outputs are a part of what an intent was given, by their ids: a node's reads, or a model's references. */
function readingsOf({ calls, refs }: Lookup, { intent, proposedBy }: Place): IntentId[] {
  if (intent.kind !== "tool" && intent.kind !== "saga") return [];
  const own = proposedBy === undefined ? undefined : refs.get(proposedBy);
  const referred = intent.call === undefined ? undefined : own?.[placeOfCall(intent.call)];
  return (intent.inputFrom ?? referred ?? []).flatMap((call) => calls.get(call)?.at(-1)?.id ?? []);
}

/** What an intent was decided by, or on. */
function causeOf(lookup: Lookup, place: Place): GraphEdge[] {
  const { intent, event, proposedBy } = place;
  const to = intent.id;
  const approval = approvalBy(lookup, event, intent);
  const approved: GraphEdge[] = approval === undefined ? [] : [{ from: approval, to, reason: "approved by" }];
  if (proposedBy !== undefined)
    return [{ from: proposedBy, to, reason: "decided by", ...batchOf(place) }, ...approved];
  if (approved.length > 0) return approved;
  const from = deniedBefore(place) ?? sourceOf(place);
  if (from === undefined) return [];
  const source = lookup.briefs.get(from as IntentId); // A start or a signal has none.
  const isByModel = source?.isDecision === true && from === intentOfEvent(event);
  if (!isByModel) return [{ from, to, reason: "decided on" }];
  return [{ from, to, reason: intent.kind === "timer" ? "awaited by" : "decided by", ...batchOf(place) }];
}

/** Several intents of one reply. */
function batchOf({ event, intents }: Place): { batch?: string } {
  const id = intentOfEvent(event);
  const many = intents.filter(({ kind }) => kind !== "retry" && kind !== "end").length > 1;
  return id !== undefined && event.type === "result" && many ? { batch: id } : {};
}

/** The approval by which an event let a call through: a vote's or a deadline's, or of a saga that stands in. */
function approvalBy(
  { briefs }: Lookup,
  event: StepPlace["event"],
  next: DecidedIntent,
): IntentId | undefined {
  const id = intentOfEvent(event);
  const about = id === undefined ? undefined : briefs.get(id);
  const task = about?.kind === "saga" && about.for !== undefined ? about.for : id;
  const isApproval = task !== undefined && briefs.get(task)?.isApproval === true;
  const isCall = next.kind === "tool" || next.kind === "saga" || next.kind === "task";
  return isApproval && isCall && !("undoes" in next && next.undoes !== undefined) ? task : undefined;
}

const notTaken: ErrorCode = "SIGNAL_NOT_TAKEN";

/** A machine that is refused a call goes on from the refusal, in the same step. */
function deniedBefore({ intent, intents }: Place): string | undefined {
  const own = intents.findIndex(({ id, kind }) => kind !== "retry" && id === intent.id);
  return intents
    .slice(0, own)
    .findLast((one) => one.kind === "denied" && one.for === undefined && one.code !== notTaken)?.id;
}

/** The node that an event belongs to. */
function sourceOf(at: StepPlace): string | undefined {
  if (at.event.type === "start") return startNode;
  if (at.event.type === "forked") return forkNode(at);
  if (at.event.type === "migrated") return moveNode(at);
  return at.event.type === "signal" ? signalNode(at) : intentOfEvent(at.event);
}

function decisionEdges({ account: { news, superseded } }: Lookup, { intent, event }: Place): GraphEdge[] {
  const to = intent.id;
  const before = superseded.get(intent.id);
  const told = (news.get(intent.id) ?? []).flatMap((one) => newsEdge(one, to));
  const over: GraphEdge[] = before === undefined ? [] : [{ from: before, to, reason: "supersedes" }];
  const edges = [...told, ...over];
  const from = intentOfEvent(event);
  return edges.length > 0 || from === undefined ? edges : [{ from, to, reason: "follows" }];
}

function newsEdge({ at, intent }: News, to: IntentId): GraphEdge[] {
  if (intent !== undefined) return [{ from: intent, to, reason: "answered by" }];
  const from = sourceOf(at);
  return from === undefined ? [] : [{ from, to, reason: "told of" }];
}

/** The signals that the last reply had said it waits for, step by step. */
function waitsEnded(): (account: Account, at: StepPlace) => GraphEdge[] {
  let waiting: { readonly by: IntentId; readonly signals: readonly string[] | undefined } | undefined;
  return ({ numbers }, at) => {
    const { event, intents } = at;
    const edges: GraphEdge[] =
      event.type === "signal" && waiting !== undefined && (waiting.signals?.includes(event.name) ?? true)
        ? [{ from: waiting.by, to: signalNode(at), reason: "awaited by" }]
        : [];
    if (event.type === "result" && numbers.has(event.intent)) waiting = waitIn(event.intent, event.result);
    if (intents.some(isDecision)) waiting = undefined;
    return edges;
  };
}

function waitIn(by: IntentId, result: { outcome: string; output?: Json }): ReturnType<typeof waitOf> {
  return result.outcome === "succeeded" ? waitOf(by, result.output) : undefined;
}

function waitOf(by: IntentId, output: Json | undefined) {
  const wait = ModelReply.safeParse(output).data?.calls.find(({ tool }) => tool === "wait");
  if (wait === undefined) return undefined;
  const { signals } = (wait.input ?? {}) as { signals?: unknown };
  return { by, signals: Array.isArray(signals) ? signals.map(String) : undefined };
}
