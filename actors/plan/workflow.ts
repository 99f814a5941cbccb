/**
 * Plan workflow: a plan made into a workflow that runs, its names bound to what an application has.
 *
 * PW1 What runs is what was checked: a plan with a finding is none. The hash of its definition covers all of it.
 * PW2 An edge that does something is a node of its own, on the way from one to the other. What a carried edge logs is
 *     judged with the output it carries: what does not fit fails the node that said it, before anything rests on it.
 */
import { z } from "zod";
import { type Json, toJson } from "../../protocol/json.ts";
import type {
  DraftEdge,
  PlainSchema,
  Plan,
  PlanAgent,
  PlanCatalogue,
  PlanCheck,
  PlanFinding,
  PlanUndo,
} from "../../protocol/documents/plan.ts";
import type { Edge, PlannedNode } from "../../protocol/workflow.ts";
import type { Callable } from "../machine/callable.ts";
import { holdsOf, type Predicates } from "../values/condition.ts";
import { defineAgent } from "../agent/define.ts";
import { defineWorkflow, type NodeConfig, type Runnable } from "../workflow/define.ts";
import type { SagaDefinition, SignalSchemas } from "../contract/definition.ts";
import { catalogueOf } from "./catalogue.ts";
import { agentName, edgeNodeName } from "./graph.ts";
import { planFindings } from "./proposal.ts";
import { named, schemaOfPlan } from "./schema.ts";
import { isCarried } from "./specs.ts";
import type { Tool } from "../contract/tool.ts";
import type { Validator } from "../validators/validator.ts";
import { nodeOfPlan } from "../workflow/plan.ts";

/** What an application offers to plans. */
export interface PlanParts {
  readonly tools: readonly Tool[];
  readonly sagas: readonly SagaDefinition[];
  readonly models: readonly string[];
  readonly predicates: Predicates;
  readonly validators: readonly Validator[];
}

/** Something on the way of a plan: a node, or an edge that does something. */
interface Stop {
  readonly name: string;
  readonly does: string;
  readonly run?: string | undefined;
  readonly agent?: PlanAgent | undefined;
  readonly input?: Json | undefined;
  readonly compensation: PlanUndo;
  readonly log: PlainSchema;
  /** By where they lead to, what the edges from here carry. */
  readonly carries: readonly (readonly [string, PlainSchema])[];
  readonly when?: PlannedNode["when"];
  readonly join?: PlannedNode["join"];
  readonly optional?: true | undefined;
  readonly success: readonly PlanCheck[];
}

/**
 * The workflow that a plan describes: its definition, with the agents that the plan brings. All findings, if it has any.
 */
export function workflowOfPlan(
  value: unknown,
  parts: PlanParts,
): { readonly workflow: SagaDefinition } | { readonly findings: readonly PlanFinding[] } {
  const read = planFindings(value, catalogueOfParts(parts));
  if ("findings" in read) return read;
  const { plan } = read;
  const { stops, edges } = stopsOf(plan);
  const callables = new Map<string, Callable>(
    [...parts.sagas, ...parts.tools].map((one) => [one.name, one] as const), // Of one name the tool is meant.
  );
  const nodes = Object.fromEntries(stops.map((stop) => [stop.name, nodeOf(plan, stop, callables, parts)]));
  const workflow = defineWorkflow<z.ZodType, Record<string, Runnable>, z.ZodType, SignalSchemas>({
    name: plan.name,
    version: plan.version,
    ...(plan.description === undefined ? {} : { description: plan.description }),
    input: plan.input === undefined ? z.json() : readSchema(plan.input),
    signals: {},
    nodes,
    edges,
    predicates: parts.predicates,
    content: toJson(plan), // PW1
    validators: { plan: judgesOf(plan, parts.validators) },
    pinned: { goals: plan.goals, constraints: plan.constraints },
  });
  return { workflow };
}

const catalogueOfParts = (parts: PlanParts): PlanCatalogue =>
  catalogueOf({ ...parts, predicates: Object.keys(parts.predicates) });

/**
 * Who judges for a constraint: before each node commits that covers it, beside all that has committed; where none does,
 * the plan, before anything of it runs.
 */
function judgesOf(
  { constraints, nodes }: Plan,
  validators: readonly Validator[],
  node?: string,
): Validator[] {
  const isMeant = (constraint: string): boolean => {
    const covering = nodes.filter(({ covers = [] }) => covers.includes(constraint));
    return node === undefined ? covering.length === 0 : covering.some(({ name }) => name === node);
  };
  const meant = new Set(
    constraints.filter(({ name }) => isMeant(name)).flatMap((one) => one.validators ?? []),
  );
  return validators.filter(({ name }) => meant.has(name));
}

