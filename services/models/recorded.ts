/**
 * A model that says again what a ledger recorded: for replays and forks, where asking a provider again
 * would cost money and give another answer.
 *
 * RD1 A reply is given only to the request it was recorded for: the step and the digest must both fit. A
 *     near miss would put words in a model's mouth that it never said to this.
 */
import { digestOf } from "../../protocol/digest.ts";
import { ModelFailure, type ModelAnswer, type ModelPort, type ModelRequest } from "../../protocol/model.ts";

/** One decision of a ledger: its number, the digest recorded before the call, and what was said. */
export interface RecordedReply {
  readonly step: number;
  readonly request: string;
  readonly reply: ModelAnswer;
}

export interface RecordedModelOptions {
  /** How the ledger's digests were made. Without it the digest of the whole request. */
  readonly digest?: (request: ModelRequest) => string;
}

/**
 * A model port that answers from `replies`, a list or a lookup by step. Of a list with a step twice the
 * later one counts. A miss is a failure that ends the attempts and says what was asked and what is known.
 */
export function recordedModel(
  name: string,
  replies: Iterable<RecordedReply> | ((step: number) => RecordedReply | undefined),
  options: RecordedModelOptions = {},
): ModelPort {
  const digest = options.digest ?? digestOf;
  const lookUp = typeof replies === "function" ? replies : lookUpIn(replies);
  return {
    name,
    atOnce: true,
    decide: async (request, context) => {
      context.abort.throwIfAborted();
      const where = `step ${request.step} of saga ${request.saga}`;
      const recorded = lookUp(request.step);
      if (recorded === undefined)
        throw new ModelFailure("fail", `model ${name} has no reply recorded for ${where}`);
      const asked = digest(request);
      if (asked !== recorded.request)
        throw new ModelFailure(
          "fail",
          `model ${name} has no reply to this request recorded for ${where}: expected the request ${recorded.request}, got ${asked}`,
        );
      return recorded.reply;
    },
  };
}

function lookUpIn(replies: Iterable<RecordedReply>): (step: number) => RecordedReply | undefined {
  const byStep = new Map(Array.from(replies, (reply) => [reply.step, reply]));
  return (step) => byStep.get(step);
}
