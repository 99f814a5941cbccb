/**
 * Plan specs: whether each node and each edge has who does it, what is logged and what undoes it, and whether the plan
 * serves what it is for.
 *
 * PS1 Nothing is taken for granted: what cannot be undone says so, and what has nothing to be undone says that.
 */
import { toJson } from "../../protocol/json.ts";
import type {
  Draft,
  DraftEdge,
  DraftNode,
  PlanAgent,
  PlanCatalogue,
  PlanFinding,
  PlainSchema,
  PlanUndo,
} from "../../protocol/documents/plan.ts";
import { fault, isToolOffer, type Offer, offerOf, outputOf } from "./catalogue.ts";
import { coverFindings } from "./cover.ts";
import { fitOf } from "./fit.ts";
import { misfitFindings, undoFindings } from "./inputs.ts";
import { schemaOfPlan } from "./schema.ts";

/** What is missing or wrong in the specs of each node and edge, and in what the plan covers. */
export function specFindings(draft: Draft, catalogue: PlanCatalogue): PlanFinding[] {
  const fromOf = new Map(draft.nodes.map((node) => [node.name, node]));
  return [
    ...(draft.input === undefined ? [] : schemaFindings("/input", draft.input)),
    ...draft.nodes.flatMap((node, k) => [
      ...performer(`/nodes/${k}`, node, catalogue),
      ...logOf(`/nodes/${k}`, node, node, catalogue),
      ...compensationOf(`/nodes/${k}`, node, catalogue),
    ]),
    ...draft.edges.flatMap((edge, k) => [
      ...performer(`/edges/${k}`, edge, catalogue),
      // What the runtime carries over an edge is what its beginning said.
      ...logOf(`/edges/${k}`, edge, isCarried(edge) ? fromOf.get(edge.from) : edge, catalogue),
      ...compensationOf(`/edges/${k}`, edge, catalogue),
    ]),
    ...coverage(draft, catalogue),
    ...coverFindings(draft, catalogue),
  ];
}

/** The runtime carries it: nothing is done on the way. */
export const isCarried = ({ run, agent }: DraftEdge): boolean =>
  run === undefined && agent !== undefined && "by" in agent;

const agentOf = ({ agent }: DraftNode | DraftEdge): PlanAgent | undefined =>
  agent !== undefined && "instructions" in agent ? agent : undefined;

function performer(at: string, one: DraftNode | DraftEdge, catalogue: PlanCatalogue): PlanFinding[] {
  const agent = agentOf(one);
  if (one.run !== undefined)
    return one.agent === undefined
      ? []
      : [
          fault(
            "AGENT_MISSING",
            `${at}/agent`,
            `"${one.run}" does it already: it has one of both, run or agent`,
          ),
        ];
  if (one.agent === undefined)
    return [
      fault(
        "AGENT_MISSING",
        `${at}/agent`,
        "it has neither a tool nor an agent: name what it runs, or give it an agent",
      ),
    ];
  if (agent === undefined) return [];
  return [
    ...(catalogue.models.includes(agent.model)
      ? []
      : [fault("MODEL_UNKNOWN", `${at}/agent/model`, `the application has no model "${agent.model}"`)]),
    ...agent.tools
      .filter((name) => !catalogue.tools.some((tool) => tool.name === name))
      .map((name) => fault("RUN_UNKNOWN", `${at}/agent/tools`, `the application has no tool "${name}"`)),
    ...schemaFindings(`${at}/agent/output`, agent.output),
  ];
}

const schemaFindings = (at: string, schema: PlainSchema): PlanFinding[] => {
  const read = schemaOfPlan(schema);
  return "fault" in read ? [fault("SCHEMA_INVALID", at, read.fault)] : [];
};

function logOf(
  at: string,
  { log }: DraftNode | DraftEdge,
  logged: DraftNode | DraftEdge | undefined,
  catalogue: PlanCatalogue,
): PlanFinding[] {
  if (log === undefined)
    return [fault("LOG_MISSING", `${at}/log`, "it has no log schema: say what of its output is kept")];
  const fit = logged && fitOf(outputOf(catalogue, logged), toJson(log));
  return [
    ...schemaFindings(`${at}/log`, log),
    ...misfitFindings(`${at}/log`, fit?.is === "no" ? fit.misfits : [], "LOG_UNFIT"),
  ];
}

