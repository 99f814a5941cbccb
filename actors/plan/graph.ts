/**
 * Plan graph: whether the shape of a plan is one that can be run, before a model is asked about its agents.
 *
 * PG1 All that is wrong with a shape is told at once. Each cycle is told once, with all who are in it.
 */
import {
  type Draft,
  type DraftNode,
  edgeKey,
  type PlanCatalogue,
  type PlanFinding,
} from "../../protocol/documents/plan.ts";
import type { Condition } from "../../protocol/workflow.ts";
import { conditionFaults, namedIn, type Predicates } from "../values/condition.ts";
import { fault, offerOf, outputOf, partOf, quoted } from "./catalogue.ts";
import { inputFindings } from "./inputs.ts";
import { groundOf, startOf } from "../workflow/graph.ts";

/** What each node of a plan rests on: by its edges and by its own condition. */
export const restsOn = ({ nodes, edges }: Draft): Map<string, readonly string[]> =>
  new Map(nodes.map((node) => [node.name, namedIn(startOf(node, edges))]));

/** An edge that does something is a node on the way. */
export const edgeNodeName = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  `${from}--${to}`;

/** The shape, the names and what flows where. */
export function graphFindings(draft: Draft, catalogue: PlanCatalogue): PlanFinding[] {
  const rests = restsOn(draft);
  return [
    ...(draft.nodes.length === 0 ? [fault("EMPTY", "/nodes", "a plan has at least one node")] : []),
    ...duplicates(draft),
    ...dangling(draft),
    ...cycles(draft, rests),
    ...roles(draft),
    ...runs(draft, catalogue),
    ...conditions(draft, catalogue),
    ...unusableNames(draft),
    ...inputFindings(draft, catalogue, rests),
  ];
}

function duplicates({ roles = [], goals = [], constraints = [], nodes, edges }: Draft): PlanFinding[] {
  const twice = (at: string, names: readonly string[]): PlanFinding[] =>
    names.flatMap((name, k) =>
      names.indexOf(name) < k
        ? [fault("DUPLICATE", `${at}/${k}`, `there is another "${name}" before it`)]
        : [],
    );
  return [
    ...twice(
      "/roles",
      roles.map(({ name }) => name),
    ),
    ...twice(
      "/goals",
      goals.map(({ name }) => name),
    ),
    // Nodes say which of both they serve, by name.
    ...constraints.flatMap(({ name }, k) =>
      [...goals, ...constraints.slice(0, k)].some((other) => other.name === name)
        ? [fault("DUPLICATE", `/constraints/${k}`, `a goal or constraint before it is named "${name}", too`)]
        : [],
    ),
    ...twice(
      "/nodes",
      nodes.map(({ name }) => name),
    ),
    ...twice("/edges", edges.map(edgeKey)),
  ];
}

function dangling({ nodes, edges }: Draft): PlanFinding[] {
  const known = new Set(nodes.map(({ name }) => name));
  const said = (at: string, when: Condition | undefined) =>
    (when === undefined ? [] : namedIn(when))
      .filter((name) => !known.has(name))
      .map((name) => fault("DANGLING", `${at}/when`, `its condition names "${name}", which is no node`));
  return [
    ...edges.flatMap((edge, k) => [
      ...(["from", "to"] as const).flatMap((end) =>
        known.has(edge[end])
          ? []
          : [
              fault(
                "DANGLING",
                `/edges/${k}/${end}`,
                `the edge goes ${end} "${edge[end]}", which is no node`,
              ),
            ],
      ),
      ...said(`/edges/${k}`, edge.when),
    ]),
    ...nodes.flatMap((node, k) => said(`/nodes/${k}`, node.when)),
  ];
}

/** PG1. Also what waits for a cycle, and so is never reached. */
function cycles({ nodes }: Draft, rests: ReadonlyMap<string, readonly string[]>): PlanFinding[] {
  const names = [...rests.keys()];
  const ground = new Map(names.map((name) => [name, groundOf({ restsOn: rests }, name)]));
  const inCycle = (name: string): boolean => ground.get(name)?.has(name) === true;
  const at = (name: string) => `/nodes/${nodes.findIndex((node) => node.name === name)}`;
  const told = new Set<string>();
  const findings: PlanFinding[] = [];
  for (const name of names) {
    if (told.has(name) || !inCycle(name)) continue;
    const ring = names.filter((other) => ground.get(name)?.has(other) && ground.get(other)?.has(name));
    for (const one of ring) told.add(one);
    findings.push(fault("CYCLE", at(name), `these wait for each other, for ever: ${quoted(ring)}`));
  }
  if (names.length > 0 && [...rests.values()].every((others) => others.length > 0))
    findings.push(fault("NO_ROOT", "/nodes", "every node waits for another, so none ever begins"));
  for (const name of names)
    if (!inCycle(name) && [...(ground.get(name) ?? [])].some(inCycle))
      findings.push(fault("UNREACHABLE", at(name), `"${name}" waits for a cycle, so it never begins`));
  return findings;
}

