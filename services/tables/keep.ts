/**
 * Keep: the tables follow the ledgers, for as long as a process wants them to, or up to where the ledgers end now.
 *
 * BK1 One process writes at a time. Another one waits and takes over within seconds of the first one's death; should both believe
 *     that they write, the one that was replaced finds it with its next write, which is not made.
 * BK2 Tables that are not of these ledgers are emptied and filled anew: those of another mesh, of one that was put back from a copy,
 *     and those whose last message is another one now. So is a file that was taken away or is broken.
 * BK3 What the server does not answer is asked for again for as long as somebody waits.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { isTransient } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { createFilling, type Filling, isStillThere } from "./fill.ts";
import type { ReadArchived } from "./saga-reading.ts";
import type { Place, Standing, TableStore } from "./store.ts";

/** How often the ledgers are looked at where nothing came: two small requests. */
const lookEveryMs = 150;
/** How often a ledger is read again that a person's word may make readable. */
const retryEveryMs = 5_000;

/** How far the tables are. */
export interface Progress {
  /** Messages of ledgers that are in the tables, and how many are stored; both count those that are gone by now. */
  readonly read: number;
  readonly stored: number;
  /** Another process fills them. */
  readonly byAnother: boolean;
}

/** What keeping lives on. */
export interface KeepDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "loop" | "restored">;
  readonly clock: Clock;
  /** The identity of the mesh. */
  readonly mesh: string;
  readonly readArchived: ReadArchived;
  /** Opens the tables; again where they are no more current, or broken. Throws INDEX_UNUSABLE. */
  readonly open: () => Promise<TableStore>;
  /** This process, new at each start. */
  readonly writer: string;
  readonly signal: AbortSignal;
  readonly report?: (progress: Progress) => void;
  /** Why they are emptied, or wait. */
  readonly note?: (line: string) => void;
}

/** Fills the tables up to where the ledgers end now. Throws UNAVAILABLE, INDEX_UNUSABLE, and what the signal says. */
export async function catchUp(deps: KeepDeps): Promise<Standing> {
  const until = await deps.ports.ledger.end();
  const keeping = createKeeping(deps);
  try {
    for (;;) {
      deps.signal.throwIfAborted();
      const standing = await keeping.look();
      if (standing !== undefined && isThrough(standing.places, until)) return standing;
      await deps.clock.sleep(lookEveryMs, deps.signal);
    }
  } finally {
    await keeping.end();
  }
}

/** Follows the ledgers until the signal. Throws INDEX_UNUSABLE. */
export async function keepTables(deps: KeepDeps): Promise<void> {
  const keeping = createKeeping(deps);
  try {
    while (!deps.signal.aborted) {
      await keeping.look().catch((error: unknown) => {
        if (deps.signal.aborted) return;
        if (!isTransient(error)) throw error; // BK3
        deps.note?.(`the tables wait: ${describeError(error)}`);
      });
      await deps.clock.sleep(lookEveryMs, deps.signal).catch(() => undefined);
    }
  } finally {
    await keeping.end();
  }
}

const isThrough = (places: readonly Place[], until: readonly number[]): boolean =>
  until.every((seq, shard) => (places[shard]?.through ?? 0) >= seq);

interface Keeping {
  /** Reads what there is. How the tables stand then; undefined where they are to be begun anew. Throws UNAVAILABLE. */
  look(): Promise<Standing | undefined>;
  end(): Promise<void>;
}

