/**
 * Defining workflows: a graph of transactions, each with what undoes it.
 *
 * DN1 Defining never throws for a fault: faults are collected, and the application's load tells all at once.
 */
import { z } from "zod";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { Condition, Edge, type Invalidation } from "../../protocol/workflow.ts";
import type { Callable } from "../machine/callable.ts";
import type { Predicates } from "../values/condition.ts";
import { commonFaults, define } from "../contract/define.ts";
import type { Moves, SagaDefinition, SignalSchemas } from "../contract/definition.ts";
import { policyNames } from "../contract/inherit.ts";
import { askedIn, judgedFaults, type Judged, judgingIdentity, judgingOf, type NodeJudges } from "./judged.ts";
import { openMachine } from "../machine/machine.ts";
import type { Policy } from "../contract/policy.ts";
import type { EffectToUndo, Tool } from "../contract/tool.ts";
import { workflowKind } from "./kind.ts";
import { readGiven } from "../contract/given.ts";
import { workflowInstead, WorkflowShape } from "./shape.ts";
import { workflowMachine } from "./workflow.ts";
import { graphOf, startOf } from "./graph.ts";
import { nodeFaults, shapeFaults } from "./plan.ts";
import type { Graph, GraphNode, NodeContext, WorkflowSpec, WorkflowView } from "./spec.ts";
import { jsonSchema } from "../values/schema.ts";
import type { Budget } from "../contract/budget-config.ts";

/** What a node may run: a tool, an agent, or a saga of any kind, another workflow included. */
export type Runnable = Callable & { readonly kind: "tool" | "saga" };

/** One transaction of a workflow. */
export interface NodeConfig<I = unknown, C extends Runnable = Runnable> {
  run: C;
  description?: string;
  /** The input, made of the workflow's and of what earlier nodes said; the workflow's own unless given. Pure. */
  input?: (context: NodeContext<I>) => z.input<C["input"]>;
  /** Nodes that must have committed: short for an edge from each. */
  after?: readonly string[];
  /** What must hold besides its edges. What it names, the node rests on. */
  when?: Condition;
  /** Whether all of its edges must hold (the default), or one is enough. */
  join?: "all" | "any";
  /**
   * What undoes it, before what its tool declares: a tool, `idempotent` or `probe`, or a saga or agent that is started
   * for it. A saga that a node runs undoes by itself what it did, unless this is given. Pure.
   */
  compensation?: {
    run: Runnable;
    input: (effect: EffectToUndo<z.infer<C["input"]>, z.infer<C["output"]>>) => unknown;
  };
  /** Once it has committed it stays, whatever happens; what rests on it alone stays with it. */
  pointOfNoReturn?: true;
  /** The workflow completes without it. */
  optional?: true;
  /** What of its output is kept for people and validators. An output that does not fit is a failure. */
  log?: z.ZodType;
  /** Who judges it, besides those of the workflow. They judge what a patch puts in its place, too. */
  validators?: NodeJudges;
}

/** What a workflow is made of. */
export interface WorkflowConfig<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas,
  N extends Readonly<Record<string, Runnable>>,
> extends Judged {
  /** A letter, then up to 63 letters, digits, _ or -. */
  name: string;
  /** Raise it when the graph decides otherwise than before; running sagas keep theirs. */
  version: number;
  /** How its sagas move to a newer version; `pinned` unless given. */
  moves?: Moves;
  description?: string;
  input: I;
  /** Of what `result` makes; any JSON unless given. */
  output?: O;
  /** The output; what the nodes said, by their names, unless given. Pure. */
  result?: (view: WorkflowView<z.infer<I>>) => z.input<O>;
  nodes: { readonly [K in keyof N]: NodeConfig<z.infer<I>, N[K]> };
  /** `when` is about what `from` said; without it, that it committed is enough. */
  edges?: readonly Edge[];
  /** By the name that conditions give after `is`, besides equals, differs, atLeast, atMost, oneOf, present. Pure. */
  predicates?: Predicates;
  /** What the outside may send besides `invalidate`, `conclude` and `cancel`; the latest of each is shown to inputs. */
  signals?: S;
  /** What a signal of these invalidates. Pure. */
  on?: {
    readonly [K in keyof S]?: (
      data: z.infer<S[K]>,
      view: WorkflowView<z.infer<I>>,
    ) => readonly Invalidation[];
  };
  /**
   * What follows when a node fails for good, or what it did is invalidated, once all that rests on it is undone: the
   * workflow fails (`end`, the default), or that part is done again (`replan`).
   */
  onFailure?: "end" | "replan";
  /** How often, in all; 1 unless given. */
  replansMax?: number;
  /** What a failed workflow leaves: nothing that can be undone (`undo`, the default), or what the failure did not touch. */
  atEnd?: "undo" | "keep";
  /**
   * Says what to do instead of the same again: is called with what failed, what each node came to and what the outside
   * said, and answers a patch of the graph.
   */
  replanner?: Runnable;
  /** What patches may name besides what the nodes name. */
  uses?: readonly Runnable[];
  /**
   * How long what is done can still be invalidated, milliseconds from the last commit: until then the workflow waits,
   * at no cost. 0 unless given: it ends at once. The signal `conclude` ends it sooner.
   */
  openForMs?: number | ((view: WorkflowView<z.infer<I>>) => number);
  /** Asked about every call of a node's and of what it starts, before it becomes an intent. */
  policies?: readonly Policy[];
  /** Shared with all below it; what it refuses is that node's failure, with BUDGET_EXCEEDED. */
  budget?: Budget;
  /** What the definition was made from, where that is data: part of its hash, as code cannot be. */
  content?: Json;
}

