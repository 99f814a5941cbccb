/**
 * Prompt: what a model was sent at one call, rebuilt from the ledger, and whether the recorded digests say so.
 *
 * VP1 Nothing is taken on trust: where today's code builds another request than was recorded, it is shown with
 *     `proved: false`.
 */
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import type { PromptDocument } from "../../protocol/documents/prompt.ts";
import { MeshError } from "../../protocol/errors.ts";
import { type IntentId, type SagaId, turnOf } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { findingLastAsked, readRequest } from "./last-request.ts";
import { type RecordedRequest, requestsOf } from "./requests.ts";
import { segmentsOf, servedBy } from "./segments.ts";
import type { ReadUpTo } from "./up-to.ts";

/**
 * The call of a model at a turn, or the last one before it. Throws INTENT_UNKNOWN if there is none, VERSION_UNSERVED
 * if the application lacks the definition, FOLD_DIVERGED if today's code asks no model there.
 */
export function* promptOf(
  app: App,
  turns: readonly Turn[],
  at: number,
): Generator<undefined, PromptDocument> {
  const found = yield* lastRequest(app, turns, at);
  if (found === undefined) throw nothingAsked(at);
  // Of a request before a fork, `request` names the origin.
  return documentOf(found, replyTo(found.intent.id, turns), turns[0]?.saga);
}

const nothingAsked = (at: number): MeshError =>
  new MeshError("INTENT_UNKNOWN", `no model was asked up to turn ${at}`, {
    remedy: "`sagamesh inspect SAGA` lists the turns in which one was.",
  });

/**
 * The same of a ledger that is read some turns at a time, up to a moment; with `only`, of this call. Throws as `promptOf` and as
 * `read`.
 */
export async function readPrompt(app: App, read: ReadUpTo, only?: IntentId): Promise<PromptDocument> {
  const { taker, last } = await read(() => findingLastAsked(only));
  const asked = taker.asked();
  if (asked === undefined)
    throw only === undefined
      ? nothingAsked(last?.turn ?? 1)
      : new MeshError("INTENT_UNKNOWN", `${only} is no call of a model`);
  return documentOf(await readRequest(app, asked, read), asked.reply, asked.saga);
}

/** The request of that call; undefined if no model was asked up to there. Throws VERSION_UNSERVED, FOLD_DIVERGED. */
export function* lastRequest(
  app: App,
  turns: readonly Turn[],
  at: number,
): Generator<undefined, RecordedRequest | undefined> {
  const through = turns.filter(({ turn }) => turn <= at);
  const last = through
    .flatMap(({ steps }) => steps.flatMap(({ intents }) => intents))
    .findLast(({ kind }) => kind === "model");
  if (last === undefined) return undefined;
  const asked = turnOf(last.id);
  const segment = segmentsOf(turns).findLast(({ from }) => from <= asked) ?? segmentsOf(turns)[0];
  const definition = servedBy(app, { saga: through[0]?.saga ?? "" }, segment);
  let state: SagaState | undefined;
  const [found] = yield* requestsOf(
    definition,
    through,
    ({ saga, at: now, steps }) => {
      // Not compared with the record, as a fold for life would be (VP1).
      const decided = decideTurn(definition, state, {
        saga,
        at: now,
        events: steps.map(({ event }) => event),
      });
      state = decided.state;
      return decided;
    },
    last.id,
  );
  if (found === undefined) throw new MeshError("INTERNAL", "a walk over a ledger finds what is in it");
  return found;
}

function documentOf(
  found: RecordedRequest,
  reply: ModelReply | undefined,
  saga: SagaId | undefined,
): PromptDocument {
  const { intent, turn, request, digest, sent: recomputed } = found;
  const recorded = reply?.sent;
  return {
    saga: saga ?? (request.saga as PromptDocument["saga"]),
    turn,
    intent: intent.id,
    about: aboutOf(found),
    model: intent.name,
    request: toJson(request),
    digest: { recorded: intent.request, recomputed: digest },
    ...(recorded === undefined && recomputed === undefined
      ? {}
      : {
          sent: {
            ...(recorded === undefined ? {} : { recorded }),
            ...(recomputed === undefined ? {} : { recomputed }),
          },
        }),
    proved: isProved(found, reply),
  };
}

export const aboutOf = ({ isSummary, intent }: RecordedRequest): PromptDocument["about"] =>
  isSummary ? "summary" : intent.input === undefined ? "decision" : "call";

/** Whether the recorded digests say that this is what was sent. */
export function isProved({ intent, digest, sent }: RecordedRequest, reply: ModelReply | undefined): boolean {
  return digest === intent.request && (reply === undefined || reply.sent === sent);
}

export function replyTo(intent: IntentId, turns: readonly Turn[]): ModelReply | undefined {
  for (const { steps } of turns)
    for (const { event } of steps)
      if (event.type === "result" && event.intent === intent && event.result.outcome === "succeeded")
        return ModelReply.safeParse(event.result.output).data;
  return undefined;
}

/** Throws FOLD_DIVERGED unless the digests prove what is shown. */
export function assertProved({ proved, intent, turn, digest, sent }: PromptDocument): void {
  if (proved) return;
  const pair = digest.recorded === digest.recomputed ? sent : digest;
  throw new MeshError(
    "FOLD_DIVERGED",
    `this is not what was sent for ${intent} in turn ${turn}: recorded is ${pair?.recorded ?? "nothing"}, today's code gives ${pair?.recomputed ?? "nothing"}`,
  );
}
