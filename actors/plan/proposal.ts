/**
 * Plan proposal: what a model answered to one step of planning, taken into the draft, and what is to be asked next.
 *
 * PP1 An answer is taken whole or not at all. What cannot be read changes nothing.
 * PP2 Nothing is asked about who does a node before the graph stands: a plan in a circle costs no word about its
 *     agents.
 * PP3 What was said of a node stays with its name, so mending the graph does not lose it.
 */
import { z } from "zod";
import { contentTypes, decode } from "../../protocol/codec.ts";
import { describeError } from "../../protocol/errors.ts";
import { Name } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import {
  Draft,
  EdgeProfile,
  EdgeSpecs,
  edgeKey,
  NodeProfile,
  NodeSpecs,
  PlainSchema,
  Plan,
  type PlanCatalogue,
  type PlanFinding,
  PlanFrame,
  planMended,
  type PlanStep,
  planWarnings,
} from "../../protocol/documents/plan.ts";
import { fault } from "./catalogue.ts";
import { graphFindings } from "./graph.ts";
import { specFindings } from "./specs.ts";

const nodes = z.array(NodeProfile).min(1).max(limits.nodesMax);
const edges = z.array(EdgeProfile).max(limits.edgesMax);
const edgeName = z.string().max(200);
const logs = z.strictObject({
  nodes: z.record(Name, PlainSchema).default({}),
  edges: z.record(edgeName, PlainSchema).default({}),
});
const agents = z.strictObject({
  nodes: z.record(Name, NodeSpecs).default({}),
  edges: z.record(edgeName, EdgeSpecs).default({}),
});
const graph = z.strictObject({ ...PlanFrame.shape, nodes, edges }).partial();

/** What each step is to be answered with. */
export const planForms = {
  roles: PlanFrame,
  nodes: z.strictObject({ nodes }),
  edges: z.strictObject({ edges }),
  graph,
  logs: z.strictObject({ logs }),
  agents: z.strictObject({ agents }),
  whole: graph.extend({ logs: logs.optional(), agents: agents.optional() }),
} as const satisfies Record<PlanStep, z.ZodType>;

type Reply = z.infer<(typeof planForms)["whole"]>;

export interface Judged {
  readonly draft: Draft;
  readonly findings: readonly PlanFinding[];
  /** How many there are, where not all are listed. */
  readonly found: number;
  /** What is to be asked next; undefined: nothing, it is a plan. */
  readonly next?: PlanStep | undefined;
}

export const emptyDraft: Draft = { v: 1, nodes: [], edges: [] } as const satisfies Partial<Draft>;

/** Takes in an answer and judges what there is by now. */
export function judgeProposal(step: PlanStep, draft: Draft, said: string, catalogue: PlanCatalogue): Judged {
  const reply = readReply(step, said);
  if ("findings" in reply) return judged(draft, reply.findings, step);
  const { next, strangers } = merged(draft, reply);
  if (strangers.length > 0) return judged(next, strangers, step);
  if (step === "roles") return judged(next, [], "nodes");
  if (step === "nodes") return judged(next, [], "edges");
  const inGraph = graphFindings(next, catalogue).filter(isMended);
  if (inGraph.length > 0) return judged(next, inGraph, "graph"); // PP2
  const isSpecified = next.nodes.some(
    ({ log, compensation }) => log !== undefined || compensation !== undefined,
  );
  if (!isSpecified) return judged(next, [], "logs");
  if (step === "logs") return judged(next, [], "agents");
  const findings = [...specFindings(next, catalogue).filter(isMended), ...formFindings(next)];
  return judged(next, findings, findings.length > 0 ? "whole" : undefined);
}

/** What a planner is asked to mend: all that is wrong, and what may go wrong that a plan can say better. */
const isMended = ({ code }: PlanFinding): boolean => !planWarnings.has(code) || planMended.has(code);

/** All that is wrong with a plan as it was handed in; of one that runs, what may go wrong in some runs. */
export function planFindings(
  value: unknown,
  catalogue: PlanCatalogue,
):
  | { readonly plan: Plan; readonly warnings: readonly PlanFinding[] }
  | { readonly findings: readonly PlanFinding[] } {
  const draft = Draft.safeParse(value);
  if (!draft.success) return { findings: issuesOf(draft.error) };
  const found = [...graphFindings(draft.data, catalogue), ...specFindings(draft.data, catalogue)];
  const isRefused = found.some(({ code }) => !planWarnings.has(code));
  const plan = Plan.safeParse(value);
  if (plan.success && !isRefused) return { plan: plan.data, warnings: found };
  return { findings: [...found, ...(isRefused ? [] : formFindings(draft.data))] };
}

