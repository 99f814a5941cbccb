/**
 * Replay documents: what `replay` prints for programs.
 *
 * Money is in US dollars, times in milliseconds. `recorded` is what the ledger holds, `got` what the replay brought.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { UnreadableSaga } from "./unreadable.ts";
import { Payload } from "../json.ts";

/** What calls of models cost. */
const Cost = z.object({
  calls: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  /** Absent where no call had a price. */
  usd: z.number().optional(),
  /** Calls without a price: their dollars are not in `usd`. */
  unpriced: z.int(),
  /** Summed. Of recorded calls from the turn that asked to the turn that heard; absent of models that answer from a script. */
  latencyMs: z.number().optional(),
});
export type Cost = z.infer<typeof Cost>;

/** How far two decisions agree. */
const Agreement = z.object({
  /** The same tools, in the same order; or as a set, whatever their order; or neither. */
  tools: z.enum(["order", "set", "different"]),
  /** And their arguments are the same, as each tool's normaliser and `--ignore` read them. */
  arguments: z.boolean(),
  /** Nothing was needed for that: neither normaliser nor another order. */
  exact: z.boolean(),
});
export type Agreement = z.infer<typeof Agreement>;

/** What became of calls by policies, people and budgets instead of what was asked for. */
const Fired = z.object({
  type: z.enum(["denied", "approval", "rewritten"]),
  /** The intent that records it. */
  intent: IntentId,
  /** What was called. */
  name: z.string(),
  /** Of a denial its code, of a rewriting the policy. */
  why: z.string(),
});
export type Fired = z.infer<typeof Fired>;

/** Blocks that only their own provider can read and that were not sent, and why. */
const LeftOut = z.object({ blocks: z.int(), because: z.string() });
export type LeftOut = z.infer<typeof LeftOut>;

/** One decision of a model, held against the recorded one. */
export const DecisionDocument = z.object({
  intent: IntentId,
  turn: z.int(),
  step: z.int(),
  recordedModel: z.string(),
  /** The digest recorded before the call, which the rebuilt request has. Absent of a decision that was never recorded. */
  request: z.string().optional(),
  /** Of the request that was sent, where a variation made it another. */
  sent: z.string().optional(),
  /**
   * `skipped`: the ledger holds no reply to compare with. `failed`: the other model gave none. `beyond`: the free run
   * had left the record, which holds no such decision.
   */
  verdict: z.enum(["same", "different", "skipped", "failed", "beyond"]),
  what: z.array(z.string()),
  agreement: Agreement.optional(),
  recorded: Payload.optional(),
  got: Payload.optional(),
  /** What the recorded calls met with, and what these would have. */
  fired: z.object({ recorded: z.array(Fired), got: z.array(Fired) }).optional(),
  cost: z.object({ recorded: Cost.optional(), got: Cost.optional() }).optional(),
  leftOut: z.array(LeftOut).optional(),
});
export type DecisionDocument = z.infer<typeof DecisionDocument>;

/** What the replayed run was given other than the recorded one. */
const Variation = z.object({
  /** The file of other instructions, and their digest. */
  prompt: z.object({ file: z.string(), digest: z.string() }).optional(),
  /** The application file and the definition in it. */
  with: z.object({ file: z.string(), version: z.int(), hash: z.string() }).optional(),
});

/** How a run ended, or that it runs. */
const Outcome = z.object({
  status: z.enum(["completed", "failed", "cancelled", "running"]),
  output: Payload.optional(),
  code: z.string().optional(),
  reason: z.string().optional(),
});
export type Outcome = z.infer<typeof Outcome>;

/** One thing that happened in a run: a row of the column that tells the recorded run, or of the one that tells the other. */
const PathStep = z.object({
  turn: z.int(),
  at: z.number(),
  kind: z.enum(["start", "model", "tool", "saga", "task", "timer", "signal", "denied", "end"]),
  title: z.string(),
  detail: z.string(),
  outcome: z.string().optional(),
  /** Where an answer came from: `recorded` (the record), `sample`, `stand-in`, `computed`. Of a free run alone. */
  from: z.string().optional(),
});
export type PathStep = z.infer<typeof PathStep>;

