/**
 * Doctor document: what `doctor` has looked at and found.
 */
import { z } from "zod";
import { Parked } from "../parked.ts";
import { DefinitionRef } from "../event.ts";
import { WeightNow } from "../host-weight.ts";
import { StorageLeft } from "../storage.ts";
import { TrustShown } from "./trust.ts";
import { UnreadableSaga } from "./unreadable.ts";

/** One thing that was looked at. `wrong`: exit code 1. `warning`: look at it when there is time. `fine`: as it should be. */
export const Finding = z.object({
  severity: z.enum(["wrong", "warning", "fine"]),
  code: z.string(),
  what: z.string(),
  remedy: z.string(),
});
export type Finding = z.infer<typeof Finding>;

/** `doctor`. Ages in milliseconds. What could not be learnt is absent or empty, and a finding says why. */
export const DoctorDocument = z.object({
  /** Nothing is wrong. */
  ok: z.boolean(),
  server: z
    .object({
      url: z.string(),
      version: z.string(),
      apiLevel: z.int(),
      embedded: z.boolean(),
      name: z.string().optional(),
      cluster: z.string().optional(),
    })
    .optional(),
  /** This machine's clock minus the server's. */
  clockOffsetMs: z.int().optional(),
  streams: z.array(
    z.object({
      name: z.string(),
      messages: z.int(),
      bytes: z.int(),
      replicas: z.int(),
      fault: z.string().optional(),
      leader: z.string().optional(),
      peers: z.array(z.object({ server: z.string(), current: z.boolean(), offline: z.boolean() })),
    }),
  ),
  hosts: z.array(
    z.object({
      host: z.string(),
      partitions: z.array(z.int()),
      draining: z.boolean(),
      /** When it began, by its own clock. */
      since: z.number().optional(),
      /** Lines of its log that it could not write. */
      linesLost: z.int().optional(),
      /** How much it takes beside others, as it says. */
      weight: WeightNow.optional(),
    }),
  ),
  partitions: z.array(
    z.object({
      partition: z.int(),
      waiting: z.int(),
      held: z.int(),
      redelivered: z.int(),
      host: z.string().optional(),
      /** A host asks for its inputs. */
      consumed: z.boolean(),
      /** Of the oldest input that is not acked. */
      oldestAgeMs: z.int().optional(),
      oldestSaga: z.string().optional(),
      /** What it is, in a word or two; of a start also what it starts. */
      oldestInput: z.string().optional(),
      /** Of one that came back: its saga has begun, is stored and waits for a host, or was never started. */
      oldestSagaIs: z.enum(["begun", "stored", "unknown"]).optional(),
      /** Of the oldest input that was never delivered. */
      lagMs: z.int().optional(),
    }),
  ),
  /** One for each contract that has work or a worker, or is paused. */
  tools: z.array(
    z.object({
      name: z.string(),
      contract: z.string(),
      /** Where a host has registered it. */
      version: z.int().optional(),
      /** A definition that some host serves calls it. Absent: that is not known, or it is called by plans alone. */
      asked: z.boolean().optional(),
      waiting: z.int(),
      held: z.int(),
      redelivered: z.int(),
      /** A worker asks for its calls. */
      workers: z.boolean(),
      paused: z.boolean(),
      oldestAgeMs: z.int().optional(),
      lagMs: z.int().optional(),
    }),
  ),
  /** What is left to store in, of each disk and limit that is known here or to a host. */
  storage: z.array(StorageLeft),
  paused: z.array(
    z.object({
      kind: z.enum(["tool", "model"]),
      name: z.string(),
      at: z.number(),
      by: z.string(),
      reason: z.string().optional(),
    }),
  ),
  definitions: z.array(z.object({ kind: z.string(), name: z.string(), version: z.int(), hash: z.string() })),
  /** What is served and declared; absent where hosts or registry could not be read. */
  deployments: z
    .object({
      /** Definitions that no host takes and that have living sagas: how many, and some of them. */
      unserved: z.array(z.object({ definition: DefinitionRef, sagas: z.int(), some: z.array(z.string()) })),
      declared: z.array(
        z.object({
          name: z.string(),
          current: z.object({ definition: DefinitionRef, served: z.boolean() }),
          ramp: z.object({ definition: DefinitionRef, served: z.boolean(), share: z.number() }).optional(),
        }),
      ),
      /** What of the declaration cannot be read. */
      faults: z.array(z.string()),
    })
    .optional(),
  /**
   * Sagas that only a signal moves on and that have waited for it for longer than `limits.signalAwaitedMs`, by what they
   * wait for; absent where ledgers or registry could not be read.
   */
  waits: z
    .array(
      z.object({
        definition: DefinitionRef,
        /** One of these moves it on. Absent: one that its definition declares, which is not registered. */
        signals: z.array(z.string()).optional(),
        sagas: z.int(),
        /** Those that have waited longest. */
        some: z.array(z.string()),
        longestMs: z.int(),
      }),
    )
    .optional(),
  /**
   * Sagas of which something is open and in no queue, so that nothing moves them but the hosts' audit or a nudge; absent where
   * ledgers or queues could not be read. Of those that were looked at (`looked`) and live, the ones that have stood longest, up
   * to a thousand.
   */
  orphaned: z
    .object({
      sagas: z.int(),
      notLookedAt: z.int(),
      /** Those that stand longest. `open`: `INTENT KIND NAME`. */
      some: z.array(z.object({ saga: z.string(), standsMs: z.int(), open: z.array(z.string()) })),
    })
    .optional(),
  /**
   * Sagas whose snapshot, or a host's note, knows of more turns than their ledger has (0: it is gone); of very many living sagas
   * those that have stood longest were looked at, and all that a host has noted. Absent where ledgers or snapshots could not be
   * read.
   */
  ahead: z
    .object({
      sagas: z.int(),
      /** `noted`: a host knows, and what may have begun is claimed for nobody. */
      some: z.array(z.object({ saga: z.string(), turns: z.int(), knows: z.int(), noted: z.boolean() })),
    })
    .optional(),
  /** Sagas whose hosts cannot take what comes for them, and why; absent where ledgers or snapshots could not be read. */
  parked: z.object({ sagas: z.int(), some: z.array(Parked.extend({ saga: z.string() })) }).optional(),
  /**
   * Into which sagas' ledgers was looked for what is said of sagas; absent where none could be read. `rows`: those that go on by
   * the listing and had no turn for a while, `more` if not all of them, for they are very many. `ledgers`: of all sagas, as
   * `--deep` does, and for the reason `why` where the listing is not whole.
   */
  looked: z
    .object({
      by: z.enum(["rows", "ledgers"]),
      sagas: z.int(),
      more: z.boolean(),
      why: z.string().optional(),
    })
    .optional(),
  /** Schedules that should have begun a run, and those whose runs no living host serves; absent where there are none. */
  schedules: z
    .object({
      schedules: z.int(),
      late: z.array(z.object({ name: z.string(), lateMs: z.int() })),
      unserved: z.array(z.object({ name: z.string(), of: z.string() })),
    })
    .optional(),
  /** Sagas that cannot be read, of those that were looked at. */
  unreadable: z.array(UnreadableSaga).optional(),
  /** Whose signatures count; absent where nothing was ever said of it, or it could not be asked for. */
  trust: TrustShown.optional(),
  /** Messages on ledgers that are no turns, and some of the sagas, those with the most first; absent where there are none. */
  foreign: z.object({ messages: z.int(), sagas: z.int(), some: z.array(z.string()) }).optional(),
  deadLetters: z.int(),
  deadByCode: z.array(
    z.object({
      code: z.string(),
      source: z.string(),
      count: z.int(),
      newestAt: z.number(),
      newestSubject: z.string(),
    }),
  ),
  /** What a turn survives, one sentence each. */
  durability: z.array(z.string()),
  findings: z.array(Finding),
});
export type DoctorDocument = z.infer<typeof DoctorDocument>;
