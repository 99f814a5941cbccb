/**
 * Judged: which validators a workflow's author names for it, and what is made of that.
 */
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { type AugmentBudget, augmentFaults } from "./augment.ts";
import { type AskTerms, type Callable, question } from "../machine/callable.ts";
import type { Validator } from "../validators/validator.ts";
import type { PinName } from "../validators/context.ts";
import { type JudgingSpec, judgesIn, type Stage } from "./judgement.ts";

/** Who judges a node: its input before it runs, its output when it has run, and before it commits. */
export type NodeJudges = { readonly [K in Stage]?: readonly Validator[] };

/** Who judges in a workflow, and what may follow. */
export interface Judged {
  /**
   * Who judges every node, and the plan: before anything of it runs, and whenever a patch would change it. All of a
   * stage must say yes; a refusal is the node's failure, with VALIDATION_REJECTED, and of the plan the workflow's.
   */
  validators?: NodeJudges & { readonly plan?: readonly Validator[] };
  /** What validators may change of inputs and outputs, over the whole workflow; nothing unless given. */
  augment?: AugmentBudget;
  /** What follows where they cannot say: a refusal (the default), a question to people, or nothing. */
  whenUndecided?: "reject" | "ask" | "accept";
  /** The people such questions are for; anyone, for a week, unless given. Silence is a no. */
  ask?: AskTerms;
  /** What validators may be shown however long it runs. Dependencies and commitments are what they are unless given. */
  pinned?: { readonly [K in PinName]?: Json };
}

/** Undefined where no validator judges. */
export function judgingOf(
  { validators: { plan = [], ...every } = {}, augment, whenUndecided = "reject", ask, pinned = {} }: Judged,
  nodes: Readonly<Record<string, { readonly validators?: NodeJudges }>>,
): JudgingSpec | undefined {
  const own = Object.entries(nodes).flatMap(([name, { validators }]) =>
    validators === undefined ? [] : [[name, validators] as const],
  );
  const judging: JudgingSpec = {
    ...{ plan, every, augment, undecided: whenUndecided, pinned },
    nodes: Object.fromEntries(own),
    asking: ask ?? { to: [] },
  };
  return judgesIn(judging).length === 0 ? undefined : judging;
}

export const judgedFaults = (where: string, { augment }: Judged): string[] =>
  augmentFaults(`${where}: augment`, augment);

/** What the judging may call: the judges, and people. */
export const askedIn = (judging: JudgingSpec): Callable[] => [
  ...judgesIn(judging),
  question({ ...judging.asking, answer: z.boolean() }),
];

/** What of it decides, as data: a validator by its name and its own hash. */
export const judgingIdentity = ({ plan, every, nodes, augment, undecided, pinned }: JudgingSpec): unknown => {
  const named = (judges: readonly Callable[] = []) =>
    judges.map((one) => [one.name, (one as Validator).definition.hash]);
  const ofNode = ({ before, output, commit }: JudgingSpec["every"]) => [before, output, commit].map(named);
  return {
    plan: named(plan),
    every: ofNode(every),
    nodes: Object.entries(nodes).map(([name, judges]) => [name, ofNode(judges)]),
    ...{ augment, undecided, pinned },
  };
};
