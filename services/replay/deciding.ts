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
import type { IntentOf } from "../../protocol/intent.ts";
import type { ModelReply } from "../../protocol/model.ts";
import type { Cost, DecisionDocument } from "../../protocol/documents/replay.ts";
import { compareReplies } from "./agreement.ts";
import { type Answer, askPort } from "./ask.ts";
import { costOf } from "./cost.ts";
import type { RecordedAnswer, RecordedDecision } from "./decisions.ts";
import type { Normalize } from "./normalize.ts";
import { openIn, requestIn, type Run } from "./run.ts";
import { type ReplayOptions, shown } from "./step-by-step.ts";

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
  readonly recorded: readonly RecordedDecision[];
  /** What the ledger holds for every intent, summaries included. */
  readonly answers: ReadonlyMap<IntentId, RecordedAnswer>;
}

export function createDeciding(run: Run, context: DecidingOptions): Deciding {
  const { options, isVaried, normalize, recorded, answers } = context;
  const answered = recorded.filter(({ reply }) => reply !== undefined);
  const documents: DecisionDocument[] = [];
  const others: { recorded: Cost[]; got: Cost[] } = { recorded: [], got: [] };
  const met = new Set<IntentId>();

  const ask = async (id: IntentId, followsRecord: boolean): Promise<ModelTurn> => {
    const open = openIn(run, id);
    if (open?.intent.kind !== "model") return { failed: `${id} asks no model` };
    const { intent } = open;
    const isSummary = isAgent(run.definition) && intent.input !== undefined;
    const counterpart = followsRecord
      ? recorded.find((one) => one.intent.id === id)
      : answered.find((one) => !met.has(one.intent.id));
    if (counterpart !== undefined && !isSummary) met.add(counterpart.intent.id);
    const before = isSummary ? (followsRecord ? answers.get(id) : undefined) : counterpart;
    const built = requestIn(run, id, open);
    options.progress(`decision ${documents.length + 1} (${id})`);
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
      } else documents.push(documentOf(intent, answer, counterpart));
      return { reply };
    } catch (error) {
      options.signal.throwIfAborted();
      const failed = describeError(error);
      if (!isSummary) documents.push({ ...headOf(intent, counterpart), verdict: "failed", what: [failed] });
      return { failed };
    }
  };

  const headOf = (intent: IntentOf<"model">, counterpart: RecordedDecision | undefined) => ({
    intent: intent.id,
    turn: Number(intent.id.split("-")[0]),
    step: documents.length + 1,
    recordedModel: counterpart?.intent.name ?? intent.name,
    ...(counterpart === undefined ? {} : { request: counterpart.intent.request }),
    ...(counterpart?.intent.request === intent.request ? {} : { sent: intent.request }),
  });

  const documentOf = (
    intent: IntentOf<"model">,
    { reply, latencyMs, leftOut }: Answer,
    counterpart: RecordedDecision | undefined,
  ): DecisionDocument => {
    const got = { got: shown(reply), ...(leftOut.length === 0 ? {} : { leftOut: [...leftOut] }) };
    const cost = costOf(reply, latencyMs);
    if (counterpart?.reply === undefined)
      return {
        ...headOf(intent, counterpart),
        verdict: "beyond",
        what: ["the record holds no such decision"],
        ...got,
        cost: { got: cost },
      };
    const { agreement, what } = compareReplies(counterpart.reply, reply, normalize);
    return {
      ...headOf(intent, counterpart),
      verdict: what.length === 0 ? "same" : "different",
      what: [...what],
      agreement,
      recorded: shown(counterpart.reply),
      ...got,
      cost: { recorded: costOf(counterpart.reply, counterpart.latencyMs), got: cost },
    };
  };

  const missed = (): DecisionDocument[] =>
    recorded
      .filter(({ intent }) => !met.has(intent.id))
      .map(({ intent, turn, step, reply, without, latencyMs }) => ({
        ...{ intent: intent.id, turn, step, recordedModel: intent.name, request: intent.request },
        verdict: "skipped",
        what: [reply === undefined ? without : "the free run did not come to it"],
        ...(reply === undefined
          ? {}
          : { recorded: shown(reply), cost: { recorded: costOf(reply, latencyMs) } }),
      }));
  return { ask, others, decisions: () => [...documents, ...missed()] };
}
