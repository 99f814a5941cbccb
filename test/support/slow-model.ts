/**
 * A model that takes its time, for tests of what happens to a call while it is open.
 *
 * Left out: tokens, failures. Its account is kept outside of every ledger: each request is noted when it is
 * made, and how it ended.
 */
import type { ModelAnswer, ModelPort, ModelRequest } from "../../protocol/model.ts";
import type { Usage } from "../../protocol/result.ts";

export interface Asked {
  readonly request: ModelRequest;
  readonly askedAt: number;
  ended?: { readonly how: "answered" | "aborted"; readonly at: number };
}

export interface SlowReply {
  readonly answer: Omit<ModelAnswer, "model">;
  readonly takesMs?: number;
  /** What an aborted call has cost; told to the caller before the call ends. */
  readonly spent?: Usage;
  /** Goes on although the call was called off, as a careless port would. */
  readonly deaf?: boolean;
}

export interface SlowModel extends ModelPort {
  readonly asked: readonly Asked[];
}

/** A port that answers as the script says, when it says. */
export function slowModel(name: string, script: (request: ModelRequest) => SlowReply): SlowModel {
  const asked: Asked[] = [];
  return {
    name,
    asked,
    decide: async (request, { abort, spent }) => {
      const note: Asked = { request, askedAt: performance.now() };
      asked.push(note);
      const reply = script(request);
      const heeded = reply.deaf === true ? undefined : abort;
      try {
        await pause(reply.takesMs ?? 0, heeded);
      } catch (error) {
        note.ended = { how: "aborted", at: performance.now() };
        if (reply.spent !== undefined) spent(reply.spent);
        throw error;
      }
      note.ended = { how: "answered", at: performance.now() };
      return { model: name, ...reply.answer };
    },
  };
}

const pause = (ms: number, abort: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    abort?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(abort.reason as Error);
    });
  });
