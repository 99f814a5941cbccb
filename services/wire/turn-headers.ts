/**
 * Turn headers: what stands beside a turn's bytes. All of it follows from the bytes and the definition's name, so
 * a reader of the turn can tell whether they are still those it was stored with.
 */
import { sha256, spanOf } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Headers, headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";

/** One trace per saga, made of its id: every host and every replay arrives at the same. */
export const traceIdOf = (saga: SagaId): string => sha256(saga).slice(0, 32);

/** The headers of a turn whose bytes have this hash, of a saga of this definition. */
export function turnHeaders(
  { saga, turn, steps }: Pick<Turn, "saga" | "turn" | "steps">,
  hash: string,
  from: { readonly agent: string; readonly traceId: string },
): Headers {
  const event = steps[0]?.event;
  return {
    [headers.saga]: saga,
    [headers.turn]: String(turn),
    [headers.event]: event?.type === "result" ? event.result.outcome : (event?.type ?? ""),
    [headers.agent]: from.agent,
    [headers.trace]: `00-${from.traceId}-${spanOf(hash)}-01`,
  };
}
