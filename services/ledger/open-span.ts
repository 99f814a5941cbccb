/**
 * Open span: after which turns an intent was open, as a ledger tells without its definition.
 */
import { MeshError } from "../../protocol/errors.ts";
import { type IntentId, type SagaId, turnOf } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { recordedCalls } from "./recorded-results.ts";

export interface OpenSpan {
  /** The turn that decided it. */
  readonly from: number;
  /** The last turn after which it was open. */
  readonly through: number;
}

/** Undefined for an intent that the ledger does not have. */
export function openSpan(turns: readonly Turn[], id: IntentId): OpenSpan | undefined {
  const from = turnOf(id);
  const decided = turns[from - 1]?.steps.flatMap(({ intents }) => intents).find((one) => one.id === id);
  if (decided === undefined || decided.kind === "retry") return undefined;
  const settled =
    decided.kind === "model"
      ? endOfDecision(turns.slice(from), id)
      : recordedCalls(turns).find(({ intent }) => intent.id === id)?.settledTurn;
  return { from, through: (settled ?? turns.length + 1) - 1 };
}

/** A decision is over with its reply, or when another one is asked for. */
const endOfDecision = (after: readonly Turn[], id: IntentId): number | undefined =>
  after.find(({ steps }) =>
    steps.some(
      ({ event, intents }) =>
        (event.type === "result" && event.intent === id && event.result.outcome === "succeeded") ||
        intents.some(({ kind }) => kind === "model"),
    ),
  )?.turn;

/** What is wrong with a fork that would answer an intent which is not open at its turn. */
export function notOpen(
  id: IntentId,
  { saga, turn }: { readonly saga: SagaId; readonly turn: number },
  span: OpenSpan | undefined,
): MeshError {
  if (span === undefined) return new MeshError("INTENT_UNKNOWN", `${saga} has no intent ${id}`);
  const { from, through } = span;
  const was = from <= through ? `it was after turn ${from}${from === through ? "" : ` to ${through}`}` : "";
  return new MeshError("NOT_OPEN_THEN", `${id} was not open after turn ${turn} of ${saga}; ${was}`, {
    remedy: `Fork from turn ${through}.`,
  });
}
