/**
 * Documents: what commands print with --json, and what the registry holds. For programs of other people, so
 * fields are added and never renamed.
 */
import { z } from "zod";
import { Amounts, Spending } from "../budget.ts";
import { BudgetDocument, SpentDocument } from "./budget.ts";
import { DefinitionRef, Event, ParentRef } from "../event.ts";
import { Effects } from "../fork.ts";
import { IntentId, Name, SagaId } from "../ids.ts";
import { Intent } from "../intent.ts";
import { Payload } from "../json.ts";
import { MigrationRecord } from "./migrate.ts";
import { RecordedAgent, RecordedFrom } from "./recording.ts";
import { ThrottleKind } from "../throttle.ts";
import { Effect } from "../tool.ts";

export { DoctorDocument, Finding } from "./doctor.ts";
export { MigrateDocument } from "./migrate.ts";

/** One line of stderr: an error, a sign of life, or a line of the log. */
export const ErrorDocument = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string(), retriable: z.boolean() }),
});
export type ErrorDocument = z.infer<typeof ErrorDocument>;
export const ProgressDocument = z.object({ progress: z.string() });
export type ProgressDocument = z.infer<typeof ProgressDocument>;
/** What hosts and workers log, with --json or without. `msg` is one of a fixed set; the values are fields. */
export const LogDocument = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]),
  time: z.iso.datetime(),
  service: z.string(),
  msg: z.string(),
});
export type LogDocument = z.infer<typeof LogDocument>;

/** A definition as hosts register it; the schemas are JSON Schema of what goes in. */
export const DefinitionDocument = z.object({
  kind: z.enum(["saga", "agent", "workflow"]),
  name: z.string(),
  version: z.int(),
  hash: z.string(),
  description: z.string(),
  input: Payload,
  output: Payload,
  signals: z.record(z.string(), Payload),
  tools: z.array(z.string()),
  /** Names of the models it asks. */
  models: z.array(z.string()).default([]),
  /** Of each tool its contract's digest, as in the contract's key; of each child the hash of its definition. */
  contracts: z.record(z.string(), z.string()).default({}),
  children: z.record(z.string(), z.string()).default({}),
  /** What it declares; absent: nothing is bounded. */
  budget: Amounts.extend({
    wallClockMs: z.number().optional(),
    depthMax: z.int().optional(),
    childrenOpenMax: z.int().optional(),
    atLimit: z.enum(["end", "ask"]).optional(),
  }).optional(),
});
export type DefinitionDocument = z.infer<typeof DefinitionDocument>;

/** A tool's contract as hosts register it. */
export const ToolDocument = z.looseObject({
  name: z.string(),
  effect: Effect,
  placement: z.enum(["host", "worker"]),
});
export type ToolDocument = z.infer<typeof ToolDocument>;

/** `dead ls`, `dead show`; with `body` only where one letter is shown. */
export const LetterDocument = z.object({
  /** Its number, by which `dead show`, `retry` and `drop` name it. */
  letter: z.int().positive(),
  source: z.enum(["inbox", "work"]),
  /** Where it was sent. */
  subject: z.string(),
  code: z.string(),
  reason: z.string(),
  at: z.number(),
  saga: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});
export type LetterDocument = z.infer<typeof LetterDocument>;

/** `dead retry`, `dead drop`: what was done with a letter. */
export const LetterDoneDocument = z.object({
  letter: z.int().positive(),
  done: z.enum(["retried", "dropped"]),
  subject: z.string(),
});
export type LetterDoneDocument = z.infer<typeof LetterDoneDocument>;

/** `pause`, `resume`: how what was named stands now. */
export const ThrottledDocument = z.object({
  kind: ThrottleKind,
  name: Name,
  paused: z.boolean(),
  reason: z.string().optional(),
});
export type ThrottledDocument = z.infer<typeof ThrottledDocument>;

/** `up`, `host`, `worker`, `gateway`: printed once, when the process serves. */
export const ServingDocument = z.object({
  role: z.enum(["up", "host", "worker", "gateway"]),
  url: z.string(),
  serverVersion: z.string(),
  dataDir: z.string().optional(),
  definitions: z.array(z.object({ name: z.string(), version: z.int() })),
  tools: z.array(z.string()),
  pid: z.int(),
  /** Where /healthz, /readyz and /metrics are, if anywhere. */
  health: z.string().optional(),
  /** Where the outside reaches the gateway, if this process has one; `listens` is its own address. */
  gateway: z.string().optional(),
  listens: z.string().optional(),
});
export type ServingDocument = z.infer<typeof ServingDocument>;

/** `start`: the start is stored. */
export const StartedDocument = z.object({ saga: SagaId, name: z.string() });
export type StartedDocument = z.infer<typeof StartedDocument>;

/** Where a fork comes from, and how it goes on; without `effects` it has not left its origin yet. */
export const ForkDocument = z.object({
  saga: SagaId,
  turn: z.int(),
  effects: Effects.optional(),
  /** In place of the definition's. */
  model: z.string().optional(),
  instructions: z.string().optional(),
});

