/**
 * Tools of a schedule: what its saga's own host does for it. Contracts alone; the bodies are in services/schedules.
 *
 * QK1 Each may be performed again at any time: two ask, one stores a start that is known by its id, one sends signals that are
 *     known by theirs.
 */
import { z } from "zod";
import { Name, SagaId } from "../../protocol/ids.ts";
import { defineTool } from "../contract/tool.ts";
import { Carried } from "./context.ts";

const common = { placement: "host", retry: { attemptsMax: 10, backoffMs: 500 } } as const;

/**
 * The times at which a schedule is due, in their order. The fold cannot reckon them: what a time zone's clocks show changes with the
 * tables that each host's Node brings, and a ledger must fold alike on all hosts and for ever.
 */
export const dueTimes = defineTool({
  ...common,
  name: "sagamesh-due-times",
  description: "The times at which a schedule is due.",
  effect: "read",
  input: z.object({
    cron: z.string(),
    tz: z.string(),
    /** Later than this, milliseconds since the epoch. */
    after: z.number(),
    /** And before this. Without it those of about a day, and one at least. */
    before: z.number().optional(),
    most: z.int().positive(),
  }),
  output: z.object({
    due: z.array(z.number()),
    /** None comes after those. */
    over: z.boolean(),
  }),
});

/** Begins a run. Its input is on the schedule's own ledger. */
export const beginRun = defineTool({
  ...common,
  name: "sagamesh-begin-run",
  description: "Begins a run of a schedule.",
  effect: "idempotent",
  input: z.object({
    schedule: SagaId,
    run: SagaId,
    saga: Name,
    version: z.int().optional(),
    due: z.number(),
    dueAs: Name.optional(),
  }),
  output: z.object({}),
});

/** Whether a run has ended, its undoing included. One that was refused, or that nobody knows any more, has. */
export const lookAtRun = defineTool({
  ...common,
  name: "sagamesh-look-at-run",
  description: "Whether a run of a schedule has ended.",
  effect: "read",
  input: z.object({ run: SagaId }),
  output: z.object({ ended: z.boolean() }),
});

/** Sends signals to a saga: a cancel to a run, and to a schedule's next saga what came while it began. */
export const tellSaga = defineTool({
  ...common,
  name: "sagamesh-tell-saga",
  description: "Sends signals to a saga.",
  effect: "idempotent",
  input: z.object({
    saga: SagaId,
    signals: z.array(z.object({ id: z.string(), name: z.string(), data: z.json() })),
  }),
  output: z.object({}),
});

/** Begins the saga that goes on with a schedule after this one. What it was told is on this one's ledger. */
export const beginNext = defineTool({
  ...common,
  name: "sagamesh-begin-next",
  description: "Begins the saga that goes on with a schedule.",
  effect: "idempotent",
  input: z.object({ schedule: SagaId, next: SagaId, carried: Carried }),
  output: z.object({}),
});
