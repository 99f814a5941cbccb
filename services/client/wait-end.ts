/**
 * Wait end: a saga's end as soon as it is there, without following the turns before it.
 *
 * WE1 What counts is read from the ledger. The host's notice only says that it is time to look; one that was lost costs
 *     at most `lookMsMax`.
 * WE2 An end may be followed by corrections, and by another end. So where the last turn is none, and something was said
 *     or nothing has happened between two looks, the turns since the last such look are read, each once.
 * WE3 A ledger that lacks a turn that was seen here, or has another in its place, once no deposed leader can be the cause, has
 *     lost its end or was put back: the end that is waited for may never come.
 */
import { chainHash } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { lanes } from "../../protocol/live.ts";
import type { StartIdentity } from "../../protocol/start.ts";
import type { ArchivedEnd } from "../../protocol/tombstone.ts";
import { readBegun } from "../ledger/begun.ts";
import { emptyHead, type Head, lastTurnOf, readChain } from "../ledger/chain.ts";
import { decodeTurn, isTombstone, readTombstone } from "../ledger/reader.ts";
import { isTransient } from "../wire/patience.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { endIn } from "./follow-turns.ts";
import type { ClientDeps } from "./send.ts";
import { assertBegunAs } from "./start.ts";

/** The second look comes soon, for corrections of a saga that has ended; later ones only make up for what was lost. */
const lookMsMin = 250;
const lookMsMax = 5_000;

/** What waiting takes. */
export interface Awaited {
  readonly saga: SagaId;
  /** What this caller started it with. */
  readonly started: StartIdentity | undefined;
  readonly signal: AbortSignal;
}

/**
 * Resolves with the end; with none once the signal is aborted. A server that is away is waited for. Throws SAGA_ID_TAKEN
 * if the saga was begun with something else than `started`, LEDGER_BROKEN, LEDGER_BEHIND (WE3), SIGNER_UNKNOWN, and UNAVAILABLE
 * once the connection is closed for good.
 */
export async function waitForEnd(deps: ClientDeps, awaited: Awaited): Promise<ArchivedEnd | undefined> {
  const { saga, signal } = awaited;
  const own = new AbortController();
  const notices = listening(deps, saga, AbortSignal.any([signal, own.signal])); // Before the first look.
  const look = createLook(deps, awaited);
  try {
    for (let lookMs = lookMsMin; !signal.aborted; lookMs = Math.min(lookMs * 2, lookMsMax)) {
      const end = await look(notices.take()).catch((error: unknown) => {
        if (!isTransient(error)) throw error; // Looked at again, as long as there is a connection.
      });
      if (end !== undefined) return end;
      if (notices.isOver() && !signal.aborted)
        throw new MeshError("UNAVAILABLE", `the ledger of ${saga} could not be followed to its end`);
      await notices.wait(lookMs);
    }
    return undefined;
  } finally {
    own.abort();
  }
}

/** One look at the ledger (WE2). `isTold`: a host said that there is an end. */
function createLook({ ports, clock }: ClientDeps, { saga, started }: Awaited) {
  const assertNotBehind = seenBefore({ ports, clock }, saga);
  let isChecked = started === undefined;
  let read: Head = emptyHead;
  let seenSeq = 0;
  const endOf = async (message: StoredMessage) => endIn(await decodeTurn(ports.blobs, message));

  return async (isTold: boolean): Promise<ArchivedEnd | undefined> => {
    const last = await lastTurnOf(ports, saga);
    if (last !== undefined && isTombstone(last)) return (await readTombstone(ports.blobs, last)).end;
    if (!(await assertNotBehind(last)) || last === undefined) return undefined;
    if (!isChecked && started !== undefined) {
      const begun = await readBegun(ports, saga);
      if (begun !== undefined) assertBegunAs(saga, begun, started);
      isChecked = begun !== undefined;
    }
    const end = await endOf(last);
    if (end !== undefined) return end;
    const isQuiet = last.seq === seenSeq;
    seenSeq = last.seq;
    if (!(isTold || isQuiet) || last.seq === read.seq) return undefined;
    const { links } = await readChain(ports, saga, read, last.seq);
    read = links.at(-1)?.head ?? read;
    for (const { message } of links.toReversed()) {
      const earlier = await endOf(message);
      if (earlier !== undefined) return earlier;
    }
    return undefined;
  };
}

/** WE3. Tells of a saga's last turn whether what was last before it is there still. Throws LEDGER_BEHIND. */
function seenBefore({ ports, clock }: Pick<ClientDeps, "ports" | "clock">, saga: SagaId) {
  let seen: { readonly seq: number; readonly hash: string } | undefined;
  let missingSince: number | undefined;
  const isThere = async (last: StoredMessage | undefined) => {
    if (seen === undefined) return true;
    if (last === undefined || last.seq < seen.seq) return false;
    const [there] = last.seq === seen.seq ? [last] : await ports.ledger.read(saga, seen.seq - 1, seen.seq);
    return there !== undefined && chainHash(there.data) === seen.hash;
  };
  return async (last: StoredMessage | undefined): Promise<boolean> => {
    if (await isThere(last)) {
      missingSince = undefined;
      if (last !== undefined && last.seq !== seen?.seq) seen = { seq: last.seq, hash: chainHash(last.data) };
      return true;
    }
    missingSince ??= clock.elapsed();
    if (clock.elapsed() - missingSince < limits.deposedMsMax) return false;
    const now = last === undefined ? "is empty" : `ends at message ${last.seq}`;
    throw new MeshError(
      "LEDGER_BEHIND",
      `the ledger of ${saga} ${now}, and message ${seen?.seq ?? 0} was seen`,
    );
  };
}

/** The host's notices, of which it only counts that there were some. */
function listening({ ports, clock }: ClientDeps, saga: SagaId, signal: AbortSignal) {
  let isTold = false;
  let isOver = false;
  let wake = () => {};
  const hear = async () => {
    for await (const notice of ports.live.follow(saga, signal, lanes.end)) {
      isTold ||= notice.lane === lanes.end;
      wake();
    }
  };
  void hear()
    .catch(() => undefined) // As one that has ended: what is asked next tells why.
    .finally(() => {
      isOver = true;
      wake();
    });
  return {
    isOver: () => isOver,
    /** Whether there was one since the last time. */
    take: () => {
      const was = isTold;
      isTold = false;
      return was;
    },
    wait: async (ms: number): Promise<void> => {
      if (isTold || isOver) return;
      const woken = new AbortController();
      wake = () => woken.abort();
      await clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined); // Woken: looked at now.
    },
  };
}
