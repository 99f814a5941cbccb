/**
 * Graph, of turns at hand: nodes and edges where all of a ledger can be looked at back and forth. The reference of what is drawn as it is
 * read.
 */
import type {
  GraphDocument,
  GraphEdge,
  GraphNode,
  GraphReason,
  GraphStatus,
} from "../../protocol/documents/graph.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import { type IntentId, placeOfCall } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accounting } from "../../services/ledger/account-reader.ts";
import type { News, StepPlace } from "../../services/ledger/account.ts";
import { intentOfEvent, isDecision } from "../../services/ledger/account-decisions.ts";
import { describePlace } from "../../services/views/children.ts";
import { indexOf, type LedgerIndex, type Place } from "../../services/views/ledger-index.ts";
import {
  type IntentView,
  type SagaView,
  type ViewOptions,
  viewOfAccount,
} from "../../services/views/view.ts";

type Graph = GraphDocument;

/** The graph of a ledger, or of its first turns, in pieces. Throws LEDGER_BROKEN unless it begins with a start. */
export function* graphWhole(turns: readonly Turn[], options: ViewOptions = {}): Generator<undefined, Graph> {
  const account = yield* accounting(turns);
  const view = viewOfAccount(account, options);
  const index = indexOf(turns, account);
  const views = new Map(view.intents.map((one) => [one.intent.id, one]));
  const nodes = index.steps.flatMap((at) => nodesOf(at, index, views, view));
  const known = new Set(nodes.map(({ id }) => id));
  const readIn = readingsIn(index);
  const edges = [...index.places.values()]
    .flatMap((place) => [
      ...edgesTo(index, place),
      ...readIn(place).map((from): GraphEdge => ({ from, to: place.intent.id, reason: "reads" })),
    ])
    .concat(waitsEnded(index))
    .filter(({ from, to }) => from !== to && known.has(from) && known.has(to));
  return { saga: view.saga, turns: view.turns, nodes, edges: distinct(edges) };
}

const startNode = "start";
const forkNode = ({ turn, step }: StepPlace): string => `forked-${turn}-${step}`;
const moveNode = ({ turn, step }: StepPlace): string => `migrated-${turn}-${step}`;
const signalNode = ({ turn, step }: StepPlace): string => `signal-${turn}-${step}`;

function nodesOf(
  at: StepPlace,
  index: LedgerIndex,
  views: ReadonlyMap<IntentId, IntentView>,
  view: SagaView,
): GraphNode[] {
  const { turn, intents } = at;
  const outside = outsideNode(at, view).map((node) => ({
    ...node,
    ...{ turn, at: at.at, attempts: 1, status: "taken" as const },
  }));
  const own = intents.flatMap((intent) => {
    const view = views.get(intent.id);
    return intent.kind === "retry" || view === undefined ? [] : [nodeOf(view, at, index)];
  });
  return [...outside, ...own];
}

/** What came from outside and is no intent's. */
function outsideNode(
  at: StepPlace,
  { input }: SagaView,
): Pick<GraphNode, "id" | "kind" | "label" | "detail">[] {
  const { event } = at;
  switch (event.type) {
    case "start":
      return [
        {
          id: startNode,
          kind: "start",
          label: `${event.definition.name}@${event.definition.version}`,
          detail: short(input),
        },
      ];
    case "signal": {
      const detail = `${event.from}${event.data === null ? "" : ` ${short(event.data)}`}`;
      return [{ id: signalNode(at), kind: "signal", label: event.name, detail }];
    }
    case "forked": {
      const detail = [event.by, ...(event.model === undefined ? [] : [`model ${event.model}`])].join(", ");
      return [{ id: forkNode(at), kind: "fork", label: `effects ${event.effects}`, detail }];
    }
    case "migrated":
      return [
        {
          id: moveNode(at),
          kind: "move",
          label: `${event.to.name}@${event.to.version}`,
          detail: event.by,
        },
      ];
    case "result":
    case "deferred":
    case "timer":
    case "task":
    case "adopted":
      return [];
  }
}

