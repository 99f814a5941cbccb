/**
 * Task documents: what `tasks` and `tasks show` print with --json.
 */
import { z } from "zod";
import { SpentDocument } from "./budget.ts";
import { IntentOutcome } from "./intent.ts";
import { Vote } from "../event.ts";
import { IntentId, SagaId } from "../ids.ts";
import { InLine } from "../intent.ts";
import { Payload } from "../json.ts";

/** Of a fork whose effects are simulated: where it left its origin. Whatever is said, nothing outside is touched. */
export const Simulated = z.object({ saga: SagaId, turn: z.int() });

/** `tasks`: one line per open task. */
export const TaskDocument = z.object({
  task: z.string(),
  saga: SagaId,
  intent: IntentId,
  agent: z.string(),
  about: z.enum(["question", "approval", "doubt", "stuck", "budget"]),
  question: z.string(),
  to: z.array(z.string()),
  dueAt: z.number(),
  input: Payload.optional(),
  of: IntentId.optional(),
  /** The tool of that call. */
  tool: z.string().optional(),
  /** Of an approval: of its exact arguments. A vote is bound to it. */
  digest: z.string().optional(),
  quorum: z.int().optional(),
  /** The people who are asked after the deadline, in their order. */
  next: z.array(z.array(z.string())).optional(),
  simulated: Simulated.optional(),
});
export type TaskDocument = z.infer<typeof TaskDocument>;

/** What a task does when its time is over. */
const AtDeadline = z.discriminatedUnion("does", [
  z.object({ does: z.literal("escalate"), to: z.array(z.string()), withinMs: z.number() }),
  z.object({ does: z.enum(["deny", "approve", "fail", "doubt", "leave"]) }),
  z.object({ does: z.literal("answer"), answer: Payload }),
]);

/** `tasks show`: one task, open or over, with all that a reviewer needs. */
export const TaskDetailDocument = TaskDocument.extend({
  /** `open`, or how it ended; `superseded` by the next in line, or by changed arguments. */
  state: IntentOutcome.or(z.literal("open")),
  ended: z.string().optional(),
  endedAt: z.number().optional(),
  endedBy: z
    .object({ by: z.string(), as: z.string().optional(), vote: Vote.shape.vote.optional() })
    .optional(),
  votes: z.array(Vote.extend({ at: z.number() })),
  atDeadline: AtDeadline,
  /** What happens when the last in line has not answered either, where there is a line. */
  atLast: AtDeadline.optional(),
  /** The people who are next, each with their terms. */
  line: z.array(InLine),
  remindEveryMs: z.number().optional(),
  notices: z.array(
    z.object({
      tool: z.string(),
      intent: IntentId,
      /** 0: the first; else the number of the reminder. */
      reminder: z.int(),
      outcome: IntentOutcome.optional(),
      attempt: z.int(),
      reason: z.string().optional(),
    }),
  ),
  standIn: z
    .object({
      name: z.string(),
      saga: SagaId.optional(),
      outcome: IntentOutcome.optional(),
      reason: z.string().optional(),
    })
    .optional(),
  after: z
    .object({ task: IntentId, because: z.enum(["deadline", "edit"]), by: z.string().optional() })
    .optional(),
  /** Of a model's call: what it said beside it, and what else it called. */
  why: z
    .object({
      call: z.string(),
      model: z.string(),
      text: z.string().optional(),
      calls: z.array(z.object({ call: z.string(), tool: z.string(), input: Payload })),
    })
    .optional(),
  /** What the saga has cost so far. */
  spent: SpentDocument,
  /** Of an approval: whether and how the call can be undone. */
  undo: z
    .object({
      by: z.enum(["compensation", "point_of_no_return", "nothing_to_undo", "none", "unknown"]),
      tool: z.string().optional(),
    })
    .optional(),
  /** What a denial does; absent where nothing can be denied. */
  denial: z.string().optional(),
  /** The commands that decide it, to be copied; none once it is over. */
  commands: z.array(z.string()),
});
export type TaskDetailDocument = z.infer<typeof TaskDetailDocument>;