/** `replay SAGA`. */
export const ReplayDocument = z.object({
  saga: SagaId,
  definition: z.object({ name: z.string(), version: z.int(), hash: z.string() }),
  mode: z.enum(["step-by-step", "free-run"]),
  model: z.string(),
  variation: Variation.optional(),
  same: z.int(),
  different: z.int(),
  skipped: z.int(),
  failed: z.int(),
  /** Of a free run: decisions that the record does not hold. */
  beyond: z.int(),
  /** Decisions compared, and how many of them agree how far. */
  agreement: z.object({
    compared: z.int(),
    sameOrder: z.int(),
    sameSet: z.int(),
    sameArguments: z.int(),
    exact: z.int(),
  }),
  firstDivergence: IntentId.optional(),
  /** Of a free run: the turn from which it went on by itself; absent if it never left the record. */
  leftRecordAt: z.int().optional(),
  /** `equal` is absent of a replay step by step, which carries nothing out and so has no outcome. */
  outcome: z.object({ equal: z.boolean().optional(), recorded: Outcome, got: Outcome.optional() }),
  fired: z.object({ recorded: z.array(Fired), got: z.array(Fired) }),
  cost: z.object({ recorded: Cost, got: Cost }),
  leftOut: z.array(LeftOut),
  /** Of a free run that did not come to its end. */
  stopped: z.object({ because: z.enum(["miss", "model", "bound", "waits"]), why: z.string() }).optional(),
  decisions: z.array(DecisionDocument),
  path: z.object({ recorded: z.array(PathStep), got: z.array(PathStep) }),
  /** What of `--fail-on` holds; with one of these the exit code is 1. */
  failedOn: z.array(z.string()).optional(),
});
export type ReplayDocument = z.infer<typeof ReplayDocument>;

/** What a run over many sagas keeps of each; the whole document is a file beside the run. */
export const ReplayedSaga = ReplayDocument.pick({
  same: true,
  different: true,
  skipped: true,
  failed: true,
  beyond: true,
  agreement: true,
  firstDivergence: true,
  stopped: true,
  cost: true,
}).extend({
  saga: SagaId,
  outcome: z.object({
    equal: z.boolean().optional(),
    recorded: z.object({ status: Outcome.shape.status }),
    got: z.object({ status: Outcome.shape.status }).optional(),
  }),
  /** Whether policies would have done otherwise. */
  policiesDiffer: z.boolean(),
});
export type ReplayedSaga = z.infer<typeof ReplayedSaga>;

/** The same, or why it could not be replayed. */
export const ReplayedOrFault = z.union([
  ReplayedSaga,
  z.object({ saga: SagaId, fault: z.object({ code: z.string(), message: z.string() }) }),
]);
export type ReplayedOrFault = z.infer<typeof ReplayedOrFault>;

/** A share with the bounds between which it lies in all such sagas, with 95 % (Wilson). */
export const Rate = z.object({
  what: z.string(),
  hit: z.int(),
  of: z.int(),
  share: z.number(),
  low: z.number(),
  high: z.number(),
});
export type Rate = z.infer<typeof Rate>;

/** A mean per saga with its 95 % bounds (normal); absent where fewer than two say anything. */
export const Mean = z.object({
  what: z.string(),
  n: z.int(),
  mean: z.number(),
  low: z.number().optional(),
  high: z.number().optional(),
});
export type Mean = z.infer<typeof Mean>;

/** `replay --query`. */
export const ReplayRunDocument = z.object({
  run: SagaId,
  mode: z.enum(["step-by-step", "free-run"]),
  model: z.string(),
  query: z.string().optional(),
  seed: z.string(),
  /** Sagas that the query selects, and how many of them were sampled. */
  meant: z.int(),
  sampled: z.int(),
  done: z.int(),
  faults: z.array(z.object({ saga: SagaId, code: z.string(), message: z.string() })),
  /** Sampled and not replayed: the run was stopped by a limit, or from outside. */
  missing: z.int(),
  stopped: z.string().optional(),
  rates: z.array(Rate),
  means: z.array(Mean),
  cost: z.object({ recorded: Cost, got: Cost }),
  sagas: z.array(ReplayedSaga),
  /** Where the whole document of each saga is. */
  folder: z.string(),
  failedOn: z.array(z.string()).optional(),
  /** Sagas that could not be read as the run was planned: whether the query means them nobody knows. */
  unreadable: z.array(UnreadableSaga).optional(),
});
export type ReplayRunDocument = z.infer<typeof ReplayRunDocument>;