function createKeeping(deps: KeepDeps): Keeping {
  const { ports, clock, writer, note } = deps;
  const behind = createBehind(clock);
  let store: TableStore | undefined;
  let filling: Filling | undefined;
  let shards = 1;
  let retriedAt = clock.elapsed();

  const leave = async (): Promise<undefined> => {
    filling = undefined;
    const closing = store;
    store = undefined;
    await closing?.close();
  };
  const retryIfDue = async (own: Filling): Promise<boolean> => {
    if (clock.elapsed() - retriedAt < retryEveryMs) return true;
    retriedAt = clock.elapsed();
    return own.retry();
  };
  const look = async (): Promise<Standing | undefined> => {
    if (store !== undefined && !(await store.isCurrent())) await leave();
    store ??= await deps.open();
    const own = store;
    const at = clock.now();
    const stored = await ports.ledger.end();
    shards = stored.length;
    if (!(await own.claim(writer))) {
      filling = undefined;
      const standing = await own.standing();
      report(deps, standing.places, stored, true);
      return standing;
    }
    filling ??= await begin(deps, own, () => shards);
    if (filling === undefined) return undefined;
    const read = await readAll(deps, filling, stored);
    if (read !== "another" && behind.isForLong(read === "behind")) {
      note?.("the ledgers end before what the tables hold: they are filled anew");
      await own.clear(identityOf(deps), writer);
      filling = undefined;
      return undefined;
    }
    const isOwn = read !== "another" && (await retryIfDue(filling)) && (await own.checked(at, writer));
    if (!isOwn) filling = undefined;
    return isOwn ? own.standing() : undefined;
  };
  return {
    look: async () => {
      try {
        return await look();
      } catch (error) {
        filling = undefined; // What is in memory may be of a piece that was not written.
        if (!isMeshError(error, "INDEX_BROKEN")) throw error;
        note?.(`${describeError(error)}: they are filled anew`);
        return leave();
      }
    },
    end: async () => {
      await store?.release(writer).catch(() => undefined); // It is taken over without it, too.
      await leave();
    },
  };
}

/** The mesh, and what a person said last of its being put back from a copy: since then the ledgers are others. */
function identityOf({ ports, mesh }: KeepDeps): string {
  const mark = ports.restored?.();
  return mark === undefined ? mesh : `${mesh} restored ${mark.at}`;
}

/** BK2. Undefined where another process has become the writer. */
async function begin(deps: KeepDeps, store: TableStore, shards: () => number): Promise<Filling | undefined> {
  const { ports, readArchived, writer, note } = deps;
  const before = await store.mesh();
  const { places } = await store.standing();
  const isSame = before === identityOf(deps) && (await isStillThere(ports.ledger, places));
  if (!isSame && before !== undefined)
    note?.("the ledgers are not the ones that the tables were filled from: they are filled anew");
  if (!isSame && !(await store.clear(identityOf(deps), writer))) return undefined;
  return createFilling({ ports, readArchived, shards }, store, writer, isSame ? places : []);
}

/** Reads what there is: all of it, or the ledgers end before what was read of them, or the tables are another writer's. */
async function readAll(
  deps: KeepDeps,
  filling: Filling,
  stored: readonly number[],
): Promise<"all" | "behind" | "another"> {
  let read: "all" | "behind" = "all";
  const before = filling.places.map(({ through }) => through);
  for await (const piece of deps.ports.ledger.since(before)) {
    deps.signal.throwIfAborted();
    const place = filling.places[piece.shard]?.through ?? 0;
    if (piece.through < place) read = "behind";
    else if (piece.messages.length > 0 || piece.through > place)
      if (!(await filling.take(piece))) return "another";
    report(deps, filling.places, stored, false);
  }
  return read;
}

function report(
  deps: KeepDeps,
  places: readonly Place[],
  stored: readonly number[],
  byAnother: boolean,
): void {
  deps.report?.({
    read: places.reduce((all, { through }) => all + through, 0),
    stored: stored.reduce((all, one) => all + one, 0),
    byAnother,
  });
}

/** Whether the ledgers have ended too early for longer than a deposed leader can be the cause. */
function createBehind(clock: Pick<Clock, "elapsed">): { isForLong(isBehind: boolean): boolean } {
  let since: number | undefined;
  return {
    isForLong: (isBehind) => {
      since = isBehind ? (since ?? clock.elapsed()) : undefined;
      const isLong = since !== undefined && clock.elapsed() - since >= limits.deposedMsMax;
      if (isLong) since = undefined;
      return isLong;
    },
  };
}
