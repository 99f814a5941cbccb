/**
 * Orphans: what is open on a ledger and in no queue: no message, no armed timer, and no owner that holds the saga.
 *
 * Owns: finding it, with one question to each queue and none for each intent. Does not own: handing it on again, which is
 * its saga's owner's (services/host/again.ts).
 *
 * OE1 The queues are asked before the ledgers: WORK, then INBOX, then which ledgers there are. What leaves a queue is
 *     acked only after what follows from it is in the next one, or on the ledger; so what is in none of them and still open
 *     on the ledger was lost on the way.
 * OE2 A saga with an input in INBOX is no orphan, whatever is open: a host that runs a saga holds an input of it un-acked.
 * OE3 Of WORK only the oldest call of each contract is looked at. A call is gone if all that lie there are younger than
 *     its saga's last turn, since which nothing was handed on; in a queue that never drains it is found as soon as
 *     the queue has moved past it.
 * OE4 A ledger is read again only after it has grown; until then what is open on it is remembered, in few words.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { InboxStock, Ports } from "../wire/ports.ts";
import { accountOf } from "./account-reader.ts";
import type { Account, ToldIntent } from "./account.ts";
import { lastTurnOf } from "./chain.ts";
import { type Many, manyOf, type ManyOptions, readMany } from "./many.ts";
import { emptyHead, isTombstone, type LedgerSource, readTurns } from "./reader.ts";

/** What looking takes: reads alone. */
export type OrphanPorts = Pick<LedgerSource, "blobs" | "loop"> & {
  readonly ledger: Pick<Ports["ledger"], "last" | "read" | "list">;
  readonly inbox: Pick<Ports["inbox"], "stock">;
  readonly work: Pick<Ports["work"], "stock">;
};

/** An open intent in no queue. */
export interface Orphan {
  readonly intent: IntentId;
  readonly kind: ToldIntent["intent"]["kind"];
  /** The tool's or the child's definition's. */
  readonly name?: string;
}

/** Those of them that a nudge names: the calls of tools. */
export const lostCalls = (orphans: readonly Orphan[]): IntentId[] =>
  orphans.flatMap(({ intent, kind }) => (kind === "tool" ? [intent] : []));

/** A saga that stands, and nothing is on its way that would move what is named here. */
export interface OrphanedSaga {
  readonly saga: SagaId;
  /** When its last turn was stored, milliseconds since the epoch by the server's clock. */
  readonly since: number;
  /** How many messages its ledger has: it stands as long as they are as many. */
  readonly turns: number;
  readonly orphans: readonly Orphan[];
}

/** Which sagas are looked at. */
export interface LookOptions extends ManyOptions {
  /** Only these; all unless given. */
  readonly of?: ((saga: SagaId) => boolean) | undefined;
  /** Only these, each with its number of turns: it is not asked then which ledgers there are. For who looks once, at a few. */
  readonly among?: ReadonlyMap<SagaId, number> | undefined;
  /** Only sagas whose last turn was stored before, milliseconds since the epoch by the server's clock. */
  readonly quietSince: number;
  /** Also sagas that have an input in INBOX (OE2): of those whose owner asks itself. */
  readonly alsoHeld?: boolean;
  /** Told after each ledger that is read, with how many there are to read. */
  readonly told?: ((read: number, of: number) => void) | undefined;
}

/** Looks for orphans, and remembers what it read for the next time. */
export interface OrphanSearch {
  /** Throws UNAVAILABLE. A ledger that cannot be read is named beside what is found. */
  look(options: LookOptions): Promise<Many<OrphanedSaga>>;
  /** When INBOX was made anew after a loss, as the last look found it. */
  inboxRemadeAt(): number | undefined;
}

/** What is remembered of a ledger (OE4). */
interface Remembered {
  readonly turns: number;
  readonly since: number;
  /** It has ended, and nothing of it is open. */
  readonly isOver: boolean;
  readonly open: readonly Open[];
}

interface Open extends Orphan {
  /** What must be in a queue for it. */
  readonly by:
    | { readonly type: "timer" }
    | { readonly type: "call"; readonly contract: string }
    | { readonly type: "child"; readonly child: SagaId }
    | { readonly type: "owner" };
}

/** About 100 bytes each, more for what is open. Beyond this the longest known are forgotten, and read again. */
const rememberedMax = 200_000;
/** Between a turn and the last of its intents' being handed on, when the server answers slowly. */
const handingOnMs = 60_000;

