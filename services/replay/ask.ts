/**
 * Ask: one question to a model port, outside any mesh.
 *
 * AS1 What a provider calls transient is asked again, a few times; every attempt may cost, and only the answer's cost
 *     is known.
 * AS2 How long it took is told only of models whose time means something: a script answers at once.
 */
import { z } from "zod";
import { priced } from "../../actors/kernel/spending.ts";
import type { ModelPrice } from "../../protocol/budget.ts";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { ModelFailure, type ModelPort, ModelReply, type ModelRequest } from "../../protocol/model.ts";
import type { LeftOut } from "../../protocol/documents/replay.ts";
import type { Clock } from "../wire/ports.ts";

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Of the model asked, where its port reports no dollars. */
  readonly price: ModelPrice | undefined;
}

export interface Answer {
  /** With its cost in dollars where there is a price. */
  readonly reply: ModelReply;
  readonly latencyMs: number | undefined;
  readonly leftOut: readonly LeftOut[];
}

const attemptsMax = 3;
const pauseMs = 1_000;

/** Throws what the port throws, MODEL_PORT_INVALID, and the signal's reason. */
export async function askPort(port: ModelPort, request: ModelRequest, options: AskOptions): Promise<Answer> {
  const { signal, clock, price } = options;
  for (let attempt = 1; ; attempt++) {
    const began = clock.elapsed();
    try {
      const abort = AbortSignal.any([signal, AbortSignal.timeout(limits.modelTimeoutMs)]);
      const answer = await port.decide(request, { abort, live: () => undefined, spent: () => undefined });
      const read = ModelReply.safeParse(answer);
      if (!read.success) throw new MeshError("MODEL_PORT_INVALID", z.prettifyError(read.error));
      const { sent: _sent, route: _route, ...reply } = read.data;
      return {
        reply: { ...reply, usage: priced(reply.usage, price) },
        latencyMs: port.atOnce === true ? undefined : clock.elapsed() - began,
        leftOut: leftOutBy(port, request),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelFailure) || error.kind === "fail" || attempt >= attemptsMax) throw error;
      await clock.sleep(error.retryAfterMs ?? pauseMs * 2 ** (attempt - 1), signal);
    }
  }
}

/** Opaque blocks of a request that the port does not send. One that says nothing of them sends none. */
function leftOutBy(port: ModelPort, request: ModelRequest): LeftOut[] {
  const told = port.leavesOut?.(request);
  const blocks = told ?? [{ blocks: opaqueBlocks(request), because: "another provider" }];
  const sums = new Map<string, number>();
  for (const one of blocks) sums.set(one.because, (sums.get(one.because) ?? 0) + one.blocks);
  return [...sums].flatMap(([because, sum]) => (sum === 0 ? [] : [{ blocks: sum, because }]));
}

/** What a reply holds beside text and calls: an adapter marks it so, for it alone can read it. */
const opaqueBlocks = ({ messages }: ModelRequest): number =>
  messages
    .flatMap((message) => (message.role === "assistant" ? (message.blocks ?? []) : []))
    .filter(({ kind }) => kind === "verbatim").length;