const roles = ({ roles: known = [], nodes }: Draft): PlanFinding[] =>
  nodes.flatMap(({ role }, k) =>
    known.some(({ name }) => name === role)
      ? []
      : [fault("ROLE_UNKNOWN", `/nodes/${k}/role`, `there is no role "${role}"`)],
  );

export const runs = ({ nodes, edges }: Draft, catalogue: PlanCatalogue): PlanFinding[] =>
  [
    ...nodes.map((one, k) => [`/nodes/${k}`, one] as const),
    ...edges.map((one, k) => [`/edges/${k}`, one] as const),
  ]
    .filter(([, { run }]) => run !== undefined && offerOf(catalogue, run) === undefined)
    .map(([at, { run = "" }]) =>
      fault("RUN_UNKNOWN", `${at}/run`, `the application has no tool, agent or saga "${run}"`),
    );

function conditions(draft: Draft, catalogue: PlanCatalogue): PlanFinding[] {
  const { nodes, edges } = draft;
  const own = Object.fromEntries(catalogue.predicates.map((name) => [name, () => false])) as Predicates;
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const judge = (at: string, condition: Condition | undefined): PlanFinding[] =>
    condition === undefined
      ? []
      : [...conditionFaults("it", condition, own), ...pointlessParts(condition, byName, catalogue)].map(
          (says) => fault("CONDITION_INVALID", at, says),
        );
  return [
    ...nodes.flatMap((node, k) => [
      ...judge(`/nodes/${k}/when`, node.when),
      ...(node.success ?? []).flatMap((check, c) =>
        judge(`/nodes/${k}/success/${c}`, { node: node.name, ...check }),
      ),
    ]),
    ...edges.flatMap(({ when }, k) => judge(`/edges/${k}/when`, when)),
  ];
}

/** What a condition says of a part of an output that no such output has. */
function pointlessParts(
  condition: Condition,
  nodes: ReadonlyMap<string, DraftNode>,
  catalogue: PlanCatalogue,
): string[] {
  if ("not" in condition) return pointlessParts(condition.not, nodes, catalogue);
  if (!("node" in condition))
    return ("all" in condition ? condition.all : condition.any).flatMap((part) =>
      pointlessParts(part, nodes, catalogue),
    );
  const { node: name, at = "" } = condition;
  const node = nodes.get(name);
  if (node === undefined || partOf(outputOf(catalogue, node), at) !== "nothing") return [];
  return [`what "${name}" says has nothing at "${at}"`];
}

/** Names that the runtime needs for itself. */
function unusableNames({ name: plan = "", nodes, edges }: Draft): PlanFinding[] {
  const taken = new Set(nodes.map(({ name }) => name));
  const isActive = (edge: Draft["edges"][number]) =>
    edge.run !== undefined || (edge.agent !== undefined && "output" in edge.agent);
  return [
    ...nodes.flatMap(({ name, run }, k) => [
      ...(name === "undo" || name === "plan" || name === "judge"
        ? [fault("NAME_UNUSABLE", `/nodes/${k}/name`, `"${name}" is the runtime's own; name it otherwise`)]
        : []),
      ...(run === undefined && agentName(plan, name).length > 64
        ? [fault("NAME_UNUSABLE", `/nodes/${k}/name`, `with the plan's name it has more than 64 characters`)]
        : []),
    ]),
    ...edges.filter(isActive).flatMap((edge) => {
      const name = edgeNodeName(edge);
      const isTooLong = agentName(plan, name).length > 64;
      if (!isTooLong && !taken.has(name)) return [];
      const why = isTooLong ? "has more than 64 characters" : "is a node's";
      const says = `the edge does something, and the name it has for that, "${name}", ${why}: shorten the names`;
      return [fault("NAME_UNUSABLE", `/edges/${edges.indexOf(edge)}`, says)];
    }),
  ];
}

/** The name of the agent that a plan makes for a node or an edge. */
export const agentName = (plan: string, node: string): string => `${plan}_${node}`;
