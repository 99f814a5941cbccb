/**
 * A predicate judges one thing of a schedule and says what it found and where; a validator is a list of them. Nothing
 * here knows a wedding from a dinner.
 *
 * V1 A verdict is `accept` only if every predicate held. Where none was violated and one could not be judged it is
 *    `undecided`, which is no kind of acceptance.
 * V2 The order of the list is the order of the findings: completeness stands first.
 */
import type { Problem } from "./problem.ts";
import type { Schedule } from "./schedule.ts";

export interface Finding {
  readonly constraint: string;
  /** What the finding is about: an action, a person, a thing. */
  readonly subject: string;
  readonly required: string | number;
  readonly found: string | number;
  /** The minute it is about, where there is one. */
  readonly at?: number;
}

/** What was judged. The same schedule may be right after one history and wrong after another. */
export interface Judged<P extends Problem = Problem> {
  readonly problem: P;
  readonly schedule: Schedule;
  /** What the ledger says was executed or under way, status lines apart. Without it, history is undecided. */
  readonly history?: Schedule;
  /** Augmentations that the runtime has accepted: without acceptance they bind nobody. */
  readonly accepted?: {
    /** Minutes from landing to leaving the terminal. */
    readonly exitMin?: number;
    readonly rentalMin?: number;
    /** Minutes added to a driver's way, by name. */
    readonly addedMin?: Readonly<Record<string, number>>;
  };
  /** Whether the clothes must be in hand when the tailor closes (the default), or asked for by then. */
  readonly tailor?: "done" | "begun";
}

export interface Undecided {
  readonly undecided: string;
}

export interface Predicate<P extends Problem = Problem> {
  readonly id: string;
  /** In words, with the problem's own people, places and hours, for the context of who plans or judges. */
  readonly says: (problem: P) => string;
  /** False where the problem has nothing for it to judge. */
  readonly concerns?: (problem: P) => boolean;
  readonly find: (judged: Judged<P>) => readonly Finding[] | Undecided;
}

export interface Verdict {
  readonly verdict: "accept" | "reject" | "undecided";
  readonly findings: readonly Finding[];
  readonly undecided: readonly { readonly constraint: string; readonly why: string }[];
}

/** Judges with the predicates, in their order. Those that do not concern the problem say nothing. */
export function judge<P extends Problem>(predicates: readonly Predicate<P>[], judged: Judged<P>): Verdict {
  const findings: Finding[] = [];
  const undecided: { constraint: string; why: string }[] = [];
  for (const { id, concerns, find } of predicates) {
    if (concerns && !concerns(judged.problem)) continue;
    const answer = find(judged);
    if ("undecided" in answer) undecided.push({ constraint: id, why: answer.undecided });
    else findings.push(...answer);
  }
  const verdict = findings.length > 0 ? "reject" : undecided.length > 0 ? "undecided" : "accept";
  return { verdict, findings, undecided };
}

/** A rule as it is told: what a finding's `constraint` names. */
export interface Rule {
  readonly id: string;
  readonly says: string;
}

/** The rules that concern the problem, in the order in which they are judged. */
export const told = <P extends Problem>(predicates: readonly Predicate<P>[], problem: P): Rule[] =>
  predicates
    .filter(({ concerns }) => concerns?.(problem) ?? true)
    .map(({ id, says }) => ({ id, says: says(problem) }));

/** The violated constraints, each once, by name. */
export const violatedIn = ({ findings }: Verdict): string[] =>
  [...new Set(findings.map(({ constraint }) => constraint))].toSorted();

/** A finding as a planner reads it in its feedback. */
export const findingText = ({ constraint, subject, required, found }: Finding): string =>
  `${constraint}: ${subject}: required ${required}, found ${found}`;