function nodeOf(view: IntentView, { turn, at }: StepPlace, index: LedgerIndex): GraphNode {
  const { intent, attempt } = view;
  const common = { id: intent.id, intent: intent.id, turn, at, attempts: attempt };
  const node = { ...common, status: statusOf(view, index) };
  switch (intent.kind) {
    case "tool":
      return {
        ...node,
        kind: intent.undoes === undefined ? "tool" : "compensation",
        label: intent.name,
        detail: short(view.input),
      };
    case "model": {
      const number = index.numbers.get(intent.id) ?? 0;
      const asked = number > 0 ? ({ kind: "decision", label: `decision ${number}` } as const) : undefined;
      const label = isSummary(intent.input) ? "summary" : "model call";
      return { ...node, ...(asked ?? { kind: "model", label }), detail: intent.name };
    }
    case "saga":
      return {
        ...node,
        kind: intent.undoes === undefined ? "child" : "compensation",
        label: intent.name,
        detail: view.inLine === undefined ? intent.saga : `${intent.saga}, ${describePlace(view.inLine)}`,
        saga: intent.saga,
      };
    case "timer":
      return {
        ...node,
        kind: "timer",
        label: "timer",
        detail: `until ${new Date(intent.dueAt).toISOString()}`,
      };
    case "task":
      return { ...node, kind: "task", label: intent.about, detail: intent.tool ?? intent.question };
    case "signal":
      return { ...node, kind: "sent", label: intent.name, detail: `to ${intent.saga}`, saga: intent.saga };
    case "pause":
      return { ...node, kind: "pause", label: "pause", detail: intent.reason };
    case "denied":
      return { ...node, kind: "denied", label: intent.name, detail: `${intent.code}: ${intent.reason}` };
    case "end": {
      const detail = intent.status === "completed" ? short(intent.output) : (intent.reason ?? "");
      const status = intent.status === "completed" ? "succeeded" : intent.status;
      return { ...node, kind: "end", label: intent.status, detail, status };
    }
  }
}

const isSummary = (input: Json | undefined): boolean =>
  typeof input === "object" && input !== null && "summarize" in input;

function statusOf({ intent, outcome }: IntentView, { undone }: LedgerIndex): GraphStatus {
  if (outcome === undefined) return "open";
  if (outcome !== "succeeded" && outcome !== "in_doubt") return outcome;
  return undone.has(intent.id) ? "undone" : outcome;
}

const shortMax = 60;

/** On one line, cut where it grows long. */
function short(value: Json | undefined): string {
  const text = value === undefined ? "" : JSON.stringify(value);
  return shortened(text, shortMax);
}

/** The edges that lead to an intent. */
function edgesTo(index: LedgerIndex, place: Place): GraphEdge[] {
  const { intent } = place;
  const to = intent.id;
  const edge = (from: string, reason: GraphReason): GraphEdge => ({ from, to, reason });
  if (isDecision(intent)) return decisionEdges(index, place);
  if ("for" in intent && intent.for !== undefined) return [edge(intent.for, "serves")];
  if (intent.kind === "task") {
    if (intent.after !== undefined) return [edge(intent.after.task, "follows")];
    if (intent.of !== undefined) return [edge(intent.of, "asks about")];
  }
  const undone = "undoes" in intent && intent.undoes !== undefined ? [edge(intent.undoes, "undoes")] : [];
  const rests = groundOf(index, intent).map((from) => edge(from, "rests on"));
  // The last of several that a node waited for is no more its cause than the others.
  const isNode = rests.length > 0 && place.proposedBy === undefined;
  return [...undone, ...rests, ...(isNode ? [] : causeOf(index, place))];
}

/** The calls that an intent rests on itself: not those it names because what it rests on rests on them. */
function groundOf({ places }: LedgerIndex, intent: Place["intent"]): IntentId[] {
  if ((intent.kind !== "tool" && intent.kind !== "saga") || intent.dependsOn === undefined) return [];
  const calls = new Set(intent.dependsOn);
  const named = [...places.values()].flatMap(({ intent: one }) =>
    (one.kind === "tool" || one.kind === "saga") && one.call !== undefined && calls.has(one.call)
      ? [one]
      : [],
  );
  const through = new Set(named.flatMap(({ dependsOn = [] }) => dependsOn));
  return named.flatMap(({ id, call = "" }) => (through.has(call) ? [] : [id]));
}

