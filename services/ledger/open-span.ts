/**
 * Open span: after which turns an intent was open, as a ledger tells without its definition.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Account } from "./account.ts";

export interface OpenSpan {
  /** The turn that decided it. */
  readonly from: number;
  /** The last turn after which it was open. */
  readonly through: number;
}

/** Undefined for an intent that the ledger does not have. */
export function openSpan({ intents, turns }: Account, id: IntentId): OpenSpan | undefined {
  const told = intents.get(id);
  if (told === undefined) return undefined;
  const { place, before, ended } = told;
  return { from: place.turn, through: ((before ?? ended)?.turn ?? turns + 1) - 1 };
}

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
