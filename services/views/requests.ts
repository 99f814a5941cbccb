/**
 * Requests: every request to a model that a ledger recorded, rebuilt from it.
 */
import type { Definition, BuiltRequest } from "../../actors/contract/definition.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { deciderOf } from "../../actors/kernel/lineage.ts";
import { keepSaid } from "../../actors/request/conversation.ts";
import { Asked } from "../../actors/request/request.ts";
import type { Cut } from "../../actors/request/retention.ts";
import { variantAfter } from "../../actors/request/variant.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Lineage, Variant } from "../../protocol/fork.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";

export interface RecordedRequest extends BuiltRequest {
  /** As it was recorded: `request` is the digest from before the call. */
  readonly intent: IntentOf<"model">;
  readonly turn: number;
  /** A summary that a context policy asked for, and no decision. */
  readonly isSummary: boolean;
  /** How many messages the conversation held, sent or not. */
  readonly conversation: number;
  /** All of them. */
  readonly said: readonly ModelMessage[];
  /** What a context policy left out of them. */
  readonly cut: Cut | undefined;
}

/** Rebuilds the requests of a ledger as its turns are read. */
export interface RequestReader {
  /** Those that the next turn asked for, in order. Throws what the fold throws, and FOLD_DIVERGED where today's code asks for none. */
  take(turn: Turn): RecordedRequest[];
}

/**
 * Nothing was read yet; `fold` is given each turn in order. With `only`, one request is built. `digest` is what today's code
 * records for the request it builds: a caller that needs proof compares it.
 */
export function createRequestReader(
  definition: Definition,
  fold: (turn: Turn) => Pick<DecidedTurn, "said" | "asked">,
  only?: IntentId,
): RequestReader {
  const messages: ModelMessage[] = [];
  let lineage: Lineage | undefined;
  let variant: Variant | undefined;
  return {
    take: (turn) => {
      const [begun] = turn.steps;
      if (turn.turn === 1 && begun?.event.type === "start") lineage = begun.event.fork;
      const requests: RecordedRequest[] = [];
      const before = messages.length;
      const { said, asked } = fold(turn);
      keepSaid(messages, said);
      for (const { event } of turn.steps) variant = variantAfter(variant, event);
      const asking = { variant, saga: deciderOf(turn.saga, lineage, turn.turn) };
      for (const { intents } of turn.steps)
        for (const intent of intents) {
          if (intent.kind !== "model" || (only !== undefined && intent.id !== only)) continue;
          const own = asked.find((one) => one.intent === intent.id);
          const conversation = messages.slice(0, before + (own?.said ?? 0));
          const built =
            own &&
            definition.kind.requestOf(definition, { ...asking, intent, open: own.input }, conversation);
          if (built === undefined)
            throw new MeshError(
              "FOLD_DIVERGED",
              `turn ${turn.turn} of ${turn.saga} asked ${intent.name} as ${intent.id}; today's code asks for nothing there`,
            );
          const of = Asked.safeParse(own?.input).data;
          const about = {
            isSummary: of?.summarize !== undefined,
            conversation: conversation.length,
            said: conversation,
          };
          requests.push({ ...built, intent, turn: turn.turn, ...about, cut: of?.cut });
        }
      return requests;
    },
  };
}

/** All requests of turns at hand, from the first one, in pieces of a turn each. Throws as `RequestReader.take`. */
export function* requestsOf(
  definition: Definition,
  turns: readonly Turn[],
  fold: (turn: Turn) => Pick<DecidedTurn, "said" | "asked">,
  only?: IntentId,
): Generator<undefined, RecordedRequest[]> {
  const requests: RecordedRequest[] = [];
  const reader = createRequestReader(definition, fold, only);
  for (const turn of turns) {
    requests.push(...reader.take(turn));
    yield;
  }
  return requests;
}
