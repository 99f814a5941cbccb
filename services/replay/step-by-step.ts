/**
 * Replay with another model: the recorded decisions, asked again one by one.
 *
 * Y1 The other model is given what the recorded one was given. The request is rebuilt from the ledger, and
 *    its digest must equal the recorded one; if not, nothing is asked.
 * Y2 After a divergence the walk goes on along the record: each decision is compared for itself.
 * Y3 Nothing is written and nothing is performed but the model call.
 */
import { z } from "zod";
import type { Definition } from "../../actors/definition.ts";
import { foldTurn } from "../../actors/replay.ts";
import type { SagaState } from "../../actors/state.ts";
import type { DecisionDocument, ReplayDocument } from "../../protocol/documents.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import { type ModelPort, ModelReply, type ModelRequest } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app.ts";
import { type RecordedRequest, requestsOf } from "./requests.ts";
import { segmentsOf, servedBy } from "./segments.ts";

/** One recorded decision: what was sent, and what came back if anything did. */
export interface RecordedDecision extends Pick<RecordedRequest, "intent" | "turn" | "request" | "digest"> {
  readonly step: number;
  readonly reply: ModelReply | undefined;
  /** Why there is no reply. */
  readonly without: string;
}

export interface ReplayOptions {
  /** What the other model is called, for the document. */
  readonly model: string;
  /** The port that answers a decision. */
  readonly port: (decision: RecordedDecision) => ModelPort;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/**
 * Walks the recorded decisions and compares. Throws VERSION_UNSERVED or FOLD_DIVERGED where the ledger cannot
 * be folded, and FOLD_DIVERGED where a request cannot be rebuilt.
 */
export async function replayDecisions(
  app: App,
  turns: readonly Turn[],
  options: ReplayOptions,
): Promise<ReplayDocument> {
  const saga = (turns[0]?.saga ?? "") as SagaId; // Proof: segmentsOf throws if there is no turn.
  const recorded = segmentsOf(turns).flatMap((segment) =>
    recordedDecisions(servedBy(app, { saga }, segment), turns.slice(0, segment.to), segment.from),
  );
  const decisions: DecisionDocument[] = [];
  for (const [index, decision] of recorded.entries()) {
    options.signal.throwIfAborted();
    options.progress(`decision ${index + 1} of ${recorded.length} (${decision.intent.id})`);
    decisions.push(await compare(decision, options));
  }
  const count = (verdict: DecisionDocument["verdict"]) =>
    decisions.filter((one) => one.verdict === verdict).length;
  const first = decisions.find((one) => one.verdict === "different");
  return {
    saga,
    model: options.model,
    same: count("same"),
    different: count("different"),
    skipped: count("skipped"),
    failed: count("failed"),
    ...(first === undefined ? {} : { firstDivergence: first.intent }),
    decisions,
  };
}

/**
 * Every decision of a ledger with its request rebuilt (Y1); the summaries between them decide nothing. With `from` only
 * those from that turn on: what was decided before was another definition's.
 */
export function recordedDecisions(
  definition: Definition,
  turns: readonly Turn[],
  from = 1,
): RecordedDecision[] {
  const replies = repliesOf(turns);
  let state: SagaState | undefined;
  const requests = requestsOf(definition, turns, (turn) => {
    const folded = foldTurn(definition, state, turn, turn.turn < from ? "but for requests" : "strict");
    state = folded.state;
    return folded;
  });
  return requests
    .filter(({ isSummary }) => !isSummary)
    .map((request, index) => ({ ...request, step: index + 1 }))
    .filter(({ turn }) => turn >= from)
    .map(({ intent, turn, request, digest, step }) => {
      if (digest !== intent.request)
        throw new MeshError(
          "FOLD_DIVERGED",
          `the request of ${intent.id} in turn ${turn} cannot be rebuilt: recorded is ${intent.request}, rebuilt ${digest}`,
        );
      const reply = replies.get(intent.id);
      const without = reply?.why ?? "it has not been answered yet";
      return { intent, turn, step, request, digest, reply: reply?.reply, without };
    });
}

/** What came back for each model intent: the first success counts, a later report of a cost does not. */
function repliesOf(turns: readonly Turn[]): Map<IntentId, { reply: ModelReply | undefined; why: string }> {
  const replies = new Map<IntentId, { reply: ModelReply | undefined; why: string }>();
  for (const { steps } of turns)
    for (const { event } of steps) {
      if (event.type !== "result" || replies.get(event.intent)?.reply !== undefined) continue;
      const { result } = event;
      const parsed = result.outcome === "succeeded" ? ModelReply.safeParse(result.output) : undefined;
      const why =
        result.outcome === "succeeded" ? "its reply is malformed" : `${result.outcome}: ${result.reason}`;
      replies.set(event.intent, { reply: parsed?.data, why });
    }
  return replies;
}

async function compare(
  decision: RecordedDecision,
  { port, signal }: ReplayOptions,
): Promise<DecisionDocument> {
  const { intent, turn, step, reply, without } = decision;
  const document = { intent: intent.id, turn, step, recordedModel: intent.name, request: intent.request };
  if (reply === undefined) return { ...document, verdict: "skipped", what: [without] };
  const recorded = shown(reply);
  let got: ModelReply;
  try {
    got = await ask(port(decision), decision.request, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ...document, verdict: "failed", what: [describeError(error)], recorded };
  }
  const what = differences(reply, got);
  return { ...document, verdict: what.length === 0 ? "same" : "different", what, recorded, got: shown(got) };
}

async function ask(port: ModelPort, request: ModelRequest, abort: AbortSignal): Promise<ModelReply> {
  const answer = await port.decide(request, { abort, live: () => undefined, spent: () => undefined });
  const parsed = ModelReply.safeParse(answer);
  if (!parsed.success) throw new MeshError("MODEL_REPLY_INVALID", z.prettifyError(parsed.error));
  return parsed.data;
}

/** What of a reply decides: its calls, its stop, and its text where there is no call. */
const shown = ({ text, calls, stop }: ModelReply): Json => toJson({ text, calls, stop });

/** What differs in the decision. Words beside calls decide nothing, so they may differ. */
function differences(recorded: ModelReply, got: ModelReply): string[] {
  const names = ({ calls }: ModelReply) => calls.map((call) => call.tool).join(", ") || "no call";
  if (names(recorded) !== names(got)) return [`calls ${names(got)} instead of ${names(recorded)}`];
  const what = recorded.calls.flatMap((call, k) =>
    canonicalJson(call.input) === canonicalJson(got.calls[k]?.input)
      ? []
      : [`another input for ${call.tool} (call ${k})`],
  );
  if (recorded.calls.length === 0 && recorded.text !== got.text) what.push("another text");
  if (isBreak(recorded) !== isBreak(got))
    what.push(`stops with ${got.stop ?? "nothing"} instead of ${recorded.stop ?? "nothing"}`);
  return what;
}

/** Stops that are outcomes of their own; `end` and `calls` only say what the calls say. */
const isBreak = ({ stop }: ModelReply): string =>
  stop === undefined || stop === "end" || stop === "calls" ? "" : stop;