/** A search that knows nothing yet. */
export function createOrphanSearch(ports: OrphanPorts): OrphanSearch {
  const known = new Map<SagaId, Remembered>();
  const remember = (saga: SagaId, one: Remembered): Remembered => {
    known.delete(saga);
    known.set(saga, one);
    for (const oldest of known.keys()) {
      if (known.size <= rememberedMax) break;
      known.delete(oldest);
    }
    return one;
  };

  let inboxRemadeAt: number | undefined;
  return {
    inboxRemadeAt: () => inboxRemadeAt,
    look: async ({ of = () => true, among, quietSince, alsoHeld = false, told, ...options }) => {
      const work = await ports.work.stock(); // OE1
      const { sagas: held, starts, timers, remadeAt } = await ports.inbox.stock();
      inboxRemadeAt = remadeAt;
      const turnsOf =
        among ?? new Map((await ports.ledger.list()).map(({ saga, turns }) => [saga, turns] as const));
      if (among === undefined) for (const saga of known.keys()) if (!turnsOf.has(saga)) known.delete(saga);
      const hasBegun = async (child: SagaId) =>
        turnsOf.has(child) || (among !== undefined && (await ports.ledger.last(child)) !== undefined);
      const stock: Stock = { work, timers, held, starts, hasBegun, isOver: (child) => isOver(child) };

      const recall = async (saga: SagaId): Promise<Remembered | undefined> => {
        const turns = turnsOf.get(saga) ?? 0;
        const present = known.get(saga);
        if (present?.turns === turns) return present;
        const read = await readOpen(ports, saga, turns, quietSince);
        return read === undefined ? undefined : remember(saga, read);
      };
      const isOver = async (child: SagaId) => (await recall(child))?.isOver === true;

      const due = [...turnsOf.keys()].filter((saga) => of(saga) && (alsoHeld || !held.has(saga))); // OE2
      let read = 0;
      return readMany(
        due,
        async (saga) => {
          const one = await recall(saga);
          told?.((read += 1), due.length);
          if (one === undefined || one.open.length === 0 || one.since >= quietSince) return undefined;
          const orphans = await orphansOf(saga, one, stock);
          const { since, turns } = one;
          return orphans.length === 0 ? undefined : { saga, since, turns, orphans };
        },
        options,
      ).then((all) => manyOf(sortedById(all), all.unreadable));
    },
  };
}

const sortedById = (all: readonly OrphanedSaga[]): OrphanedSaga[] =>
  [...all].sort((a, b) => (a.saga < b.saga ? -1 : 1));

interface Stock {
  readonly work: ReadonlyMap<string, number>;
  readonly timers: InboxStock["timers"];
  readonly held: InboxStock["sagas"];
  readonly starts: InboxStock["starts"];
  /** It has a ledger. */
  readonly hasBegun: (child: SagaId) => Promise<boolean>;
  readonly isOver: (child: SagaId) => Promise<boolean>;
}

async function orphansOf(saga: SagaId, { open, since }: Remembered, stock: Stock): Promise<Orphan[]> {
  const orphans: Orphan[] = [];
  for (const one of open) {
    const { intent, kind, name } = one;
    if (await isOnItsWay(saga, one, since, stock)) continue;
    orphans.push({ intent, kind, ...(name === undefined ? {} : { name }) });
  }
  return orphans;
}

async function isOnItsWay(
  saga: SagaId,
  { intent, by }: Open,
  since: number,
  { work, timers, held, starts, hasBegun, isOver }: Stock,
): Promise<boolean> {
  switch (by.type) {
    case "timer":
      return timers.has(`${saga}.${intent}`);
    case "call": {
      const oldest = work.get(by.contract);
      return oldest !== undefined && oldest <= since + handingOnMs; // OE3
    }
    case "child": // One that lives is looked after for itself.
      // One without a ledger begins with a start alone; a result of turns that were lost begins nothing.
      if (!(await hasBegun(by.child))) return starts.has(by.child);
      return held.has(by.child) || !(await isOver(by.child));
    case "owner":
      return false; // OE2
  }
}

/** What is open of a saga; undefined while it goes on: its last turn is younger, or others have come since the list. */
async function readOpen(
  ports: OrphanPorts,
  saga: SagaId,
  turns: number,
  quietSince: number,
): Promise<Remembered | undefined> {
  const last = await lastTurnOf(ports, saga);
  if (last === undefined || last.storedAt >= quietSince) return undefined;
  const since = last.storedAt;
  if (isTombstone(last)) return { turns, since, isOver: true, open: [] };
  const { ledger, blobs, loop } = ports;
  const source = { ledger, blobs, ...(loop === undefined ? {} : { loop }) };
  try {
    const stored = await readTurns(source, saga, emptyHead, last.seq);
    const account = accountOf(stored.map(({ turn }) => turn));
    const open = openIn(account);
    return { turns, since, isOver: account.end !== undefined && account.open.size === 0, open };
  } catch (error) {
    if (isMeshError(error, "SAGA_ARCHIVED")) return { turns, since, isOver: true, open: [] };
    throw error;
  }
}

function openIn({ open, paused, fork }: Account): Open[] {
  if (fork !== undefined && fork.effects === undefined) return []; // Its start stands until it has left its origin.
  return [...open.values()].flatMap(({ intent, deferred, inLine }): Open[] => {
    const { id, kind } = intent;
    if (inLine) return []; // Its turn comes with the end of another.
    switch (intent.kind) {
      case "timer":
      case "task":
        return [{ intent: id, kind, by: { type: "timer" } }];
      case "tool": {
        const { name, contract } = intent;
        const by =
          deferred === undefined ? ({ type: "call", contract } as const) : ({ type: "timer" } as const);
        return [{ intent: id, kind, name, by }];
      }
      case "saga":
        return [{ intent: id, kind, name: intent.name, by: { type: "child", child: intent.saga } }];
      case "model": // Of a paused saga none is asked.
        return paused === undefined ? [{ intent: id, kind, by: { type: "owner" } }] : [];
      default:
        return [{ intent: id, kind, by: { type: "owner" } }];
    }
  });
}
