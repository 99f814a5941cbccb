/**
 * How far search, rules and the minute-by-minute judge agree, over random days: counts, and the first disagreements with
 * all that is needed to look at them.
 *
 *     node --conditions=sagamesh-source test/examples/realm/agreement-run.ts --runs 10000 --seed 1
 */
import { type SeededChance, seededChance } from "../../../services/memory/faults.ts";
import type { Answer, Relaxation } from "./answer.ts";
import { mutationsOf, shaken } from "./mutations.ts";
import { violatedIn } from "./predicate.ts";
import { noticeOf, type Problem } from "./problem.ts";
import { randomDay } from "./random-days.ts";
import { randomDinnerPlan, randomWeddingPlan } from "./random-plans.ts";
import { allows } from "./referee.ts";
import type { Schedule } from "./schedule.ts";
import { search } from "./search.ts";
import { validate } from "./validator.ts";

export interface Agreement {
  readonly counts: Readonly<Record<string, number>>;
  readonly disagreements: readonly { readonly day: number; readonly what: string; readonly seen: unknown }[];
}

/** Random plans tried on each day. */
const plansADay = 12;

/** Walks those days of the seed; a day is the same whichever others are walked. */
export function agreement(seed: number, days: readonly number[]): Agreement {
  const counts: Record<string, number> = {};
  const disagreements: Agreement["disagreements"][number][] = [];
  for (const day of days) {
    const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1);
    const differ = (what: string, seen: unknown) => disagreements.push({ day, what, seen });
    oneDay(seededChance(seed, `day ${day}`), count, differ);
  }
  return { counts, disagreements };
}

type Count = (what: string) => void;
type Differ = (what: string, seen: unknown) => void;

function oneDay(chance: SeededChance, count: Count, differ: Differ): void {
  const { calm, problem } = randomDay(chance);
  const morning = noticeOf(problem) === undefined ? undefined : search({ problem: calm });
  const history = morning?.feasible === true ? morning.schedule : [];
  const answer = search({ problem, history });
  count(`${problem.kind}s`);
  if (problem.disruption !== undefined) count(`disrupted by ${problem.disruption.type}`);
  count(answer.feasible ? "feasible" : "infeasible");
  if (answer.feasible) {
    const { schedule } = answer;
    const violated = violatedIn(validate({ problem, schedule, history }));
    if (violated.length > 0 || !allows({ problem, schedule }))
      differ("the search's schedule is refused", { problem, history, violated, schedule });
    spoil(chance, problem, history, schedule, count, differ);
  } else relaxed(problem, history, answer.relax, differ);
  unthought(chance, problem, history.length === 0 ? answer : search({ problem, history: [] }), count, differ);
}

/** Every relaxation does what it says, and breaks nothing else. */
function relaxed(problem: Problem, history: Schedule, relax: readonly Relaxation[], differ: Differ): void {
  for (const { constraint, byMin = 0, schedule } of relax) {
    const violated = violatedIn(validate({ problem: eased(problem, constraint, byMin), schedule, history }));
    const allowed: readonly string[] =
      constraint === "WED-COMPLETE"
        ? ["WED-COMPLETE", "WED-PHOTO"]
        : constraint === "TKS-FIRE"
          ? ["TKS-FIRE"]
          : [];
    if (violated.some((rule) => !allowed.includes(rule)))
      differ("a relaxation does not help", { problem, history, constraint, violated, schedule });
  }
}

function eased(problem: Problem, constraint: string, byMin: number): Problem {
  if (problem.kind === "thanksgiving")
    return constraint === "TKS-DINNER" ? { ...problem, dinner: problem.dinner + byMin } : problem;
  const { photo, clothes } = problem;
  if (constraint === "WED-PHOTO")
    return { ...problem, photo: { ...photo, exactlyAt: photo.exactlyAt + byMin } };
  if (constraint !== "WED-TAILOR-CLOSE") return problem;
  return { ...problem, clothes: { ...clothes, closesAt: clothes.closesAt + byMin } };
}

/** What is spoilt is found by its rule's name; what is shaken is judged alike by both judges. */
function spoil(
  chance: SeededChance,
  problem: Problem,
  history: Schedule,
  schedule: Schedule,
  count: Count,
  differ: Differ,
): void {
  for (const mutate of mutationsOf(problem)) {
    const spoilt = mutate(schedule, chance);
    // A plan that tells nothing of the past leaves it to the ledger, and what was spoilt with it.
    const told = (rows: Schedule) => rows.some(({ start }) => start < (noticeOf(problem) ?? 0));
    if (spoilt === undefined || told(schedule) !== told(spoilt.schedule)) continue;
    count("mutations");
    count(`mutations of ${spoilt.rule.replace(/PICKUP-.*/, "PICKUP-*")}`);
    const violated = violatedIn(validate({ problem, schedule: spoilt.schedule, history }));
    if (!violated.includes(spoilt.rule))
      differ("a mutation is not found by its rule", { problem, ...spoilt, violated, history });
    if (!spoilt.rule.endsWith("HISTORY") && allows({ problem, schedule: spoilt.schedule }))
      differ("the second judge lets a mutation pass", { problem, ...spoilt });
  }
  for (let times = 0; times < 6; times++) {
    const other = shaken(problem, times % 2 === 0 ? schedule : shaken(problem, schedule, chance), chance);
    const violated = violatedIn(validate({ problem, schedule: other }));
    const right = allows({ problem, schedule: other });
    count(right ? "shaken and right" : "shaken and wrong");
    if (right !== (violated.length === 0))
      differ("the two judges differ", { problem, violated, right, schedule: other });
  }
}

/** A plan that nobody thought about and that the rules accept is one that the search must not have missed. */
function unthought(
  chance: SeededChance,
  problem: Problem,
  answer: Answer,
  count: Count,
  differ: Differ,
): void {
  for (let times = 0; times < plansADay; times++) {
    const schedule =
      problem.kind === "wedding" ? randomWeddingPlan(chance, problem) : randomDinnerPlan(chance, problem);
    if (schedule === undefined) continue;
    count("random plans");
    const violated = violatedIn(validate({ problem, schedule, history: [] }));
    if ((violated.length === 0) !== allows({ problem, schedule }))
      differ("the two judges differ", { problem, violated, schedule });
    if (violated.length > 0) continue;
    count("random plans accepted");
    if (!answer.feasible) differ("the search missed a schedule", { problem, answer, schedule });
  }
}