/**
 * Declares a workflow: a saga whose graph says what runs after what. Nodes that are ready together run in parallel.
 * What undoes a node is registered with its commit; whatever happens, and whichever process dies in the middle, in the end each
 * node has committed with its compensation registered, or was undone once, or a human has a task about it.
 *
 * Faults, told at load: a cycle, no root, an edge to nowhere, an unknown predicate, a node that nothing undoes.
 */
export function defineWorkflow<
  I extends z.ZodType,
  const N extends Readonly<Record<string, Runnable>>,
  O extends z.ZodType = z.ZodType,
  S extends SignalSchemas = Record<string, never>,
>(given: WorkflowConfig<I, O, S, N>): SagaDefinition<I, O, S> {
  const { config, faults: inShape } = readGiven("workflow", WorkflowShape, given, workflowInstead);
  const { name, input, predicates = {}, policies, budget } = config;
  const signals = config.signals ?? ({} as S); // Proof: S is this where no signals are given.
  const output = config.output ?? (z.json() as z.ZodType as O); // As S.
  const erased = config as unknown as ErasedConfig; // Its functions take what their own schemas read.
  const faults = [...inShape, ...commonFaults({ ...config, signals })];
  const edges = edgesOf(erased);
  const sound = edges.filter((edge) => Edge.safeParse(edge).success);
  const nodes = Object.entries(erased.nodes).map(([key, node]) => nodeOf(key, node, sound));
  faults.push(...formFaults(name, erased, edges), ...shapeFaults(name, nodes, predicates));
  for (const node of nodes) faults.push(...nodeFaults(name, node));
  const judging = judgingOf(config, erased.nodes);
  faults.push(...boundFaults(name, erased), ...judgedFaults(name, config));
  for (const signal of Object.keys(erased.on ?? {}))
    if (!Object.hasOwn(signals, signal))
      faults.push(`${name}: "on" names "${signal}", which is no signal of it`);
  const graph = graphOf(nodes);
  const callables = callablesOf(erased, nodes);
  const spec: WorkflowSpec = {
    ...{ name, input, output, graph, predicates },
    catalogue: new Map(callables.map((one) => [one.name, one])),
    result: erased.result,
    on: erased.on ?? {},
    onFailure: config.onFailure ?? "end",
    replansMax: config.replansMax ?? limits.replansMax,
    atEnd: config.atEnd ?? "undo",
    replanner: config.replanner,
    openForMs: erased.openForMs ?? 0,
    judging,
  };
  return define(
    workflowKind,
    { ...config, signals, output },
    {
      own: spec,
      machine: openMachine(workflowMachine(spec), { builtin: true }),
      callables: judging === undefined ? callables : [...callables, ...askedIn(judging)],
      faults,
      identity: {
        graph: graphIdentity(graph),
        policies: policyNames(policies),
        predicates: Object.keys(predicates).sort(),
        on: Object.keys(erased.on ?? {}).sort(),
        replanner: config.replanner?.name,
        uses: config.uses?.map((one) => one.name),
        ...{ budget, onFailure: spec.onFailure, replansMax: spec.replansMax, atEnd: spec.atEnd },
        openForMs: typeof spec.openForMs === "number" ? spec.openForMs : "by the view",
        judging: judging && judgingIdentity(judging),
        ...(config.content === undefined ? {} : { content: config.content }),
      },
      whenEarly: "ignore",
      budget,
      policies,
    },
  );
}

