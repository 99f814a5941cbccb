/**
 * Batch: the replays of many sagas, as a saga of ours. So a run that is killed goes on where it was.
 *
 * BA1 Each saga is one call of a `read` tool: one that was recorded is never replayed again, one that was under way
 *     when its process died is.
 * BA2 At most `parallel` are under way. Before each, what was spent so far is held against the limits; what is under
 *     way goes on, so a limit may be passed by that much.
 * BA3 A saga that cannot be replayed is a fault of its own, and no other's.
 */
import { assign, enqueueActions, setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { SagaId } from "../../protocol/ids.ts";
import { ReplayedOrFault } from "../../protocol/documents/replay.ts";

const Limits = z.object({
  usd: z.number().positive().optional(),
  tokens: z.int().positive().optional(),
});

export const BatchInput = z.object({
  sagas: z.array(SagaId).min(1),
  parallel: z.int().positive(),
  limits: Limits,
});
export type BatchInput = z.infer<typeof BatchInput>;

const BatchOutput = z.object({ replayed: z.int(), missing: z.int(), stopped: z.string().optional() });

/** Its body is bound where the application and the mesh are known. Models take their time, and several attempts. */
export const replayOne = defineTool({
  name: "replay_one",
  description: "Replays one saga and keeps what came of it.",
  effect: "read",
  placement: "host",
  timeoutMs: 6 * 3_600_000,
  retry: { attemptsMax: 3, backoffMs: 1_000 },
  input: z.object({ saga: SagaId }),
  output: ReplayedOrFault,
});

interface Going {
  readonly input: BatchInput;
  readonly next: number;
  readonly open: number;
  readonly usd: number;
  readonly tokens: number;
}

const isSpent = ({ input: { limits }, usd, tokens }: Going): boolean =>
  usd >= (limits.usd ?? Number.POSITIVE_INFINITY) || tokens >= (limits.tokens ?? Number.POSITIVE_INFINITY);
const isLeft = (going: Going): boolean => going.next < going.input.sagas.length && !isSpent(going);

const costOf = (one: ReplayedOrFault): { usd: number; tokens: number } => {
  const { usd = 0, inputTokens = 0, outputTokens = 0 } = "fault" in one ? {} : one.cost.got;
  return { usd, tokens: inputTokens + outputTokens };
};

const machine = setup({
  types: {
    context: {} as Going,
    input: {} as BatchInput,
    output: {} as z.infer<typeof BatchOutput>,
    events: {} as
      | { type: `xstate.done.actor.${string}`; output: ReplayedOrFault }
      | { type: `xstate.error.actor.${string}` },
  },
  actors: toActors({ replayOne }),
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      let going = context;
      while (going.open < going.input.parallel && isLeft(going)) {
        const saga = going.input.sagas[going.next] as SagaId; // Proof: isLeft.
        enqueue.spawnChild("replayOne", { id: `one-${going.next}`, input: { saga } });
        going = { ...going, next: going.next + 1, open: going.open + 1 };
      }
      enqueue.assign(going);
    }),
    take: assign(({ context, event }) => {
      const spent = "output" in event ? costOf(event.output) : { usd: 0, tokens: 0 };
      return { open: context.open - 1, usd: context.usd + spent.usd, tokens: context.tokens + spent.tokens };
    }),
    forget: enqueueActions(({ event, enqueue }) =>
      enqueue.stopChild(event.type.slice(event.type.lastIndexOf(".") + 1)),
    ),
  },
  guards: { over: ({ context }) => context.open === 0 && !isLeft(context) },
}).createMachine({
  id: "replay_run",
  initial: "replaying",
  context: ({ input }) => ({ input, next: 0, open: 0, usd: 0, tokens: 0 }),
  states: {
    replaying: {
      entry: "begin",
      always: { guard: "over", target: "replayed" },
      on: {
        "xstate.done.actor.*": { actions: ["take", "forget", "begin"] },
        "xstate.error.actor.*": { actions: ["take", "forget", "begin"] },
      },
    },
    replayed: { type: "final" },
  },
  output: ({ context }) => ({
    replayed: context.next,
    missing: context.input.sagas.length - context.next,
    ...(isSpent(context) && context.next < context.input.sagas.length
      ? {
          stopped: `its limit was reached with ${context.usd.toFixed(4)} USD and ${context.tokens} tokens spent`,
        }
      : {}),
  }),
});

export const replayRun = defineSaga({
  name: "replay_run",
  version: 1,
  description: "Replays many sagas.",
  input: BatchInput,
  output: BatchOutput,
  signals: {},
  machine,
});
