/**
 * Turn headers: what stands beside a turn's bytes. All of it follows from the bytes and the definition, so a reader of
 * the turn can tell whether they are still those it was stored with; and one of the last turn alone, which definition the
 * saga goes on under.
 */
import { spanOf } from "../../protocol/digest.ts";
import { definitionOfText, textOfDefinition } from "../../protocol/definition-text.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { type Headers, headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { StoredMessage } from "./ports.ts";

/** A turn's trace is made of its saga's id alone, whatever tree that is in: every host and every replay arrives at the same. */
export { traceIdOf } from "../../protocol/trace.ts";

/** Which definition the saga goes on under after a turn, and its trace. */
export interface TurnOrigin {
  /** Undefined where the turns before it are not known. */
  readonly definition: DefinitionRef | undefined;
  readonly traceId: string;
}

/** The definition that a turn says its saga has from now on: it begins, or is moved. Undefined of all other turns. */
export function definitionSetBy({ steps }: Pick<Turn, "steps">): DefinitionRef | undefined {
  const set = steps.flatMap(({ event }) =>
    event.type === "start" ? [event.definition] : event.type === "migrated" ? [event.to] : [],
  );
  return set.at(-1);
}

/** The definition that stands beside a message: of a turn, the one that its saga goes on under. */
export const definitionTold = ({
  headers: fields,
}: Pick<StoredMessage, "headers">): DefinitionRef | undefined => definitionOfText(fields[headers.definition]);

/** The headers of a turn whose bytes have this hash, of a saga of this definition. */
export function turnHeaders(
  { saga, turn, steps }: Pick<Turn, "saga" | "turn" | "steps">,
  hash: string,
  { definition, traceId }: TurnOrigin,
): Headers {
  const event = steps[0]?.event;
  return {
    [headers.saga]: saga,
    [headers.turn]: String(turn),
    [headers.event]: event?.type === "result" ? event.result.outcome : (event?.type ?? ""),
    [headers.agent]: definition?.name ?? "",
    [headers.definition]: definition === undefined ? "" : textOfDefinition(definition),
    [headers.trace]: `00-${traceId}-${spanOf(hash)}-01`,
  };
}
