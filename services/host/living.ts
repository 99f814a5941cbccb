/**
 * Living: how many sagas that have not ended go on under each of some definitions.
 *
 * XL1 One request for each ledger tells whether it may be meant; only those that may be are read.
 * XL2 After ten seconds it is enough that there are some: what is found by then is told as a lower bound. Where there is
 *     none, all are looked at.
 */
import { presentDefinition } from "../../actors/kernel/replay.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { unreadableOf } from "../ledger/many.ts";
import { emptyHead, isTombstone, readTurns } from "../ledger/reader.ts";
import type { Log } from "../process/log.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { lastTurnOf } from "../ledger/chain.ts";

/** What counting takes. */
export interface CountingDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sagas that live, by the hash of the definition they go on under. */
export interface Living {
  readonly byHash: ReadonlyMap<string, number>;
  /** Whether these are all; else there are at least so many (XL2). */
  readonly isAll: boolean;
}

const enoughMs = 10_000;
const tellEveryMs = 2_000;
/** Ledgers looked at together. */
const concurrencyMax = 16;

/** Counts the sagas of definitions of these hashes. Throws UNAVAILABLE after 30 s without the server. */
export async function countLiving(deps: CountingDeps, hashes: ReadonlySet<string>): Promise<Living> {
  const { ports, clock, log } = deps;
  const all = await patiently(clock, () => ports.ledger.list());
  const byHash = new Map<string, number>();
  const begunAt = clock.elapsed();
  let toldAt = begunAt;
  let looked = 0;
  const left = all.values();
  const isEnough = () => byHash.size > 0 && clock.elapsed() - begunAt > enoughMs;
  const lookAtSome = async () => {
    for (const { saga } of left) {
      const hash = await livingHash(deps, saga, hashes);
      looked += 1;
      if (hash !== undefined) byHash.set(hash, (byHash.get(hash) ?? 0) + 1);
      if (isEnough()) return;
      if (clock.elapsed() - toldAt < tellEveryMs) continue;
      toldAt = clock.elapsed();
      log.info({ looked, of: all.length }, "looking for sagas that live");
    }
  };
  await Promise.all(Array.from({ length: concurrencyMax }, lookAtSome));
  return { byHash, isAll: looked === all.length };
}

/** The hash of its definition if it lives and that is one of these. A ledger that cannot be read is none's, and is named. */
async function livingHash(
  { ports, clock, log }: CountingDeps,
  saga: SagaId,
  hashes: ReadonlySet<string>,
): Promise<string | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined || isTombstone(last)) return undefined;
  const told = definitionTold(last);
  if (told !== undefined && !hashes.has(told.hash)) return undefined; // XL1
  try {
    const stored = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
    const turns = stored.map(({ turn }) => turn);
    return hasEnded(turns) ? undefined : presentDefinition(turns).hash;
  } catch (error) {
    if (isMeshError(error, "UNAVAILABLE")) throw error;
    const { code, reason } = unreadableOf(saga, error);
    log.warn({ sagaId: saga, code, reason }, "a saga that may live cannot be read");
    return undefined;
  }
}

/** Whether a ledger holds an end. What comes after it corrects it and begins nothing. */
export const hasEnded = (turns: readonly Turn[]): boolean =>
  turns.some(({ steps }) => steps.some(({ intents }) => intents.some(({ kind }) => kind === "end")));
