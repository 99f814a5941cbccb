/**
 * Demo document: the report of `demo --json`.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { Effect } from "../tool.ts";

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
      /** The host or worker that went on with it; null if none had by the end. */
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
