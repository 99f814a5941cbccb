/**
 * Graph: what a saga wrote as it ran, as nodes and edges, found as its ledger is read.
 *
 * GG1 A node for the start, for each intent and for each signal; a retry is an attempt of its node.
 * GG2 Every edge is a fact of the ledger: a call names its decision, an undoing what it undoes, a step the event that
 *     it was decided on. Where the ledger does not say whether a model was shown something, the edge says that it had
 *     come.
 * GG3 Every edge leads from what was earlier, or in the same step, to what was later: there is no cycle.
 * GG4 No turn is kept: of an intent its node, which is made anew as it changes, and what a later edge looks up (edges.ts).
 */
import type { GraphDocument, GraphEdge, GraphNode, GraphStatus } from "../../../protocol/documents/graph.ts";
import type { Json } from "../../../protocol/json.ts";
import { shortened } from "../../../protocol/shortened.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Account, StepPlace, ToldIntent } from "../../ledger/account.ts";
import { stepsOf } from "../../ledger/account-reader.ts";
import { keepingUp, type Made } from "../../ledger/kept-up.ts";
import { describePlace } from "../children.ts";
import { type TurnPages, turnsThrough } from "../turn-pages.ts";
import { outcomeOf, placesInLine, type ViewOptions } from "../view.ts";
import { findingEdges, forkNode, moveNode, signalNode, startNode } from "./edges.ts";

export type Graph = GraphDocument;

/** Draws a ledger turn by turn. */
export interface Drawing {
  /** Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): void;
  /** Of the turns taken; `state`: what they fold to, which knows what the open were given. Throws LEDGER_BROKEN before the first. */
  graph(state?: ViewOptions["state"]): Graph;
}

/** So many of the intents that are over are known whole, beyond what came in before a decision. */
const remembered = 4_000;

/** Nothing was taken yet. `remembers`: so many of what came in since a decision are told of, and of the intents that are over known. */
export function drawing(remembers = remembered): Drawing {
  const nodes: Made<GraphNode>[] = [];
  const edges = findingEdges();
  let atEnd:
    { readonly places: ReadonlyMap<string, number>; readonly state: ViewOptions["state"] } | undefined;
  const keeping = keepingUp((told): GraphNode => {
    const id = told.intent.id;
    const input = told.input ?? atEnd?.state?.open[id]?.input;
    return nodeOf({ ...told, input }, keeping.account, atEnd?.places.get(id));
  }, remembers);
  return {
    take: (turn) => {
      const outside = stepsOf(turn).map((at) => outsideNode(at));
      let told = 0;
      const tellOutside = (through: number) => {
        for (; told <= through; told++) nodes.push(...(outside[told] ?? []).map((of) => ({ of })));
      };
      keeping.take(turn, (_intent, node, { step }) => {
        tellOutside(step);
        nodes.push(node);
      });
      tellOutside(outside.length - 1);
      edges.take(turn, keeping.account);
    },
    graph: (state) => {
      const { account } = keeping;
      atEnd = { places: placesInLine(account), state };
      keeping.tellOpen();
      const drawn = nodes.map(({ of }) => of).map((node) => undoneIn(account, node));
      const known = new Set(drawn.map(({ id }) => id));
      const found = edges.all().filter(({ from, to }) => from !== to && known.has(from) && known.has(to));
      return { saga: account.saga, turns: account.turns, nodes: drawn, edges: distinct(found) };
    },
  };
}

/** The graph of turns at hand, in pieces of a turn each. Throws LEDGER_BROKEN unless they begin with a start. */
export function* graphOf(turns: readonly Turn[], { state }: ViewOptions = {}): Generator<undefined, Graph> {
  const drawn = drawing();
  for (const turn of turns) {
    drawn.take(turn);
    yield;
  }
  return drawn.graph(state);
}

/** The same of a ledger that is read. Throws as that does. */
export async function readGraph(ledger: TurnPages): Promise<Graph> {
  const drawn = drawing();
  for await (const turn of turnsThrough(ledger)) drawn.take(turn);
  return drawn.graph();
}

/** What came from outside and is no intent's. */
function outsideNode(at: StepPlace): GraphNode[] {
  const { turn, event } = at;
  const common = { turn, at: at.at, attempts: 1, status: "taken" as const };
  switch (event.type) {
    case "start":
      return [
        {
          id: startNode,
          kind: "start",
          label: `${event.definition.name}@${event.definition.version}`,
          detail: short(event.input),
          ...common,
        },
      ];
    case "signal": {
      const detail = `${event.from}${event.data === null ? "" : ` ${short(event.data)}`}`;
      return [{ id: signalNode(at), kind: "signal", label: event.name, detail, ...common }];
    }
    case "forked": {
      const detail = [event.by, ...(event.model === undefined ? [] : [`model ${event.model}`])].join(", ");
      return [{ id: forkNode(at), kind: "fork", label: `effects ${event.effects}`, detail, ...common }];
    }
    case "migrated":
      return [
        {
          id: moveNode(at),
          kind: "move",
          label: `${event.to.name}@${event.to.version}`,
          detail: event.by,
          ...common,
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

/** `inLine`: its place in the line, where the ledger ends with one. */
function nodeOf(told: ToldIntent, { numbers }: Account, inLine: number | undefined): GraphNode {
  const { intent, attempt, input, place } = told;
  const common = { id: intent.id, intent: intent.id, turn: place.turn, at: place.at, attempts: attempt };
  const node = { ...common, status: statusOf(told) };
  switch (intent.kind) {
    case "tool":
      return {
        ...node,
        kind: intent.undoes === undefined ? "tool" : "compensation",
        label: intent.name,
        detail: short(input),
      };
    case "model": {
      const number = numbers.get(intent.id) ?? 0;
      const asked = number > 0 ? ({ kind: "decision", label: `decision ${number}` } as const) : undefined;
      const label = isSummary(intent.input) ? "summary" : "model call";
      return { ...node, ...(asked ?? { kind: "model", label }), detail: intent.name };
    }
    case "saga":
      return {
        ...node,
        kind: intent.undoes === undefined ? "child" : "compensation",
        label: intent.name,
        detail: inLine === undefined ? intent.saga : `${intent.saga}, ${describePlace(inLine)}`,
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

function statusOf(told: ToldIntent): GraphStatus {
  const outcome = outcomeOf(told);
  return outcome ?? "open";
}

/** What stood when it ended may have been undone since. */
function undoneIn({ undone }: Account, node: GraphNode): GraphNode {
  const isOver = node.kind !== "end" && (node.status === "succeeded" || node.status === "in_doubt");
  return isOver && node.intent !== undefined && undone.has(node.intent)
    ? { ...node, status: "undone" }
    : node;
}

const shortMax = 60;

/** On one line, cut where it grows long. */
function short(value: Json | undefined): string {
  const text = value === undefined ? "" : JSON.stringify(value);
  return shortened(text, shortMax);
}

function distinct(edges: readonly GraphEdge[]): GraphEdge[] {
  const seen = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.to} ${edge.reason}`;
    if (!seen.has(key)) seen.set(key, edge);
  }
  return [...seen.values()];
}
