/**
 * The exact search: a feasible schedule from where the history left everybody, or the proof that there is none, with
 * by how much and what to relax. A pure function, small enough to be asked in the middle of a conversation.
 */
import { z } from "zod";
import type { Answer, Question } from "./answer.ts";
import { disrupted, Disruption, GivenProblem, problemIn } from "./problem.ts";
import { Schedule } from "./schedule.ts";
import { searchThanksgiving } from "./search-thanksgiving.ts";
import { searchWedding } from "./search-wedding.ts";

const minutes = z.int().nonnegative();

/** The search's question as data, for the door of a tool. */
export const SearchInput = z.strictObject({
  problem: GivenProblem,
  /** What a notice has brought since. */
  disruption: Disruption.optional(),
  /** What was executed or is under way, from the ledger. */
  history: Schedule.optional(),
  accepted: z
    .strictObject({
      exitMin: minutes.optional(),
      rentalMin: minutes.optional(),
      addedMin: z.record(z.string(), minutes).optional(),
    })
    .optional(),
  serviceMin: minutes.optional(),
});
export type SearchInput = z.infer<typeof SearchInput>;

/** Asks the search of the problem's kind. */
export const search = (question: Question): Answer =>
  question.problem.kind === "wedding"
    ? searchWedding({ ...question, problem: question.problem })
    : searchThanksgiving({ ...question, problem: question.problem });

/** The same for a question that is data. */
export function searchFor({ problem: given, disruption, ...rest }: SearchInput): Answer {
  const problem = problemIn(given);
  return search({ ...rest, problem: disruption ? disrupted(problem, disruption) : problem });
}