/** PW2 */
function stopsOf(plan: Plan): { stops: Stop[]; edges: Edge[] } {
  const active = plan.edges.filter((edge) => !isCarried(edge));
  const carriedFrom = (name: string): [string, PlainSchema][] =>
    plan.edges.filter((edge) => isCarried(edge) && edge.from === name).map(({ to, log }) => [to, log]);
  const onTheWay = active.map((edge): Stop => {
    const { does, run, agent, input, compensation, log } = edge;
    const own = agent !== undefined && "instructions" in agent ? { agent } : {};
    return {
      name: edgeNodeName(edge),
      does,
      run,
      ...own,
      input,
      compensation,
      log,
      carries: [],
      success: [],
    };
  });
  const stops = plan.nodes.map(({ success = [], ...node }): Stop => ({
    ...node,
    success,
    carries: carriedFrom(node.name),
  }));
  return { stops: [...stops, ...onTheWay], edges: plan.edges.flatMap(edgesOf) };
}

const edgesOf = (edge: DraftEdge): Edge[] => {
  const { from, to, when } = edge;
  const first = { from, ...(when === undefined ? {} : { when }) };
  if (isCarried(edge)) return [{ ...first, to }];
  return [
    { ...first, to: edgeNodeName(edge) },
    { from: edgeNodeName(edge), to },
  ];
};

function nodeOf(
  plan: Plan,
  stop: Stop,
  callables: ReadonlyMap<string, Callable>,
  { predicates, tools, validators }: PlanParts,
): NodeConfig {
  const { name, does, run, agent, input, compensation, when, join, optional } = stop;
  const own = agent === undefined ? undefined : agentOfPlan(plan, name, does, agent, tools);
  const catalogue = own === undefined ? callables : new Map([...callables, [own.name, own]]);
  const planned: PlannedNode = {
    ...{ name, run: run ?? own?.name ?? "", ...(input === undefined ? {} : { input }) },
    ...("run" in compensation ? { compensation } : {}),
  };
  const judges = judgesOf(plan, validators, name);
  const made = nodeOfPlan(planned, [], catalogue);
  if ("faults" in made) throw new TypeError(made.faults.join("; ")); // Never: its names were looked up before.
  return {
    run: made.run as Runnable, // Tools and sagas alone are in the catalogue.
    description: does,
    input: made.input,
    ...(when === undefined ? {} : { when }),
    ...(join === undefined ? {} : { join }),
    ...(made.compensation === undefined
      ? {}
      : {
          compensation: {
            run: made.compensation.run as Runnable,
            input: made.compensation.input as NonNullable<NodeConfig["compensation"]>["input"],
          },
        }),
    ...("pointOfNoReturn" in compensation ? { pointOfNoReturn: true } : {}),
    ...(optional === undefined ? {} : { optional }),
    log: logSchema(stop, predicates),
    ...(judges.length === 0 ? {} : { validators: { commit: judges } }),
  };
}

/** An agent that a plan brings: instructions, a model and tools by name; no code. */
function agentOfPlan(
  plan: Plan,
  node: string,
  does: string,
  { model, instructions, tools, output, steps }: PlanAgent,
  known: readonly Tool[],
): SagaDefinition {
  return defineAgent({
    name: agentName(plan.name, node),
    version: plan.version,
    description: does,
    model,
    instructions,
    input: z.json(),
    output: readSchema(output),
    signals: {},
    tools: known.filter(({ name }) => tools.includes(name)),
    budget: { steps },
  });
}

function readSchema(schema: PlainSchema): z.ZodType<Json> {
  const made = schemaOfPlan(schema);
  if ("fault" in made) throw new TypeError(made.fault); // Never: its findings were looked for before.
  return made.read;
}

/** What is kept of an output, once what must hold of it does. */
function logSchema({ name, log, carries, success }: Stop, predicates: Predicates): z.ZodType {
  const kept = (output: Json, schema: PlainSchema): Json => readSchema(schema).parse(named(output, schema));
  return z.json().transform((said, context) => {
    const output = said;
    for (const check of success)
      if (!holdsOf({ node: name, ...check }, output, predicates))
        context.addIssue(`a success condition does not hold: ${JSON.stringify(check)}`);
    if (context.issues.length > 0) return z.NEVER;
    const own = kept(output, log);
    const over = carries.map(([to, schema]) => [to, kept(output, schema)]);
    return over.length === 0 ? own : { log: own, carried: Object.fromEntries(over) as Json };
  });
}
