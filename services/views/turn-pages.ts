/**
 * Turn pages: a ledger that is read from its first turn as often as somebody wants, some turns at a time.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import { processLoop } from "../wire/loop.ts";
import { ledgerInPages } from "./view.ts";

/** Each call reads it anew: it may have grown since. */
export type TurnPages = () => AsyncIterable<readonly Turn[]>;

/** A stored ledger. What it gives throws as `readLedger` does, at the end at the latest. */
export const storedPages = (source: LedgerSource, saga: SagaId): TurnPages =>
  async function* () {
    for await (const page of ledgerInPages(source, saga)) yield page.map(({ turn }) => turn);
  };

/** Turns at hand. */
export const pagesOfTurns = (turns: readonly Turn[]): TurnPages =>
  async function* () {
    if (turns.length > 0) yield await Promise.resolve(turns);
  };

/** The turns one by one, up to this one or the last; the process gives way between them. */
export async function* turnsThrough(
  ledger: TurnPages,
  last = Number.POSITIVE_INFINITY,
): AsyncGenerator<Turn, void> {
  for await (const page of ledger())
    for (const turn of page) {
      if (turn.turn > last) return;
      yield turn;
      const wait = processLoop.breathe();
      if (wait !== undefined) await wait;
    }
}
