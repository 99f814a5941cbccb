/**
 * Planner: the loop that makes a plan from a specification, as a saga of its own (Algorithm 1 of the SagaLLM paper).
 *
 * roles → nodes with profiles → edges → is it a graph? → logs → agents and compensations → is it a plan? At each of the
 * two questions what is wrong is shown to the model, which mends it.
 *
 * PL1 Every question, answer and verdict is an intent and its result, so the ledger tells how a plan came to be, and a
 *     host that dies in the middle loses none of it. The verdict is recorded, not recomputed: a later version of the
 *     checks does not change what was decided.
 * PL2 It ends: each mending is one of `rounds`, and tokens are bounded by the saga's budget.
 * PL3 It ends with a plan that has no finding, or failed with PLAN_INVALID and all findings of the last verdict.
 */
import { assign, setup } from "xstate";
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { limits } from "../../protocol/limits.ts";
import {
  Draft,
  Plan,
  PlanCatalogue,
  PlanFinding,
  type PlanRefusal,
  PlanStep,
} from "../../protocol/documents/plan.ts";
import { modelCall, toActors } from "../machine/callable.ts";
import { defineSaga } from "../saga/define.ts";
import type { SagaDefinition } from "../contract/definition.ts";
import { coverOf } from "./cover.ts";
import { emptyDraft, planForms } from "./proposal.ts";
import type { Tool } from "../contract/tool.ts";
import type { Budget } from "../contract/budget-config.ts";

export const PlanRequest = z.object({
  spec: z.string().min(1).max(limits.planSpecCharactersMax),
  catalogue: PlanCatalogue,
  /** How often what is wrong may be mended. */
  rounds: z.int().min(0).max(limits.planRoundsMax).default(limits.planRounds),
});
export type PlanRequest = z.infer<typeof PlanRequest>;

export const PlanMade = z.object({ plan: Plan, rounds: z.int() });

/** The question and the answer of the tool that judges. */
export const JudgePlan = {
  input: z.object({ step: PlanStep, draft: Draft, said: z.string(), catalogue: PlanCatalogue }),
  output: z.object({
    draft: Draft,
    findings: z.array(PlanFinding),
    found: z.int(),
    next: PlanStep.optional(),
  }),
};

interface Planning {
  readonly request: PlanRequest;
  readonly step: PlanStep;
  readonly draft: Draft;
  readonly said: string;
  readonly findings: readonly PlanFinding[];
  readonly found: number;
  readonly rounds: number;
  /** What the verdict asks for next; undefined: nothing, it is a plan. */
  readonly next?: PlanStep | undefined;
}

const instructions = `You turn a written specification into a plan: a workflow whose steps are transactions, each with what undoes it. You are asked step by step; each question is a JSON object with the step, the specification, what the application offers, the plan so far, and the JSON Schema of your answer. Answer with one JSON object of that schema and nothing else.

A node does one thing: it runs a tool, agent or saga of the application by name ("run"), or, where none fits, an agent of the plan, which you describe later. Its "input" is a template: {"$ref":"input /part"} stands for a part of the workflow's input, {"$ref":"node NAME /part"} for a part of what an earlier node said. A node may only refer to nodes on which it rests by an edge, directly or not. "success" says what must hold of its output; "covers" names the goals and constraints it serves. Each goal needs a node that covers it; each constraint needs one that covers it and has a success condition that fails where the constraint does not hold: whether something is there ("present") says nothing of what it is. "checks" pairs each constraint of the plan so far with what checks it.

An edge goes from a node to one that must wait for it. The graph has no cycle. A condition ("when") is data: {"node":NAME,"is":PREDICATE,"at":"/part","value":…}, {"all":[…]}, {"any":[…]}, {"not":…}; predicates are equals, differs, atLeast, atMost, oneOf, present and those of the application. Most edges only wait and carry what was said: they run nothing, and have {"by":"runtime"} for agent and {"by":"itself"} for compensation.

Each node and each edge needs a log schema (what of its output is kept; of an edge that runs nothing: of what crosses it) and a compensation: {"run":TOOL,"input":TEMPLATE}, where the template knows {"$ref":"input /part"}, {"$ref":"output /part"}, {"$ref":"key"} and {"$ref":"outcome"} of what was done; {"by":"itself"} where the tool declares what undoes it, reads only, or is an agent; or {"pointOfNoReturn":WHY}. An edge is named "from->to".

Where findings are shown, mend all of them: each member you give takes the place of the one before.`;

const asks = {
  roles: "Name the plan, what it is for (goals), what must always hold (constraints), and the roles in it.",
  nodes: "Name the nodes: what is done, by which role, with which tool, on which input.",
  edges: "Name the edges: what waits for what, and under which condition.",
  graph: "What is wrong with the graph is under findings. Give the members that you change.",
  logs: "Give the log schema of each node and each edge.",
  agents: "Give who does each node and edge that runs nothing by name, and the compensation of each.",
  whole: "What is wrong with the plan is under findings. Give the members that you change.",
} as const satisfies Record<PlanStep, string>;