function compensationOf(at: string, one: DraftNode | DraftEdge, catalogue: PlanCatalogue): PlanFinding[] {
  const { compensation } = one;
  const place = `${at}/compensation`;
  if (compensation === undefined)
    return [fault("COMPENSATION_MISSING", place, "nothing is said of what undoes it, if anything")];
  const offer = one.run === undefined ? undefined : offerOf(catalogue, one.run);
  if (one.run !== undefined && offer === undefined) return []; // Told of what it runs.
  const isCarriedEdge = "from" in one && isCarried(one);
  if ("by" in compensation) {
    const left = isCarriedEdge ? [] : notUndoneBy(one, offer, catalogue);
    if (left.length === 0) return [];
    const says = `nothing of its own undoes what ${left.join(", ")} did: name a compensation, or say that it is a point of no return`;
    return [fault("COMPENSATION_MISSING", place, says)];
  }
  if (isCarriedEdge)
    return [fault("COMPENSATION_INVALID", place, "nothing is done on this edge, so it is undone by itself")];
  return "run" in compensation ? undoneBy(place, one, offer, compensation, catalogue) : [];
}

/** What a node or edge may do that nothing undoes by its own contract. */
function notUndoneBy(
  one: DraftNode | DraftEdge,
  offer: Offer | undefined,
  catalogue: PlanCatalogue,
): string[] {
  const tools = offer === undefined ? (agentOf(one)?.tools ?? []) : isToolOffer(offer) ? [offer.name] : [];
  return tools.filter((name) => {
    const tool = catalogue.tools.find((other) => other.name === name);
    const isOwn = tool?.undoneBy !== undefined && tool.undoneBy !== "point_of_no_return";
    return tool !== undefined && tool.effect !== "read" && !isOwn;
  });
}

function undoneBy(
  at: string,
  one: DraftNode | DraftEdge,
  done: Offer | undefined,
  { run, input }: Extract<PlanUndo, { run: string }>,
  catalogue: PlanCatalogue,
): PlanFinding[] {
  const undoing = offerOf(catalogue, run);
  if (undoing === undefined)
    return [fault("RUN_UNKNOWN", `${at}/run`, `the application has no tool, agent or saga "${run}"`)];
  if (done !== undefined && isToolOffer(done) && done.effect === "read")
    return [
      fault("COMPENSATION_INVALID", at, `"${done.name}" reads and changes nothing: it is undone by itself`),
    ];
  if (isToolOffer(undoing) && undoing.effect !== "idempotent" && undoing.effect !== "probe") {
    const says = `"${run}" is "${undoing.effect}"; only "idempotent" or "probe" can be retried until it is done`;
    return [fault("COMPENSATION_INVALID", `${at}/run`, says)];
  }
  const made = done ?? { input: null, output: toJson(agentOf(one)?.output ?? {}) };
  return undoFindings(`${at}/input`, input, undoing, made);
}

/** Each goal is served by a node, and each constraint is checked by one or by a validator. */
function coverage({ goals = [], constraints = [], nodes }: Draft, catalogue: PlanCatalogue): PlanFinding[] {
  const covering = (name: string) => nodes.filter(({ covers = [] }) => covers.includes(name));
  const known = new Set([...goals, ...constraints].map(({ name }) => name));
  const validators = new Set(catalogue.validators.map(({ name }) => name));
  return [
    ...nodes.flatMap(({ covers = [] }, k) =>
      covers
        .filter((name) => !known.has(name))
        .map((name) =>
          fault("REF_UNKNOWN", `/nodes/${k}/covers`, `there is no goal or constraint "${name}"`),
        ),
    ),
    ...goals.flatMap(({ name }, k) =>
      covering(name).length > 0
        ? []
        : [fault("GOAL_UNSERVED", `/goals/${k}`, `no node covers the goal "${name}"`)],
    ),
    ...constraints.flatMap(({ name, validators: by = [] }, k) => [
      ...by
        .filter((one) => !validators.has(one))
        .map((one) => fault("RUN_UNKNOWN", `/constraints/${k}/validators`, `there is no validator "${one}"`)),
      ...(by.some((one) => validators.has(one)) ||
      covering(name).some(({ success = [] }) => success.length > 0)
        ? []
        : [
            fault(
              "CONSTRAINT_UNCOVERED",
              `/constraints/${k}`,
              `nothing checks "${name}": a node that covers it needs a success condition, or name a validator`,
            ),
          ]),
    ]),
  ];
}
