/**
 * Last request: what a model was asked last in the first turns of a ledger, found as they are read.
 *
 * LY1 Which call was the last, by which definition, and what came of it is known at the end alone. So the turns are read once for
 *     that, and once more as far as it was asked, to rebuild its request; of a saga that asks no model once is enough.
 */
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import { type IntentId, type SagaId, turnOf } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { createRequestReader, type RecordedRequest } from "./requests.ts";
import { findingSegments, type Segment, servedBy } from "./segments.ts";
import type { ReadUpTo, TurnTaker } from "./up-to.ts";

/** A call of a model as its ledger tells of it. */
export interface LastAsked {
  readonly saga: SagaId;
  readonly intent: IntentId;
  /** Whose definition asked. */
  readonly segment: Segment;
  /** What came back for it first, also behind the moment; undefined: nothing, or what is no reply. */
  readonly reply: ModelReply | undefined;
}

/** Finds it as turns are read. */
export interface AskedTaker extends TurnTaker {
  beyond(turn: Turn): void;
  /** Undefined: no model was asked. Throws LEDGER_BROKEN for a ledger without a start. */
  asked(): LastAsked | undefined;
}

/** Nothing was taken yet. With `only`, of this call, and of no later one. */
export function findingLastAsked(only?: IntentId): AskedTaker {
  const finder = findingSegments();
  let saga: SagaId | undefined;
  let last: IntentId | undefined;
  let answer: { readonly output: Json } | undefined;
  const hear = (turn: Turn, isWithin: boolean) => {
    saga ??= turn.saga;
    finder.take(turn);
    for (const { event, intents } of turn.steps) {
      if (event.type === "result" && event.intent === last && event.result.outcome === "succeeded")
        answer ??= { output: event.result.output };
      if (!isWithin) continue;
      for (const { kind, id } of intents)
        if (kind === "model" && (only === undefined || id === only)) {
          last = id;
          answer = undefined;
        }
    }
  };
  return {
    take: (turn) => hear(turn, true),
    beyond: (turn) => hear(turn, false),
    asked: () => {
      if (saga === undefined || last === undefined) return undefined;
      const turn = turnOf(last);
      const segments = finder.segments();
      const segment = segments.findLast(({ from }) => from <= turn) ?? segments[0];
      const reply = answer === undefined ? undefined : ModelReply.safeParse(answer.output).data;
      return { saga, intent: last, segment, reply };
    },
  };
}

/** The request of that call, rebuilt. Throws VERSION_UNSERVED, FOLD_DIVERGED, and as `read`. */
export async function readRequest(
  app: App,
  { saga, intent, segment }: LastAsked,
  read: ReadUpTo,
): Promise<RecordedRequest> {
  const definition = servedBy(app, { saga }, segment);
  const { taker } = await read(() => {
    let state: SagaState | undefined;
    let found: RecordedRequest | undefined;
    let fault: unknown;
    const requests = createRequestReader(
      definition,
      (turn) => {
        // Not compared with the record, as a fold for life would be (VP1 of prompt.ts).
        const events = turn.steps.map(({ event }) => event);
        const decided = decideTurn(definition, state, { saga: turn.saga, at: turn.at, events });
        state = decided.state;
        return decided;
      },
      intent,
    );
    return {
      take: (turn: Turn) => {
        if (found !== undefined || fault !== undefined) return;
        try {
          [found] = requests.take(turn);
        } catch (error) {
          fault = error;
        }
      },
      found: (): RecordedRequest => {
        if (fault !== undefined) throw fault as Error; // Proof: what was thrown above.
        if (found === undefined) throw new MeshError("INTERNAL", "a walk over a ledger finds what is in it");
        return found;
      },
    };
  }, turnOf(intent));
  return taker.found();
}
