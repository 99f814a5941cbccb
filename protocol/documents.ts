/**
 * Documents: what commands print with --json, and what the registry holds. For programs of other people, so
 * fields are added and never renamed.
 */
import { z } from "zod";
import { DefinitionRef, Event, ParentRef } from "./event.ts";
import { IntentId, SagaId } from "./ids.ts";
import { Intent } from "./intent.ts";
import { Payload } from "./json.ts";
import { Effect } from "./tool.ts";

/** One line of stderr: an error, or a sign of life. */
export const ErrorDocument = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string(), retriable: z.boolean() }),
});
export type ErrorDocument = z.infer<typeof ErrorDocument>;
export const ProgressDocument = z.object({ progress: z.string() });
export type ProgressDocument = z.infer<typeof ProgressDocument>;

/** A definition as hosts register it; the schemas are JSON Schema of what goes in. */
export const DefinitionDocument = z.object({
  kind: z.enum(["saga", "agent"]),
  name: z.string(),
  version: z.int(),
  hash: z.string(),
  description: z.string(),
  input: Payload,
  output: Payload,
  signals: z.record(z.string(), Payload),
  tools: z.array(z.string()),
});
export type DefinitionDocument = z.infer<typeof DefinitionDocument>;

/** A tool's contract as hosts register it. */
export const ToolDocument = z.looseObject({
  name: z.string(),
  effect: Effect,
  placement: z.enum(["host", "worker"]),
});
export type ToolDocument = z.infer<typeof ToolDocument>;

/** `up`, `host`, `worker`: printed once, when the process serves. */
export const ServingDocument = z.object({
  role: z.enum(["up", "host", "worker"]),
  url: z.string(),
  serverVersion: z.string(),
  dataDir: z.string().optional(),
  definitions: z.array(z.object({ name: z.string(), version: z.int() })),
  tools: z.array(z.string()),
  pid: z.int(),
});
export type ServingDocument = z.infer<typeof ServingDocument>;

/** `start`: the start is stored. */
export const StartedDocument = z.object({ saga: SagaId, name: z.string() });
export type StartedDocument = z.infer<typeof StartedDocument>;

export const SagaStatus = z.enum(["running", "completed", "failed", "cancelled"]);

/** `start --wait`, `tail`: how the saga ended. */
export const EndDocument = z.object({
  saga: SagaId,
  status: SagaStatus.exclude(["running"]),
  output: Payload.optional(),
  code: z.string().optional(),
  reason: z.string().optional(),
  standing: z.array(z.string()),
});
export type EndDocument = z.infer<typeof EndDocument>;

/** `signal`, `cancel`, `settle`, `approve`, `deny`, `answer`: the message is stored. */
export const SentDocument = z.object({
  saga: SagaId,
  sent: z.enum(["signal", "result", "vote"]),
  /** The signal, or the vote. */
  name: z.string().optional(),
  intent: IntentId.optional(),
});
export type SentDocument = z.infer<typeof SentDocument>;

/** `ls`: one line per saga. */
export const SagaRow = z.object({
  saga: SagaId,
  name: z.string(),
  version: z.int(),
  status: SagaStatus,
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** What a running saga waits for, for example `tool pay`, `task question`, `timer`. */
  waitsFor: z.array(z.string()),
  parent: ParentRef.optional(),
  /** Set instead of the rest being right: the ledger cannot be read. */
  fault: z.string().optional(),
});
export type SagaRow = z.infer<typeof SagaRow>;

export const IntentOutcome = z.enum(["succeeded", "failed", "denied", "in_doubt", "cancelled", "superseded"]);
export type IntentOutcome = z.infer<typeof IntentOutcome>;

export const IntentDocument = z.object({
  intent: Intent,
  input: Payload.optional(),
  turn: z.int(),
  attempt: z.int(),
  deferred: z.boolean(),
  /** Absent while it is open. */
  outcome: IntentOutcome.optional(),
  output: Payload.optional(),
  reason: z.string().optional(),
  settledTurn: z.int().optional(),
  by: z.string().optional(),
});
export type IntentDocument = z.infer<typeof IntentDocument>;

export const EffectDocument = z.object({
  intent: IntentId,
  tool: z.string(),
  key: z.string(),
  outcome: z.enum(["succeeded", "in_doubt"]),
});
export type EffectDocument = z.infer<typeof EffectDocument>;