/** `fork`: the start is stored. */
export const ForkedDocument = StartedDocument.extend({ fork: ForkDocument });
export type ForkedDocument = z.infer<typeof ForkedDocument>;

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

/** `signal`, `cancel`, `settle`, `approve`, `deny`, `edit`, `answer`: the message is stored. */
export const SentDocument = z.object({
  saga: SagaId,
  sent: z.enum(["signal", "result", "vote"]),
  /** The signal, or the vote. */
  name: z.string().optional(),
  intent: IntentId.optional(),
});
export type SentDocument = z.infer<typeof SentDocument>;

/** `link`: a URL of the gateway. */
export const LinkDocument = z.object({ url: z.string(), saga: SagaId, expiresAt: z.number() });
export type LinkDocument = z.infer<typeof LinkDocument>;

/** Since when a saga takes nothing, who wanted it and why. */
export const PausedDocument = z.object({ at: z.number(), by: z.string(), reason: z.string().optional() });

/** What somebody outside says is wrong with a saga, until a `resume` acknowledges it. */
export const FlagDocument = z.object({
  reason: z.string(),
  severity: z.enum(["low", "medium", "high"]).optional(),
  by: z.string(),
  at: z.number(),
});

/** `ls`: one line per saga. */
export const SagaRow = z.object({
  saga: SagaId,
  name: z.string(),
  version: z.int(),
  /** What it was started with, where it was moved to another definition since. */
  startedAs: DefinitionRef.optional(),
  status: SagaStatus,
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** What a running saga waits for, for example `tool pay`, `task question`, `timer`. */
  waitsFor: z.array(z.string()),
  parent: ParentRef.optional(),
  fork: ForkDocument.optional(),
  /** By the saga and all below it that has ended. */
  used: Amounts.optional(),
  /** Of its budget; absent where nothing is bounded. */
  limits: Amounts.optional(),
  paused: PausedDocument.optional(),
  /** That nobody has acknowledged. */
  flags: z.array(FlagDocument).optional(),
  /** The file's name, once its turns were archived; the rest is what its tombstone says. */
  archived: z.string().optional(),
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
  /** A tool's success as it was reported: its output could not be held against the tool's contract here. */
  unverified: z.boolean().default(false),
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

/** A saga that another one started; `outcome` is the parent's word, absent while it runs. */
export const ChildDocument = z.object({
  saga: SagaId,
  name: z.string(),
  intent: IntentId,
  outcome: IntentOutcome.optional(),
  reason: z.string().optional(),
});
export type ChildDocument = z.infer<typeof ChildDocument>;

/** What the model's last request contained. Only where the ledger was folded with its definition. */
export const ContextSentDocument = z.object({
  intent: IntentId,
  turn: z.int(),
  about: z.enum(["decision", "summary", "call"]),
  model: z.string(),
  /** In the request. */
  messages: z.int(),
  /** That there were until then. */
  conversation: z.int(),
  /** `estimated`: of the request's bytes, instructions and tools included. `reported`: by the provider, of the prompt. */
  tokens: z.object({ estimated: z.int(), reported: z.int().optional() }),
  /** What the context policy left out: messages dropped, and messages of which longer results are references. */
  cut: z
    .object({
      dropped: z.int(),
      shortened: z.int(),
      /** A summary stands for so many of the first messages. */
      summarized: z.int().optional(),
      /** Why what was dropped last has no summary, as a code. */
      unsummarized: z.string().optional(),
    })
    .optional(),
  /** Whether the recorded digests say that it was this request. */
  proved: z.boolean(),
});
export type ContextSentDocument = z.infer<typeof ContextSentDocument>;

/** `inspect`. */
export const InspectDocument = z.object({
  saga: SagaId,
  definition: DefinitionRef,
  parent: ParentRef.optional(),
  fork: ForkDocument.optional(),
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
  /** By the saga itself. */
  spent: SpentDocument,
  /** By sagas below it that have ended. */
  below: Spending.optional(),
  budget: BudgetDocument.optional(),
  /** Where it lies below the saga that nobody opened; absent for that one. */
  tree: z.object({ root: SagaId, depth: z.int() }).optional(),
  /** Its moves to other definitions, oldest first; absent where there was none. */
  migrations: z.array(MigrationRecord).optional(),
  paused: PausedDocument.optional(),
  flags: z.array(FlagDocument).optional(),
  /** In the order in which they were started. */
  children: z.array(ChildDocument).default([]),
  /** The last ones. */
  events: z.array(z.object({ turn: z.int(), at: z.number(), event: Event })),
  /** An agent's working memory. This and the next only where the ledger was folded with its definition. */
  memory: Payload.optional(),
  machine: z.object({ value: Payload, context: Payload }).optional(),
  contextSent: ContextSentDocument.optional(),
  /** Of `--at`: the last turn that is told of, and how many there are. */
  asOf: z.object({ turn: z.int(), at: z.number(), of: z.int() }).optional(),
});
export type InspectDocument = z.infer<typeof InspectDocument>;

/** `inspect --prompt`: the request of one call of a model, rebuilt from the ledger, and whether it was that. */
export const PromptDocument = z.object({
  saga: SagaId,
  turn: z.int(),
  intent: IntentId,
  /** `summary`: what a context policy asked for. `call`: of a machine, not of an agent. */
  about: z.enum(["decision", "summary", "call"]),
  /** The model that was asked, as the application names it. */
  model: z.string(),
  /** As the model port was given it. */
  request: Payload,
  /** From before the call, over all that the request follows from. */
  digest: z.object({ recorded: z.string(), recomputed: z.string() }),
  /** Of the request itself, recorded with the reply; only where less than the conversation was sent. */
  sent: z.object({ recorded: z.string().optional(), recomputed: z.string().optional() }).optional(),
  /** The digests are equal. Where `sent` is not recorded yet, by the first alone. */
  proved: z.boolean(),
});
export type PromptDocument = z.infer<typeof PromptDocument>;

/** How many turns and votes are signed, by public key. */
export const SignedDocument = z.object({
  turns: z.record(z.string(), z.int()),
  turnsUnsigned: z.int(),
  votes: z.record(z.string(), z.int()),
  votesUnsigned: z.int(),
});
export type SignedDocument = z.infer<typeof SignedDocument>;

/** `verify`. */
export const VerifyDocument = z.object({
  saga: SagaId,
  ok: z.boolean(),
  turns: z.int(),
  /** The file that was read, where it was one. */
  file: z.string().optional(),
  /** Whether the ledger was folded with its definition, too. */
  folded: z.boolean(),
  /** Why it was not, where a definition was looked for. */
  unfolded: z.string().optional(),
  /** Turns from before a move to another definition, which only that one can prove and which is not at hand. */
  unproven: z.array(z.object({ from: z.int(), to: z.int(), definition: DefinitionRef })).optional(),
  /** Absent where nothing is signed, and nothing need be. */
  signed: SignedDocument.optional(),
  /** `turn` 0: what is wrong is of no single turn, such as the file's first line. */
  findings: z.array(z.object({ turn: z.int(), code: z.string(), what: z.string() })),
});
export type VerifyDocument = z.infer<typeof VerifyDocument>;

/** `archive`: one line per saga. */
export const ArchiveDocument = z.object({
  saga: SagaId,
  /**
   * `archived`: its turns are in the file and purged. `due`: would be archived (--dry-run). `kept`: not due, for
   * the reason. `already`: there was nothing left to do. `failed`: nothing was purged, for the reason.
   */
  outcome: z.enum(["archived", "due", "kept", "already", "failed"]),
  file: z.string().optional(),
  turns: z.int().optional(),
  /** Of the file. */
  bytes: z.int().optional(),
  reason: z.string().optional(),
});
export type ArchiveDocument = z.infer<typeof ArchiveDocument>;

/** Of the rest of the line it ends: an archive's lines say so of what no turn's hash covers, too. */
const sum = z.string().optional();

/** `export`. */
export const ExportDocument = z.object({
  saga: SagaId,
  file: z.string(),
  status: SagaStatus,
  /** In the file, the saga itself among them. */
  sagas: z.int(),
  turns: z.int(),
  /** Of the file. */
  bytes: z.int(),
  /** Children that could not be had. */
  missing: z.array(z.object({ saga: SagaId, reason: z.string() })),
});
export type ExportDocument = z.infer<typeof ExportDocument>;

/** The first line of an archive. Its other lines: the turns in order, then the blobs they name. */
export const ArchiveManifest = z.object({
  format: z.literal("sagamesh.archive"),
  v: z.literal(1),
  saga: SagaId,
  definition: DefinitionRef,
  parent: ParentRef.optional(),
  status: SagaStatus,
  turns: z.int().positive(),
  /** Of the last turn: its sequence, and the hash of its bytes. */
  head: z.object({ seq: z.int(), hash: z.string() }),
  startedAt: z.number(),
  /** Of its last turn; of one that runs that is no end. */
  endedAt: z.number(),
  /** When the file was written. */
  archivedAt: z.number(),
  /** Contracts of the tools it called, as hosts had registered them. */
  tools: z.array(ToolDocument),
  /** Its definition, as hosts had registered it. */
  definitions: z.array(DefinitionDocument).optional(),
  /** Of a conversation that was recorded elsewhere: where, and the agent, so that no application is needed. */
  recording: RecordedFrom.optional(),
  agent: RecordedAgent.optional(),
  sum,
});
export type ArchiveManifest = z.infer<typeof ArchiveManifest>;

/** A turn's message in an archive, exactly as it was stored: `body` where its bytes are text, else `base64`. */
export const ArchivedMessage = z.object({
  turn: z.int().positive(),
  subject: z.string(),
  seq: z.int().positive(),
  storedAt: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string().optional(),
  base64: z.base64().optional(),
  sum,
});
export type ArchivedMessage = z.infer<typeof ArchivedMessage>;

/** A blob in an archive, under the SHA-256 of its bytes. */
export const ArchivedBlob = z.object({ blob: z.string(), base64: z.base64(), sum });
export type ArchivedBlob = z.infer<typeof ArchivedBlob>;

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