/** Which calls' outputs are a part of what an intent was given, by their ids: a node's reads, or a model's references. */
function readingsIn({ places, steps, numbers }: LedgerIndex): (place: Place) => readonly IntentId[] {
  const replies = new Map(
    steps.flatMap(({ event }) =>
      event.type === "result" && numbers.has(event.intent) && event.result.outcome === "succeeded"
        ? [[event.intent, ModelReply.safeParse(event.result.output).data] as const]
        : [],
    ),
  );
  const ids = new Map<string, IntentId>();
  for (const { intent } of places.values())
    if ((intent.kind === "tool" || intent.kind === "saga") && intent.call !== undefined)
      ids.set(intent.call, intent.id);
  return ({ intent, proposedBy }) => {
    if (intent.kind !== "tool" && intent.kind !== "saga") return [];
    const reply = proposedBy && replies.get(proposedBy);
    const referred = intent.call === undefined ? undefined : reply?.calls[placeOfCall(intent.call)]?.refs;
    return (intent.inputFrom ?? referred ?? []).flatMap((call) => ids.get(call) ?? []);
  };
}

/** What an intent was decided by, or on. */
function causeOf(index: LedgerIndex, place: Place): GraphEdge[] {
  const { intent, event, proposedBy } = place;
  const to = intent.id;
  const approval = approvalBy(index, event, intent.id);
  const approved: GraphEdge[] = approval === undefined ? [] : [{ from: approval, to, reason: "approved by" }];
  if (proposedBy !== undefined)
    return [{ from: proposedBy, to, reason: "decided by", ...batchOf(place) }, ...approved];
  if (approved.length > 0) return approved;
  const from = deniedBefore(place) ?? sourceOf(place);
  if (from === undefined) return [];
  const source = index.places.get(from as IntentId)?.intent; // A start or a signal is in no place.
  const isByModel = source !== undefined && isDecision(source) && from === intentOfEvent(event);
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
function approvalBy({ places }: LedgerIndex, event: StepPlace["event"], to: IntentId): IntentId | undefined {
  const id = intentOfEvent(event);
  const about = id === undefined ? undefined : places.get(id)?.intent;
  const task = about?.kind === "saga" && about.for !== undefined ? places.get(about.for)?.intent : about;
  const next = places.get(to)?.intent;
  const isCall = next?.kind === "tool" || next?.kind === "saga" || next?.kind === "task";
  const isFor = task?.kind === "task" && task.about === "approval" && isCall;
  return isFor && !("undoes" in next && next.undoes !== undefined) ? task.id : undefined;
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

function decisionEdges({ news, superseded }: LedgerIndex, { intent, event }: Place): GraphEdge[] {
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

/** A signal that the last reply had said it waits for. */
function waitsEnded({ steps, numbers }: LedgerIndex): GraphEdge[] {
  let waiting: { readonly by: IntentId; readonly signals: readonly string[] | undefined } | undefined;
  return steps.flatMap((at): GraphEdge[] => {
    const { event, intents } = at;
    const edges: GraphEdge[] =
      event.type === "signal" && waiting !== undefined && (waiting.signals?.includes(event.name) ?? true)
        ? [{ from: waiting.by, to: signalNode(at), reason: "awaited by" }]
        : [];
    if (event.type === "result" && numbers.has(event.intent)) waiting = waitIn(event.intent, event.result);
    if (intents.some(isDecision)) waiting = undefined;
    return edges;
  });
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

function distinct(edges: readonly GraphEdge[]): GraphEdge[] {
  const seen = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.to} ${edge.reason}`;
    if (!seen.has(key)) seen.set(key, edge);
  }
  return [...seen.values()];
}
