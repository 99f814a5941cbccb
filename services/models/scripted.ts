/**
 * A model that is a function: for tests and for the demo that runs offline.
 *
 * SD1 The script sees exactly what a real model would be sent, and nothing else: no clock, no signal to abort.
 * SD2 A script is pure, so a replay may ask it again. A promise is the sign of one that is not, and is refused.
 */
import { describeError } from "../../protocol/errors.ts";
import { ModelFailure, type ModelAnswer, type ModelPort, type ModelRequest } from "../../protocol/model.ts";

/**
 * A model port that answers with `reply(request)`. `name` is what the application file calls the model;
 * an answer need not repeat it. A script that throws a ModelFailure plays a provider's failure; anything
 * else it throws is a mistake in the script and ends the attempts.
 */
export const scriptedModel = (name: string, reply: (request: ModelRequest) => ScriptedAnswer): ModelPort => ({
  name,
  atOnce: true,
  decide: async (request, context) => {
    context.abort.throwIfAborted();
    return { model: name, ...askScript(name, reply, request) };
  },
});

/** What a script returns: a model's answer, where the model's name may be left out. */
export type ScriptedAnswer = Omit<ModelAnswer, "model"> & { readonly model?: string };

function askScript(
  name: string,
  reply: (request: ModelRequest) => ScriptedAnswer,
  request: ModelRequest,
): ScriptedAnswer {
  const where = `the script of model ${name} at step ${request.step} of saga ${request.saga}`;
  let answer: ScriptedAnswer;
  try {
    answer = reply(request);
  } catch (error) {
    if (error instanceof ModelFailure) throw error;
    throw new ModelFailure("fail", `${where} threw: ${describeError(error)}`, { cause: error });
  }
  // Types do not stop a script written in JavaScript, nor an async function cast to a sync one.
  const returned: unknown = answer;
  if (isThenable(returned)) {
    // The promise is dropped on purpose; unhandled, its rejection would end the process.
    void Promise.resolve(returned).catch(() => undefined);
    throw new ModelFailure("fail", `${where} returned a promise: a script is a pure, synchronous function`);
  }
  if (typeof returned !== "object" || returned === null)
    throw new ModelFailure(
      "fail",
      `${where} returned ${returned === null ? "null" : typeof returned}, not a reply`,
    );
  return answer;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