/** Made once for each step: who only serves sagas needs none of them. */
const forms = new Map<PlanStep, unknown>();
function formOf(step: PlanStep): unknown {
  const known = forms.get(step);
  if (known !== undefined) return known;
  const { $schema: _dialect, ...form } = z.toJSONSchema(planForms[step], {
    io: "input",
    unrepresentable: "any",
  });
  forms.set(step, form);
  return form;
}

/** What is asked at a step. Findings of the same step are of an answer that could not be taken. */
const promptOf = ({ request, step, draft, findings, found }: Planning): string =>
  JSON.stringify({
    step,
    task: asks[step],
    ...(findings.length === 0 ? {} : { findings, ...(found > findings.length ? { found } : {}) }),
    specification: request.spec,
    offered: request.catalogue,
    plan: draft,
    ...(draft.nodes.length === 0 ? {} : { checks: coverOf(draft, request.catalogue) }),
    answer: formOf(step),
  });

const isMending = ({ findings }: Planning): boolean => findings.length > 0;

/** What a planner is made of. */
export interface PlannerConfig {
  /** The name of a model port of the application. */
  readonly model: string;
  /** Unless given: a million tokens. */
  readonly budget?: Budget | undefined;
}

/** Makes the planner whose answers this tool judges. */
export function plannerWith(
  judge: Tool<typeof JudgePlan.input, typeof JudgePlan.output>,
  { model, budget = { tokens: limits.planTokens } }: PlannerConfig,
): SagaDefinition<typeof PlanRequest, typeof PlanMade, Record<string, never>> {
  return defineSaga({
    name: "planner",
    version: 1,
    description: "Turns a written specification into a plan.",
    input: PlanRequest,
    output: PlanMade,
    signals: {},
    machine: planningMachine(judge, model),
    budget,
  });
}

/** PL1, PL2. */
function planningMachine(judge: Tool<typeof JudgePlan.input, typeof JudgePlan.output>, model: string) {
  return setup({
    types: {
      context: {} as Planning,
      input: {} as PlanRequest,
      output: {} as z.input<typeof PlanMade> | PlanRefusal,
    },
    actors: toActors({ ask: modelCall({ model, instructions }), judge }),
    guards: {
      planned: ({ context }) => context.next === undefined,
      spent: ({ context }) => isMending(context) && context.rounds >= context.request.rounds,
    },
    actions: {
      goOn: assign(({ context }) => ({
        step: context.next ?? context.step,
        rounds: context.rounds + (isMending(context) ? 1 : 0),
        said: "",
      })),
    },
  }).createMachine({
    id: "planner",
    initial: "asking",
    // The definition's hash covers what is asked and how: a planning under other words is another.
    meta: {
      words: digestOf([model, instructions, asks, Object.keys(asks).map((step) => formOf(step as PlanStep))]),
    },
    context: ({ input }) => ({
      ...{ request: input, step: "roles", draft: emptyDraft, said: "" },
      ...{ findings: [], found: 0, rounds: 0 },
    }),
    states: {
      asking: {
        invoke: {
          id: "ask",
          src: "ask",
          input: ({ context }) => ({ prompt: promptOf(context) }),
          onDone: {
            target: "judging",
            // One more than is taken, so that the judge sees that it was more.
            actions: assign({
              said: ({ event }) => event.output.text.slice(0, limits.planReplyCharactersMax + 1),
            }),
          },
        },
      },
      judging: {
        invoke: {
          id: "judge",
          src: "judge",
          input: ({ context: { step, draft, said, request } }) => ({
            ...{ step, draft, said, catalogue: request.catalogue },
          }),
          onDone: {
            target: "deciding",
            actions: assign(({ event: { output } }) => ({ next: undefined, ...output })),
          },
        },
      },
      deciding: {
        always: [
          { guard: "planned", target: "planned" },
          { guard: "spent", target: "refused" },
          { target: "asking", actions: "goOn" },
        ],
      },
      planned: { type: "final" },
      refused: { type: "final", tags: "failed" },
    },
    output: ({ context }) => outcomeOf(context),
  });
}

/** PL3. */
const outcomeOf = ({
  next,
  draft,
  rounds,
  findings,
  found,
}: Planning): z.input<typeof PlanMade> | PlanRefusal =>
  next === undefined
    ? { plan: draft as Plan, rounds } // Proof: judged to be one, and held against PlanMade at the end.
    : {
        ...{ code: "PLAN_INVALID" as const, rounds, step: next, findings: [...findings], found },
        because: `no plan after ${rounds} rounds of mending; ${found} findings: ${findings
          .slice(0, 5)
          .map(({ code, at, says }) => `${code} ${at} ${says}`)
          .join("; ")}`,
      };
