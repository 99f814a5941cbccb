/**
 * Up to: the first turns of a stored ledger, handed on one by one, of which some are in memory at a time.
 *
 * UQ1 Hosts' clocks differ, so a turn behind one that is later than a time may be earlier. Where that shows the turns are read once more:
 *     what is handed on are always the first ones, without a gap, and those behind them only as such.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import type { LoopPort } from "../wire/ports.ts";
import { ledgerInPages } from "./view.ts";

/** How far a ledger is read: through a turn, or through the last one that is no later than a time; all of it without either. */
export interface Moment {
  readonly turn?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly time?: number | undefined;
}

/** Is handed the first turns, each once and in order. */
export interface TurnTaker {
  take(turn: Turn): void;
  /** The same for those behind the moment. */
  beyond?(turn: Turn): void;
}

/** What was read. */
export interface SoFar<T> {
  readonly taker: T;
  /** The last turn that was taken; undefined: the moment is before the first. */
  readonly last: { readonly turn: number; readonly at: number } | undefined;
  /** How many turns there are. */
  readonly of: number;
  /** When the first one was decided. */
  readonly firstAt: number;
}

/** A ledger that can be read again and again; `through`: up to this turn, in place of what was asked for. */
export type ReadUpTo = <T extends TurnTaker>(begin: () => T, through?: number) => Promise<SoFar<T>>;

/** The ledger of a saga up to a moment. What is given throws as `readLedger` does, once all that is to be read was read. */
export const ledgerUpTo =
  (ports: LedgerSource, saga: SagaId, moment: Moment): ReadUpTo =>
  async (begin, through) => {
    const asked = through === undefined ? moment : { turn: through };
    const first = await readOnce(ports, saga, (turn) => isWithin(turn, asked), begin);
    const { reached } = first;
    if (first.last?.turn === reached?.turn) return first;
    const again = await readOnce(ports, saga, ({ turn }) => turn <= (reached?.turn ?? 0), begin); // UQ1
    return { ...again, of: first.of };
  };

const isWithin = ({ turn, at }: Turn, moment: Moment): boolean =>
  turn <= (moment.turn ?? Number.POSITIVE_INFINITY) && at <= (moment.time ?? Number.POSITIVE_INFINITY);

async function readOnce<T extends TurnTaker>(
  ports: LedgerSource,
  saga: SagaId,
  isMeant: (turn: Turn) => boolean,
  begin: () => T,
): Promise<SoFar<T> & { readonly reached: SoFar<T>["last"] }> {
  const taker = begin();
  let last: SoFar<T>["last"];
  let reached: SoFar<T>["last"];
  let of = 0;
  let firstAt = 0;
  for await (const page of ledgerInPages(ports, saga))
    for (const { turn } of page) {
      if (of === 0) firstAt = turn.at;
      of += 1;
      const isNext = (last?.turn ?? 0) === turn.turn - 1;
      if (isMeant(turn)) reached = { turn: turn.turn, at: turn.at };
      if (isNext && reached?.turn === turn.turn) {
        last = reached;
        taker.take(turn);
      } else taker.beyond?.(turn);
      const wait = ports.loop?.breathe();
      if (wait !== undefined) await wait;
    }
  return { taker, last, reached, of, firstAt };
}

/** Turns at hand, in place of a ledger that is read; the loop is given way to between them. */
export const turnsUpTo =
  (turns: readonly Turn[], loop?: LoopPort): ReadUpTo =>
  async (begin, through = turns.length) => {
    const taker = begin();
    for (const turn of turns) {
      if (turn.turn <= through) taker.take(turn);
      else taker.beyond?.(turn);
      const wait = loop?.breathe();
      if (wait !== undefined) await wait;
    }
    const last = turns.findLast(({ turn }) => turn <= through);
    return { taker, last, of: turns.length, firstAt: turns[0]?.at ?? 0 };
  };
