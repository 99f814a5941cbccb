/**
 * Step by step: the recorded decisions, asked again one by one.
 *
 * SX1 The other model is given what the recorded one was given; with a variation, what that would make of the same
 *     conversation, after the recorded request was proven.
 * SX2 After a divergence the walk goes on along the record: each decision is compared for itself.
 * SX3 Nothing is written and nothing is performed but the model call.
 * SX4 A ledger is read twice: to prove it (ZY1 of survey.ts), and where a model was asked to ask anew on the way. What is kept of a
 *     decision is what is shown of it.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { digestAsSent } from "../../actors/request/request.ts";
import { toJson } from "../../protocol/json.ts";
import type { ModelPort, ModelReply, ModelRequest } from "../../protocol/model.ts";
import { describeError } from "../../protocol/errors.ts";
import type { DecisionDocument, Fired, ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { type TurnPages, turnsThrough } from "../views/turn-pages.ts";
import { compareReplies } from "./agreement.ts";
import { type Answer, askPort, type AskOptions } from "./ask.ts";
import { costOf } from "./cost.ts";
import { type RecordedDecision, tellingDecisions } from "./decisions.ts";
import { wouldFire } from "./fired.ts";
import { type Normalize, normalizer } from "./normalize.ts";
import { documentOf } from "./report.ts";
import { type SurveyedSegment, surveyLedger } from "./survey.ts";
import { isVaried, variationDocument, type Variation, variedDefinition, variedRequest } from "./variation.ts";

/** What a port may be chosen by: the recorded decision that is asked again, if it is one. */
export type PortOf = (
  decision: Pick<RecordedDecision, "reply" | "intent" | "digest"> & {
    readonly request: ModelRequest;
    /** The request is another than the recorded one. */
    readonly isVaried: boolean;
  },
) => ModelPort;

export interface ReplayOptions extends Omit<AskOptions, "price"> {
  /** What the other model is called, for the document. */
  readonly model: string;
  /** The port that answers a decision. */
  readonly port: PortOf;
  readonly priceOf: App["priceOf"];
  readonly variation?: Variation;
  /** Paths as `--ignore` takes them. */
  readonly ignored?: readonly string[];
  readonly progress: (line: string) => void;
}

/**
 * Walks the recorded decisions and compares. Throws VERSION_UNSERVED or FOLD_DIVERGED where the ledger cannot
 * be folded, FOLD_DIVERGED where a request cannot be rebuilt, and what a variation that does not fit throws.
 */
export async function replayDecisions(
  app: App,
  ledger: TurnPages,
  options: ReplayOptions,
): Promise<ReplayDocument> {
  const { served, proven } = await surveyLedger(app, ledger, (_answer, { turn }) => turn);
  const { variation = {} } = options;
  const definition = variedDefinition(served(), variation);
  const { first, segments, recorded } = await proven();
  const walk: Walk = {
    ...{ definition, first, options },
    isVaried: isVaried(variation),
    normalize: normalizerOf(definition, options.ignored),
  };
  const all = segments.reduce((sum, { asked }) => sum + asked.length, 0);
  const decisions: DecisionDocument[] = [];
  for await (const decision of decisionsIn(ledger, segments)) {
    options.signal.throwIfAborted();
    options.progress(`decision ${decisions.length + 1} of ${all} (${decision.intent.id})`);
    decisions.push(await compare(walk, decision));
  }
  const model = options.model;
  return documentOf(recorded, decisions, {
    ...{ mode: "step-by-step", model, normalize: walk.normalize },
    ...variationDocument(variation, definition),
  });
}

/** SX4. Reads no further than the last decision is told. */
async function* decisionsIn(
  ledger: TurnPages,
  segments: readonly SurveyedSegment<number>[],
): AsyncGenerator<RecordedDecision, void> {
  for (const { by, from, to, asked, heard } of segments) {
    let left = asked.length;
    if (left === 0) continue;
    const teller = tellingDecisions(by, heard, from);
    for await (const turn of turnsThrough(ledger, to)) {
      for (const decision of teller.take(turn)) {
        yield decision;
        left -= 1;
      }
      if (left === 0) break;
    }
  }
}

/** By the contracts of the definition that decides. */
export const normalizerOf = ({ tools, sagas }: Definition, ignored?: readonly string[]): Normalize =>
  normalizer((name) => tools.get(name) ?? sagas.get(name), ignored);

interface Walk {
  readonly definition: Definition;
  readonly isVaried: boolean;
  /** The ledger's first turn. */
  readonly first: Turn;
  readonly options: ReplayOptions;
  readonly normalize: Normalize;
}

async function compare(walk: Walk, decision: RecordedDecision): Promise<DecisionDocument> {
  const { options, definition, first } = walk;
  const { intent, turn, step, reply, without } = decision;
  const document = { intent: intent.id, turn, step, recordedModel: intent.name, request: intent.request };
  if (reply === undefined) return { ...document, verdict: "skipped", what: [without] };
  const request = walk.isVaried ? variedRequest(definition, first, decision)?.request : decision.request;
  if (request === undefined)
    return { ...document, verdict: "skipped", what: ["the other definition asks no such call"] };
  const sent = walk.isVaried ? { sent: digestAsSent(request) } : {};
  let answer: Answer;
  try {
    const port = options.port({ ...decision, request, isVaried: walk.isVaried });
    answer = await askPort(port, request, { ...options, price: options.priceOf(options.model) });
  } catch (error) {
    options.signal.throwIfAborted();
    return { ...document, ...sent, verdict: "failed", what: [describeError(error)], recorded: shown(reply) };
  }
  const { agreement, what } = compareReplies(reply, answer.reply, walk.normalize);
  const fired = firedBoth(walk, decision, answer.reply);
  return {
    ...document,
    ...sent,
    verdict: what.length === 0 ? "same" : "different",
    what: [...what],
    agreement,
    recorded: shown(reply),
    got: shown(answer.reply),
    ...(fired === undefined ? {} : { fired }),
    cost: { recorded: costOf(reply, decision.latencyMs), got: costOf(answer.reply, answer.latencyMs) },
    ...(answer.leftOut.length === 0 ? {} : { leftOut: [...answer.leftOut] }),
  };
}

/** What of a reply decides: its calls, its stop, and its text where there is no call. */
export const shown = ({ text, calls, stop }: ModelReply) => toJson({ text, calls, stop });

function firedBoth(
  walk: Walk,
  { definition: recorded, answered, reply }: RecordedDecision,
  other: ModelReply,
): { recorded: Fired[]; got: Fired[] } | undefined {
  if (answered === undefined || reply === undefined) return undefined;
  const definition = walk.isVaried ? walk.definition : recorded;
  const before = wouldFire(recorded, recorded, answered, reply);
  const now = wouldFire(recorded, definition, answered, other);
  return before === undefined || now === undefined ? undefined : { recorded: before, got: now };
}
