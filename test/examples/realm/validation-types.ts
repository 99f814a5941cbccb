/**
 * The ten types of validation, five inside an agent and five between agents, each made of named parts: predicates for
 * schedules, kinds of claims, checks of traces. A subject that has nothing for a type is undecided by it.
 */
import { judgeClaim, type Claim } from "./claims.ts";
import type { Finding, Judged, Verdict } from "./predicate.ts";
import type { Problem } from "./problem.ts";
import { onceOnly } from "./rows.ts";
import { actionsOf } from "./schedule.ts";
import { boundaryFaults, dependencyFaults, type Trace, unordered } from "./transactions.ts";
import { readSchedule, validate } from "./validator.ts";
import { spotBefore, spotText } from "./whereabouts.ts";

export type Subject =
  | { readonly schedule: Judged }
  | { readonly claim: Claim; readonly problem: Problem }
  | { readonly trace: Trace }
  | { readonly reply: string };

export interface ValidationType {
  readonly type: string;
  readonly tier: "intra" | "inter";
  readonly judge: (subject: Subject) => Verdict;
}

interface Parts {
  /** Predicates by id; `all` is every one of the problem. */
  readonly predicates?: readonly string[] | "all";
  readonly schedule?: (judged: Judged) => readonly Finding[];
  readonly claims?: readonly Claim["kind"][];
  readonly trace?: (trace: Trace) => readonly Finding[];
  /** Whether a trace can be judged by its edges alone. */
  readonly edges?: true;
  readonly reply?: boolean;
}

const made = (tier: ValidationType["tier"], type: string, parts: Parts): ValidationType => ({
  type,
  tier,
  judge: (subject) => judgeBy(type, parts, subject),
});

function judgeBy(type: string, parts: Parts, subject: Subject): Verdict {
  if ("schedule" in subject && (parts.predicates ?? parts.schedule)) {
    const { predicates, schedule } = parts;
    const only = predicates === "all" ? undefined : (predicates ?? []);
    const verdict = validate(subject.schedule, only);
    return withFindings(verdict, schedule?.(subject.schedule) ?? []);
  }
  if ("claim" in subject && parts.claims?.includes(subject.claim.kind)) {
    const { verdict, why, constraint = type } = judgeClaim(subject.problem, subject.claim);
    if (verdict === "undecided") return undecidedBy(constraint, why);
    const finding = { constraint, subject: subject.claim.kind, required: "true", found: why };
    return withFindings(accepted, verdict === "violated" ? [finding] : []);
  }
  if ("trace" in subject && parts.trace) {
    const { nodes, edges, ran } = subject.trace;
    // Without an edge nothing waits for anything, so that nothing ran too early is no news.
    const blind = parts.edges === true && edges.length === 0 && ran.succeeded.length + ran.failed.length > 1;
    if (blind) return undecidedBy(type, unordered(nodes));
    return withFindings(accepted, parts.trace(subject.trace));
  }
  if ("reply" in subject && parts.reply) {
    const read = readSchedule(subject.reply);
    const constraint = type;
    return withFindings(
      accepted,
      "unreadable" in read
        ? [{ constraint, subject: "reply", required: "a schedule", found: read.unreadable }]
        : [],
    );
  }
  return undecidedBy(type, "nothing of this kind to judge");
}

const undecidedBy = (constraint: string, why: string): Verdict => ({
  verdict: "undecided",
  findings: [],
  undecided: [{ constraint, why }],
});

const accepted: Verdict = { verdict: "accept", findings: [], undecided: [] };

const withFindings = (verdict: Verdict, more: readonly Finding[]): Verdict =>
  more.length === 0 ? verdict : { ...verdict, verdict: "reject", findings: [...verdict.findings, ...more] };

/** Where a schedule's status lines contradict its own rows. */
function contradictsItself({ problem, schedule }: Judged): Finding[] {
  const rows = schedule.filter(({ type }) => type !== "state");
  return actionsOf(schedule, "state").flatMap(({ start, says }) =>
    Object.entries(says).flatMap(([name, said]) => {
      const required = spotText(spotBefore(problem, rows, name, start));
      const found = "at" in said ? `at ${said.at}` : `on leg ${said.on}`;
      if (required === found) return [];
      return [{ constraint: "Consistency Checks", subject: name, required, found, at: start }];
    }),
  );
}

/** Events that happen once and stand at two different minutes. */
function disagrees({ schedule }: Judged): Finding[] {
  const once = schedule.flatMap((action) => onceOnly(action).map((about) => [about, action.start] as const));
  return [...new Set(once.map(([about]) => about))].flatMap((about) => {
    const minutes = [...new Set(once.flatMap(([other, minute]) => (other === about ? [minute] : [])))];
    if (minutes.length === 1) return [];
    return [
      { constraint: "Mutual Agreement", subject: about, required: "one time", found: minutes.join(" / ") },
    ];
  });
}

const meaning = ["WED-COMPLETE", "WED-PHOTO", "TKS-TURKEY", "TKS-SIDES", "TKS-DINNER", "TKS-HOME"];
const facts = ["WED-AVAIL", "WED-PLACE", "TKS-LAND", "TKS-AVAIL", "TKS-PLACE"];
const sums = ["WED-TRAVEL", "WED-ALERT", "TKS-TRAVEL", "TKS-TURKEY", "TKS-SIDES"];
const times = [
  "WED-HISTORY",
  "WED-AVAIL",
  "WED-PLACE",
  "WED-TRAVEL",
  "WED-ALERT",
  "WED-GIFT-OPEN",
  "WED-TAILOR-CLOSE",
  "TKS-HISTORY",
  "TKS-LAND",
  "TKS-EXIT",
  "TKS-AVAIL",
  "TKS-PLACE",
  "TKS-TRAVEL",
  "TKS-RENT",
];

export const validationTypes: readonly ValidationType[] = [
  made("intra", "Syntactic Validation", { reply: true, claims: ["document"] }),
  made("intra", "Semantic Validation", { predicates: meaning, claims: ["cooksAt", "things"] }),
  made("intra", "Factual Validation", {
    predicates: facts,
    claims: ["lands", "things", "legs", "minds", "fetched", "open"],
  }),
  made("intra", "Constraint Adherence", {
    predicates: "all",
    claims: ["cook", "legs", "minds", "fetched", "cooksAt", "lands"],
  }),
  made("intra", "Reasoning Validation", { predicates: sums, claims: ["cook", "justInTime", "legs"] }),
  made("inter", "Dependency Satisfaction", { trace: dependencyFaults, edges: true, claims: ["graph"] }),
  made("inter", "Consistency Checks", { schedule: contradictsItself, claims: ["says"] }),
  made("inter", "Temporal Validation", { predicates: times, claims: ["fetched", "lands", "legs"] }),
  made("inter", "Mutual Agreement", { schedule: disagrees, claims: ["says"] }),
  made("inter", "Transaction Boundary Integrity", { trace: boundaryFaults }),
];

export function validationType(type: string): ValidationType {
  const found = validationTypes.find((one) => one.type === type);
  if (found === undefined)
    throw new Error(`no validation ${type}: one of ${validationTypes.map((one) => one.type).join(", ")}`);
  return found;
}