/** A configuration without its types: the machine parses before it calls. */
interface ErasedConfig {
  readonly nodes: Readonly<Record<string, NodeConfig>>;
  readonly edges?: readonly Edge[];
  readonly replanner?: Runnable;
  readonly uses?: readonly Runnable[];
  readonly result?: WorkflowSpec["result"];
  readonly on?: WorkflowSpec["on"];
  readonly openForMs?: WorkflowSpec["openForMs"];
  readonly replansMax?: number;
}

function nodeOf(name: string, config: NodeConfig, edges: readonly Edge[]): GraphNode {
  const { run, input, compensation, log, join } = config;
  const when = Condition.safeParse(config.when).success ? config.when : undefined; // A fault of its own.
  return {
    name,
    run,
    description: config.description,
    input: input ?? ((context) => context.input),
    when: startOf({ name, when, join }, edges),
    compensation:
      compensation === undefined
        ? undefined
        : {
            run: compensation.run,
            input: compensation.input,
          },
    pointOfNoReturn: config.pointOfNoReturn === true || isFinal(config),
    optional: config.optional === true,
    log,
  };
}

const isFinal = ({ run, compensation }: NodeConfig): boolean =>
  compensation === undefined && run.kind === "tool" && (run as Tool).compensation === "point_of_no_return";

const edgesOf = ({ nodes, edges = [] }: ErasedConfig): Edge[] => [
  ...Object.entries(nodes).flatMap(([to, { after = [] }]) => after.map((from) => ({ from, to }))),
  ...edges,
];

/** Everything that may become an intent, each once. */
function callablesOf({ replanner, uses = [] }: ErasedConfig, nodes: readonly GraphNode[]): Callable[] {
  const named = nodes.flatMap(({ run, compensation }) => [
    run,
    ...(compensation === undefined ? [] : [compensation.run]),
  ]);
  return [...new Set([...named, ...uses, ...(replanner === undefined ? [] : [replanner])])];
}

/** What JavaScript lets through and no type does: conditions and edges that are none, an edge into nowhere. */
function formFaults(where: string, { nodes }: ErasedConfig, edges: readonly Edge[]): string[] {
  const faults: string[] = [];
  for (const [name, { when }] of Object.entries(nodes))
    if (when !== undefined && !Condition.safeParse(when).success)
      faults.push(`${where}: the condition of "${name}" is none: ${JSON.stringify(when).slice(0, 200)}`);
  for (const edge of edges) {
    if (!Edge.safeParse(edge).success)
      faults.push(`${where}: ${JSON.stringify(edge).slice(0, 200)} is no edge`);
    else if (!Object.hasOwn(nodes, edge.to))
      faults.push(`${where}: an edge goes from "${edge.from}" to "${edge.to}", which is no node of it`);
  }
  for (const name of Object.keys(nodes))
    if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name)) faults.push(`${where}: "${name}" is not a node's name`);
  return faults;
}

function boundFaults(where: string, { replansMax, openForMs, nodes }: ErasedConfig): string[] {
  const faults: string[] = [];
  if (replansMax !== undefined && (!Number.isInteger(replansMax) || replansMax < 0))
    faults.push(`${where}: replansMax is ${replansMax}, not a whole number from 0`);
  if (typeof openForMs === "number" && !(openForMs >= 0 && openForMs <= limits.timerMaxMs))
    faults.push(`${where}: openForMs is ${openForMs}, not between 0 and ${limits.timerMaxMs}`);
  if (Object.keys(nodes).length > limits.nodesMax)
    faults.push(`${where}: it has more than ${limits.nodesMax} nodes`);
  return faults;
}

/** A graph as data: what of it decides, without its functions, whose text differs between source and build. */
const graphIdentity = ({ nodes }: Graph): unknown =>
  [...nodes.values()].map((node) => ({
    name: node.name,
    run: node.run.name,
    when: toJson(node.when),
    compensation: node.compensation?.run.name,
    pointOfNoReturn: node.pointOfNoReturn,
    optional: node.optional,
    ...(node.log instanceof z.ZodType ? { log: jsonSchema(node.log) } : {}),
  }));
