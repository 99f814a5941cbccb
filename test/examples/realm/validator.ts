/**
 * The validator of application (b): the listed predicates of the problem's kind, and the door that reads a planner's
 * reply. Pure, so an actor that wraps it is handed what it may see and nothing else.
 */
import { goOn } from "./history.ts";
import { judge, type Judged, type Predicate, type Rule, told, type Verdict } from "./predicate.ts";
import { noticeOf, type Problem, type Thanksgiving, type Wedding } from "./problem.ts";
import { Schedule } from "./schedule.ts";
import { thanksgivingPredicates } from "./thanksgiving.ts";
import { weddingPredicates } from "./wedding.ts";

/** Every rule that concerns the problem, with its own people, places and hours, in the order of judgement. */
export const rulesOf = (problem: Problem): readonly Rule[] =>
  problem.kind === "wedding"
    ? told(weddingPredicates, problem)
    : told(thanksgivingPredicates(problem), problem);

/**
 * Judges a schedule by every predicate of its problem, or by those named in `only`. A schedule that begins at the
 * notice and says nothing of the past goes on from the history; one that tells the past is held to it.
 */
export function validate(judged: Judged, only?: readonly string[]): Verdict {
  const { problem } = judged;
  const chosen = <P extends { readonly id: string }>(predicates: readonly P[]) =>
    only === undefined ? predicates : predicates.filter(({ id }) => only.includes(id));
  return problem.kind === "wedding"
    ? judge<Wedding>(chosen<Predicate<Wedding>>(weddingPredicates), { ...withPast(judged), problem })
    : judge<Thanksgiving>(chosen<Predicate<Thanksgiving>>(thanksgivingPredicates(problem)), {
        ...withPast(judged),
        problem,
      });
}

function withPast(judged: Judged): Judged {
  const { problem, schedule, history } = judged;
  const notice = noticeOf(problem);
  if (notice === undefined || history === undefined || tellsThePast(schedule, notice)) return judged;
  return { ...judged, schedule: goOn(problem, history, notice, schedule) };
}

const tellsThePast = (schedule: Schedule, notice: number) =>
  schedule.some(({ type, start }) => start < notice || (type === "state" && start === notice));

/** What a reply says, or why it cannot be read. */
export function readJson(reply: string): { readonly written: unknown } | { readonly unreadable: string } {
  try {
    return { written: JSON.parse(reply) as unknown };
  } catch (error) {
    return { unreadable: `not JSON: ${error instanceof Error ? error.message : "unknown"}` };
  }
}

/**
 * Reads what a planner wrote: JSON that is a schedule. A reply that is none is a finding, never an exception: what is
 * wrong goes back to whoever wrote it.
 */
export function readSchedule(
  reply: string,
): { readonly schedule: Schedule } | { readonly unreadable: string } {
  const read = readJson(reply);
  if ("unreadable" in read) return read;
  const parsed = Schedule.safeParse(read.written);
  if (parsed.success) return { schedule: parsed.data };
  const [first] = parsed.error.issues;
  return { unreadable: `no schedule: ${first?.path.join(".") ?? ""} ${first?.message ?? ""}`.trim() };
}
