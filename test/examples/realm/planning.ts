/**
 * One planning: what is taken for granted is settled, a planner drafts, and a validator with a context of its own
 * judges the draft. A draft that is refused is drafted again, told why, a bounded number of times.
 *
 * PL1 The validator is shown the draft, the question and the terms: no word of the planner's conversation.
 * PL2 "There is no schedule" is a draft like any other: it is accepted only if the exact search finds none either,
 *     by the same number of minutes, and if what it says would help does.
 * PL3 Common sense may add minutes to what the problem says, within a budget. Of what is refused the boldest is left
 *     out, and the rest is proposed again.
 */
import { defineAgent, defineTool } from "sagamesh";
import { defineWorkflow } from "sagamesh/workflow";
import { defineValidator, type ValidatorMaterial, type Validator } from "sagamesh/validators";
import { z } from "zod";
import { limits } from "../../../protocol/limits.ts";
import { Answer, type Question } from "./answer.ts";
import { findingText } from "./predicate.ts";
import { disrupted, problemIn } from "./problem.ts";
import { Schedule, storedSchedules } from "./schedule.ts";
import { search, searchFor, SearchInput } from "./search.ts";
import { validate } from "./validator.ts";

const minutes = z.int().nonnegative();

/** What is added to the problem's own minutes. */
export const Terms = z.strictObject({
  exitMin: minutes,
  rentalMin: minutes,
  addedMin: z.record(z.string(), minutes),
});
export type Terms = z.infer<typeof Terms>;

/** The id of a schedule that the paper prints, or of a witness; or a schedule as data. */
export const GivenSchedule = z.union([
  z.enum(storedSchedules.map(({ id }) => id) as [string, ...string[]]),
  Schedule,
]);
export type GivenSchedule = z.infer<typeof GivenSchedule>;

/** What a planner is asked. */
export const Asked = SearchInput.extend({
  /** What a scripted planner drafts first, one after the other. */
  drafts: z.array(GivenSchedule),
  /** What was wrong with the drafts before, the oldest first. */
  faults: z.array(z.string()),
});

export const Draft = z.object({
  schedule: Schedule.optional(),
  infeasible: z
    .object({
      why: z.string(),
      lateMin: z.number().nullable(),
      relax: z.array(z.object({ what: z.string(), byMin: z.number().nullable() })),
    })
    .optional(),
});
export type Draft = z.infer<typeof Draft>;

export const PlanningInput = SearchInput.extend({
  accepted: Terms,
  /** What common sense would add. */
  caution: Terms,
  drafts: z.array(GivenSchedule),
});
export const Planned = Draft.extend({ accepted: Terms });

const searching = defineTool({
  name: "search",
  description: "Finds a schedule, or proves that there is none and says by how much and what to relax.",
  effect: "read",
  input: SearchInput,
  output: Answer,
  perform: async (question) => searchFor(question),
});

export const planner = defineAgent({
  name: "planner",
  version: 1,
  description: "Drafts a schedule, or says why there is none.",
  model: "planner",
  instructions: [
    "Propose a schedule that keeps every constraint. What history says has happened: never change it.",
    "Where `faults` says what was wrong with a draft, mend that. Ask the search if in doubt.",
    "If there is no schedule, say so: why, by how many minutes, and what to relax.",
  ].join("\n"),
  input: Asked,
  output: Draft,
  signals: {},
  tools: [searching],
});

/** The question as the search and the predicates take it, from what a validator is shown. */
function questionOf({ input, outputs }: Pick<ValidatorMaterial, "input" | "outputs">): Question {
  const { problem: given, disruption, history, serviceMin } = SearchInput.parse(input);
  const base = problemIn(given);
  const problem = disruption === undefined ? base : disrupted(base, disruption);
  return { problem, history, serviceMin, accepted: Terms.parse(outputs?.["terms"]) };
}

const cut = (text: string) => text.slice(0, limits.reasonLengthMax);

