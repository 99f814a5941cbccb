/**
 * Deciding: the decisions of a free run, each held against the recorded one of its place.
 *
 * DG1 On the record a decision's counterpart is the recorded decision itself; from then on the recorded decision of the
 *     same number among those that were answered. It was given another conversation: what they have in common is told,
 *     not proven.
 */
import { isAgent } from "../../actors/agent/kind.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { describeError } from "../../protocol/errors.ts";
import type { ModelReply } from "../../protocol/model.ts";
import type { Cost, DecisionDocument } from "../../protocol/documents/replay.ts";
import { askPort } from "./ask.ts";
import { comparedWith, failedDecision, skipped } from "./compared.ts";
import { costOf } from "./cost.ts";
import type { RecordedAnswer, ToldDecision } from "./decisions.ts";
import type { Normalize } from "./normalize.ts";
import { openIn, requestIn, type Run } from "./run.ts";
import type { ReplayOptions } from "./step-by-step.ts";

export type ModelTurn = { readonly reply: ModelReply } | { readonly failed: string };

export interface Deciding {
  readonly ask: (id: IntentId, followsRecord: boolean) => Promise<ModelTurn>;
  /** In the order of asking; then the recorded ones that were never reached. */
  decisions(): DecisionDocument[];
  /** Of calls that decide nothing: summaries. */
  readonly others: { readonly recorded: Cost[]; readonly got: Cost[] };
}

export interface DecidingOptions {
  readonly options: ReplayOptions;
  readonly isVaried: boolean;
  readonly normalize: Normalize;
  readonly recorded: readonly ToldDecision[];
  /** What the ledger holds for calls that decide nothing. */
  readonly summaries: ReadonlyMap<IntentId, RecordedAnswer>;
}

export function createDeciding(run: Run, context: DecidingOptions): Deciding {
  const { options, isVaried, normalize, recorded, summaries } = context;
  const byIntent = new Map(recorded.map((one) => [one.intent.id, one]));
  const answered = recorded.filter(({ reply }) => reply !== undefined);
  let passed = 0;
  const documents: DecisionDocument[] = [];
  const others: { recorded: Cost[]; got: Cost[] } = { recorded: [], got: [] };
  const met = new Set<IntentId>();
  const nextStep = () => documents.length + 1;
  const nextAnswered = (): ToldDecision | undefined => {
    for (let one = answered[passed]; one !== undefined && met.has(one.intent.id); one = answered[passed])
      passed++;
    return answered[passed];
  };

  const ask = async (id: IntentId, followsRecord: boolean): Promise<ModelTurn> => {
    const open = openIn(run, id);
    if (open?.intent.kind !== "model") return { failed: `${id} asks no model` };
    const { intent } = open;
    const isSummary = isAgent(run.definition) && intent.input !== undefined;
    const counterpart = followsRecord ? byIntent.get(id) : nextAnswered();
    if (counterpart !== undefined && !isSummary) met.add(counterpart.intent.id);
    const before = isSummary ? (followsRecord ? summaries.get(id) : undefined) : counterpart;
    const built = requestIn(run, id, open);
    options.progress(`decision ${nextStep()} (${id})`);
    const isSameRequest = isSummary || counterpart?.intent.request === built.digest;
    try {
      const port = options.port({
        ...{ request: built.request, digest: built.digest, intent, isVaried },
        // On the record the request is the recorded one, but for what another definition made of it since.
        reply: isVaried || followsRecord || isSameRequest ? before?.reply : undefined,
      });
      const answer = await askPort(port, built.request, {
        ...options,
        price: options.priceOf(options.model),
      });
      const reply = built.sent === undefined ? answer.reply : { ...answer.reply, sent: built.sent };
      if (isSummary) {
        others.got.push(costOf(reply, answer.latencyMs));
        if (before?.reply !== undefined) others.recorded.push(costOf(before.reply, before.latencyMs));
      } else documents.push(comparedWith(counterpart, intent, answer, { step: nextStep(), normalize }));
      return { reply };
    } catch (error) {
      options.signal.throwIfAborted();
      const failed = describeError(error);
      if (!isSummary) documents.push(failedDecision(counterpart, intent, failed, nextStep()));
      return { failed };
    }
  };

  const missed = () => recorded.filter(({ intent }) => !met.has(intent.id)).map(skipped);
  return { ask, others, decisions: () => [...documents, ...missed()] };
}