/** What a form says besides what is said better elsewhere. */
function formFindings(draft: Draft): PlanFinding[] {
  const read = Plan.safeParse(draft);
  return read.success ? [] : issuesOf(read.error).filter(({ at }) => !/\/(log|compensation)$/.test(at));
}

function judged(draft: Draft, findings: readonly PlanFinding[], next: PlanStep | undefined): Judged {
  const listed = findings.slice(0, limits.planFindingsMax);
  return { draft, findings: listed, found: findings.length, ...(next === undefined ? {} : { next }) };
}

/** PP1 */
function readReply(step: PlanStep, said: string): Reply | { findings: PlanFinding[] } {
  const { planReplyCharactersMax: most } = limits;
  if (said.length > most)
    return {
      findings: [fault("TOO_LARGE", "", `the answer has more than ${most} characters: plan less at once`)],
    };
  let raw: Json;
  try {
    raw = decode(new TextEncoder().encode(jsonIn(said)), contentTypes.json, 4 * most);
  } catch (error) {
    return {
      findings: [fault("NOT_A_PLAN", "", `the answer is no JSON: ${describeError(error).slice(0, 300)}`)],
    };
  }
  const read = planForms[step].safeParse(raw);
  if (!read.success) return { findings: issuesOf(read.error) };
  // What was left out is not said, whatever a form takes it for.
  const saidMembers = Object.entries(read.data).filter(([key]) => Object.hasOwn(raw as object, key));
  return step === "roles" ? read.data : Object.fromEntries(saidMembers);
}

/** A model may put its JSON into a fence, or a sentence before it. */
const jsonIn = (said: string): string => {
  const [from, to] = [said.indexOf("{"), said.lastIndexOf("}")];
  return from === -1 || to < from ? said : said.slice(from, to + 1);
};

const issuesOf = ({ issues }: z.ZodError): PlanFinding[] =>
  issues.map(({ path, message, code }) => {
    const at = path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
    return fault(code === "too_big" ? "TOO_LARGE" : "NOT_A_PLAN", at, message.slice(0, 500));
  });

/** PP3 */
function merged(
  draft: Draft,
  { nodes, edges, logs, agents, ...frame }: Reply,
): { next: Draft; strangers: PlanFinding[] } {
  const specsOf = <T extends { run?: string | undefined }>(one: T, before: T | undefined) => {
    const { log, agent, compensation } = (before ?? {}) as Partial<Draft["nodes"][number]>;
    const kept = { log, compensation, ...(one.run === undefined ? { agent } : {}) };
    return { ...Object.fromEntries(Object.entries(kept).filter(([, spec]) => spec !== undefined)), ...one };
  };
  const profiledNodes =
    nodes?.map((node) =>
      specsOf<Draft["nodes"][number]>(
        node,
        draft.nodes.find(({ name }) => name === node.name),
      ),
    ) ?? draft.nodes;
  const profiledEdges =
    edges?.map((edge) =>
      specsOf<Draft["edges"][number]>(
        edge,
        draft.edges.find((other) => edgeKey(other) === edgeKey(edge)),
      ),
    ) ?? draft.edges;
  const next = {
    ...draft,
    ...frame,
    nodes: profiledNodes.map((node) => withSpecs(node, node.name, logs?.nodes, agents?.nodes)),
    edges: profiledEdges.map((edge) => withSpecs(edge, edgeKey(edge), logs?.edges, agents?.edges)),
  };
  const known = {
    nodes: new Set(next.nodes.map(({ name }) => name)),
    edges: new Set(next.edges.map(edgeKey)),
  };
  const strangers = (["nodes", "edges"] as const).flatMap((of) =>
    [...Object.keys(logs?.[of] ?? {}), ...Object.keys(agents?.[of] ?? {})]
      .filter((name) => !known[of].has(name))
      .map((name) =>
        fault("DANGLING", `/${of}`, `"${name}" is none of its ${of}; an edge is named "from->to"`),
      ),
  );
  return { next: toJson(next) as unknown as Draft, strangers }; // Proof: of parts that their forms have read.
}

function withSpecs<T extends object>(
  one: T,
  name: string,
  logs: Readonly<Record<string, PlainSchema>> = {},
  specs: Readonly<Record<string, object>> = {},
): T {
  const log = Object.hasOwn(logs, name) ? { log: logs[name] } : {};
  if (!Object.hasOwn(specs, name)) return { ...one, ...log };
  const { agent: _before, ...rest } = one as T & { agent?: unknown };
  return { ...rest, ...log, ...specs[name] } as T; // What is said of its specs takes the place of what was said.
}
