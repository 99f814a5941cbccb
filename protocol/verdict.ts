/**
 * Verdict: what a validator says of what it was shown, as data that stands in the ledger.
 *
 * VD1 A verdict names what was judged and on what, both by digest, with the size of what was shown. What it cost
 *     stands beside it, in the result of the call that brought it.
 * VD2 A validator that cannot say answers `undecided`, which never counts as a yes.
 * VD3 A change is proposed as data: what, why and by how much. Nothing is changed by the validator itself.
 */
import { z } from "zod";
import { Payload } from "./json.ts";
import { limits } from "./limits.ts";

/** What can be wrong with the work of one agent, and with that of several together. */
export const validationTypes = [
  "syntactic",
  "semantic",
  "factual",
  "constraint_adherence",
  "reasoning",
  "context_preservation",
  "dependency_satisfaction",
  "consistency",
  "temporal",
  "mutual_agreement",
  "boundary_integrity",
  "contract_conformance",
  "transaction_coherence",
] as const;
/** One of `validationTypes`. */
export const ValidationType = z.enum(validationTypes);
export type ValidationType = z.infer<typeof ValidationType>;

const text = z.string().min(1).max(limits.reasonLengthMax);

/** One thing that is wrong: which rule it breaks, where, and by how much. */
export const Finding = z.object({
  rule: z.string().min(1).max(200),
  what: text,
  at: z.string().max(limits.pointerLengthMax).optional(),
  by: z.number().optional(),
  unit: z.string().max(40).optional(),
});
export type Finding = z.infer<typeof Finding>;

/** VD3. The place `at` (a JSON pointer) becomes `to`; `amount` in `unit` is what a budget counts. */
export const VerdictChange = z.object({
  at: z.string().max(limits.pointerLengthMax),
  to: Payload,
  what: text,
  why: text,
  amount: z.number().nonnegative(),
  unit: z.string().min(1).max(40),
});
export type VerdictChange = z.infer<typeof VerdictChange>;

const said = {
  findings: z.array(Finding).max(limits.findingsMax).optional(),
  /** What other validators need of this one's work, by name. */
  shares: z.record(z.string(), Payload).optional(),
};

/** What a check or a model answers. */
export const ValidatorAnswer = z.discriminatedUnion("verdict", [
  z.object({ verdict: z.literal("accept"), reason: text.optional(), ...said }),
  /** It does not hold: discard it, and undo what rests on it. */
  z.object({ verdict: z.literal("reject"), reason: text, ...said }),
  /** It holds once these changes are made; it is judged again with them. */
  z.object({
    verdict: z.literal("augment"),
    reason: text,
    changes: z.array(VerdictChange).min(1).max(limits.changesMax),
    ...said,
  }),
  /** It holds, and the next planner is to know this. */
  z.object({ verdict: z.literal("feedback"), reason: text, ...said }),
  /** VD2. With a code where something failed that a person can mend. */
  z.object({ verdict: z.literal("undecided"), reason: text, code: z.string().optional(), ...said }),
]);
export type ValidatorAnswer = z.infer<typeof ValidatorAnswer>;
/** What a verdict says. */
export type VerdictKind = ValidatorAnswer["verdict"];

/** What a validator was shown: the digest of it, and its size in tokens (actors/validators/context.ts). */
export const Shown = z.object({
  digest: z.string(),
  tokens: z.int().nonnegative(),
  /** The most that its model may be shown, where it has one. */
  tokensMax: z.int().positive().optional(),
  /** Which of the declared selections it was, from 0; absent for the first. */
  selection: z.int().positive().optional(),
});
export type Shown = z.infer<typeof Shown>;

/** What the verdict comes from: the validator's code, its model, the validators it is made of, or nothing (VD2). */
export const JudgedBy = z.enum(["code", "model", "parts", "nobody"]);
export type JudgedBy = z.infer<typeof JudgedBy>;

const origin = {
  validator: z.string(),
  type: ValidationType.optional(),
  by: JudgedBy,
  shown: Shown,
};

/** What one of a validator's parts said, without its changes: those stand in the whole verdict. */
export const PartVerdict = z.object({
  ...origin,
  verdict: z.enum(["accept", "reject", "augment", "feedback", "undecided"]),
  reason: z.string().optional(),
  code: z.string().optional(),
});
export type PartVerdict = z.infer<typeof PartVerdict>;

/** A validator's output. `judged` is the digest of the whole item, of which it may have been shown a part. */
export const ValidatorVerdict = z.intersection(
  ValidatorAnswer,
  z.object({
    ...origin,
    judged: z.string(),
    parts: z.array(PartVerdict).optional(),
    /** Validators that were not asked, because the others had decided. */
    unasked: z.array(z.string()).optional(),
  }),
);
export type ValidatorVerdict = z.infer<typeof ValidatorVerdict>;