/** The listed predicates, all of them, and the exact search for who says that there is nothing to find. */
export const scheduling: Validator = defineValidator({
  name: "scheduling",
  type: "constraint_adherence",
  description: "Judges a draft by the predicates of its problem, after its history.",
  item: Draft,
  context: {
    input: ["/problem", "/disruption", "/history", "/serviceMin"],
    outputs: { terms: true },
  },
  check: ({ item: { schedule, infeasible }, ...shown }) => {
    const question = questionOf(shown);
    if (schedule !== undefined) {
      const { verdict, findings, undecided } = validate({ ...question, schedule });
      if (verdict === "accept") return { verdict };
      if (verdict === "undecided")
        return {
          verdict,
          reason: cut(undecided.map(({ constraint, why }) => `${constraint}: ${why}`).join("; ")),
        };
      return {
        verdict,
        reason: cut(findings.map(findingText).join("; ")),
        findings: findings
          .slice(0, limits.findingsMax)
          .map((one) => ({ rule: one.constraint, what: cut(findingText(one)) })),
      };
    }
    if (infeasible === undefined)
      return { verdict: "reject", reason: "it is neither a schedule nor says that there is none" };
    const truth = search(question);
    if (truth.feasible)
      return { verdict: "reject", reason: "it says that there is no schedule, and there is one" };
    const lateMin = truth.lateMin ?? null;
    if (lateMin !== infeasible.lateMin)
      return {
        verdict: "reject",
        reason: `it is late by ${lateMin ?? "more than any delay mends"}, not by ${infeasible.lateMin ?? "that"}`,
      };
    const helps = truth.relax.map(({ what }) => what);
    const idle = infeasible.relax.filter(({ what }) => !helps.includes(what)).map(({ what }) => what);
    return idle.length === 0
      ? { verdict: "accept" }
      : { verdict: "reject", reason: cut(`it would not help alone: ${idle.join("; ")}`) };
  },
});

/** What is taken for granted, and how often more of it was refused. */
const Settled = Terms.extend({ refused: z.array(z.string()) });

/** PL3. What common sense would add, the boldest last. */
const commonSense = defineValidator({
  name: "common_sense",
  type: "reasoning",
  description: "Adds the minutes that a problem forgot.",
  item: Settled,
  context: { input: ["/caution"] },
  check: ({ item: { refused, ...terms }, input }) => {
    const { caution } = z.object({ caution: Terms }).parse(input);
    const change = (at: string, is: number, to: number, unit: string, what: string) =>
      to > is ? [{ at, to, amount: to - is, unit, what, why: "nobody does it in no time" }] : [];
    const proposals = [
      ...change(
        "/exitMin",
        terms.exitMin,
        caution.exitMin,
        "min to leave",
        "from landing to leaving the terminal",
      ),
      ...change("/rentalMin", terms.rentalMin, caution.rentalMin, "min to rent", "renting a car"),
      // All of a driver's additions in one, so that a record without him can take it.
      ...Object.entries(caution.addedMin).flatMap(([who, to]) =>
        change(`/addedMin/${who}`, terms.addedMin[who] ?? 0, to, "min on the way", `more on ${who}'s way`),
      ),
    ];
    const changes = proposals.slice(0, Math.max(0, proposals.length - refused.length));
    if (changes.length > 0)
      return {
        verdict: "augment",
        reason: changes.map(({ what, amount }) => `${what}: ${amount} min`).join("; "),
        changes,
      };
    return refused.length > 0 && proposals.length > 0
      ? {
          verdict: "feedback",
          reason: cut(`without ${proposals.map(({ what }) => what).join(", ")}: ${refused.at(-1) ?? ""}`),
        }
      : { verdict: "accept" };
  },
});

const settle = defineTool({
  name: "settle_terms",
  description: "Says what is taken for granted.",
  effect: "read",
  input: Settled,
  output: Terms,
  perform: async ({ exitMin, rentalMin, addedMin }) => ({ exitMin, rentalMin, addedMin }),
});

/** Drafts that are refused, and changes that are, in one planning. */
const replansMax = 5;

/** `over`: whether more than 15 minutes on somebody's way are refused or put before people. */
export const createPlanning = (over: "reject" | "ask") =>
  defineWorkflow({
    name: "planning",
    version: 1,
    description: "Settles the terms, drafts, and has the draft judged.",
    input: PlanningInput,
    output: Planned,
    nodes: {
      terms: {
        run: settle,
        input: ({ input: { accepted, caution }, before }) => ({
          ...accepted,
          // A place that can be changed must be there.
          addedMin: {
            ...Object.fromEntries(Object.keys(caution.addedMin).map((who) => [who, 0])),
            ...accepted.addedMin,
          },
          refused: before.map(({ reason }) => reason),
        }),
        validators: { before: [commonSense] },
      },
      draft: {
        run: planner,
        after: ["terms"],
        input: ({ input: { caution: _, ...asked }, before, output }) => ({
          ...asked,
          accepted: output("terms", settle),
          faults: before.map(({ reason }) => reason),
        }),
        validators: { output: [scheduling] },
      },
    },
    result: ({ output }) => ({ ...output("draft", planner), accepted: output("terms", settle) }),
    onFailure: "replan",
    replansMax,
    augment: { units: { "min to leave": 30, "min to rent": 15, "min on the way": 15 }, over },
  });