export const SpentDocument = z.object({
  steps: z.int(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  usd: z.number(),
});

/** `inspect`. */
export const InspectDocument = z.object({
  saga: SagaId,
  definition: DefinitionRef,
  parent: ParentRef.optional(),
  input: Payload,
  status: SagaStatus,
  phase: z.enum(["running", "undoing", "ending", "ended"]),
  end: EndDocument.optional(),
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  hosts: z.array(z.string()),
  intents: z.array(IntentDocument),
  open: z.array(IntentId),
  effects: z.array(EffectDocument),
  spent: SpentDocument,
  /** The last ones. */
  events: z.array(z.object({ turn: z.int(), at: z.number(), event: Event })),
  /** Only where the ledger was folded with its definition. */
  machine: z.object({ value: Payload, context: Payload }).optional(),
});
export type InspectDocument = z.infer<typeof InspectDocument>;

/** `verify`. */
export const VerifyDocument = z.object({
  saga: SagaId,
  ok: z.boolean(),
  turns: z.int(),
  /** Whether the ledger was folded with its definition, too. */
  folded: z.boolean(),
  findings: z.array(z.object({ turn: z.int(), code: z.string(), what: z.string() })),
});
export type VerifyDocument = z.infer<typeof VerifyDocument>;

/** `replay`. */
export const DecisionDocument = z.object({
  intent: IntentId,
  turn: z.int(),
  step: z.int(),
  recordedModel: z.string(),
  request: z.string(),
  /** `skipped`: the ledger holds no reply to compare with. `failed`: the other model gave none. */
  verdict: z.enum(["same", "different", "skipped", "failed"]),
  what: z.array(z.string()),
  recorded: Payload.optional(),
  got: Payload.optional(),
});
export type DecisionDocument = z.infer<typeof DecisionDocument>;
export const ReplayDocument = z.object({
  saga: SagaId,
  model: z.string(),
  same: z.int(),
  different: z.int(),
  skipped: z.int(),
  failed: z.int(),
  firstDivergence: IntentId.optional(),
  decisions: z.array(DecisionDocument),
});
export type ReplayDocument = z.infer<typeof ReplayDocument>;

/** `tasks`: one line per open task; `tasks show`: one. */
export const TaskDocument = z.object({
  task: z.string(),
  saga: SagaId,
  intent: IntentId,
  agent: z.string(),
  about: z.enum(["question", "approval", "doubt", "stuck"]),
  question: z.string(),
  to: z.array(z.string()),
  dueAt: z.number(),
  input: Payload.optional(),
  of: IntentId.optional(),
});
export type TaskDocument = z.infer<typeof TaskDocument>;

/** `doctor`. */
export const DoctorDocument = z.object({
  ok: z.boolean(),
  server: z
    .object({ url: z.string(), version: z.string(), apiLevel: z.int(), embedded: z.boolean() })
    .optional(),
  streams: z.array(
    z.object({
      name: z.string(),
      messages: z.int(),
      bytes: z.int(),
      replicas: z.int(),
      fault: z.string().optional(),
    }),
  ),
  hosts: z.array(z.object({ host: z.string(), partitions: z.array(z.int()) })),
  partitions: z.array(
    z.object({
      partition: z.int(),
      waiting: z.int(),
      held: z.int(),
      redelivered: z.int(),
      host: z.string().optional(),
    }),
  ),
  tools: z.array(
    z.object({
      name: z.string(),
      waiting: z.int(),
      held: z.int(),
      workers: z.boolean(),
      paused: z.boolean(),
    }),
  ),
  definitions: z.array(z.object({ kind: z.string(), name: z.string(), version: z.int(), hash: z.string() })),
  deadLetters: z.int(),
  durability: z.array(z.string()),
  findings: z.array(z.object({ code: z.string(), what: z.string(), remedy: z.string() })),
});
export type DoctorDocument = z.infer<typeof DoctorDocument>;

/** `--version`. */
export const VersionDocument = z.object({ version: z.string() });

/** `demo`. Times in milliseconds; `atMs` from the saga's start. */
export const DemoReport = z.object({
  saga: SagaId,
  /** `unfinished`: the saga had not ended when the demo gave up. */
  status: z.enum(["completed", "failed", "cancelled", "unfinished"]),
  seed: z.int(),
  /** Processes that the outside world killed, and in the middle of which effect. */
  kills: z.array(
    z.object({
      process: z.enum(["host", "worker"]),
      pid: z.int(),
      tool: z.string(),
      effect: Effect,
      window: z.enum(["before-record", "after-record", "after-reply"]),
      atMs: z.number(),
      /** Null if nobody had by the end. */
      pickedUpBy: z.string().nullable(),
      recoveryMs: z.number().nullable(),
    }),
  ),
  /** Tool intents of the ledger against the outside world's own account. */
  effects: z.object({
    intended: z.int(),
    performed: z.int(),
    duplicates: z.int(),
    lost: z.int(),
    inDoubt: z.int(),
  }),
  recoveryMs: z.array(z.number()),
  elapsedMs: z.number(),
});
export type DemoReport = z.infer<typeof DemoReport>;
