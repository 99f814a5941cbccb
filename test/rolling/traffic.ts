/**
 * Traffic: what clients do while a fleet is replaced, and what they see of it. Sagas are started, those that sleep are
 * signalled one after the other, and every ledger is followed as it grows.
 *
 * TF1 A saga stands still while something of it is due: from its start, its signal or its last turn until its next turn,
 *    as long as it neither sleeps nor has ended.
 */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { startSaga } from "../../services/client/start.ts";
import { sendSignal } from "../../services/client/send.ts";
import { createAccountReader } from "../../services/ledger/account-reader.ts";
import type { AccountReader } from "../../services/ledger/account.ts";
import { decodeTurn } from "../../services/ledger/reader.ts";
import { systemChance, systemClock } from "../../services/runtime/system.ts";
import type { RealMesh } from "../support/real-mesh.ts";

/** A saga as its client sees it. Times are milliseconds since the epoch. */
export interface Seen {
  readonly id: SagaId;
  readonly name: string;
  /** The version that was current when it was started; undefined if that changed meanwhile. */
  expected: number | undefined;
  /** The version that its first turn names; undefined until that is seen. */
  version?: number;
  /** What its end says; undefined until that is seen. */
  end?: { readonly status: string; readonly output?: unknown };
  /** Since when something is due; undefined while it sleeps and when it has ended. */
  dueSince?: number | undefined;
  /** The longest that it stood still while a host served it. */
  stoodStillMs: number;
  readonly reader: AccountReader;
}

export interface Traffic {
  readonly sagas: ReadonlyMap<string, Seen>;
  start(name: string, task: { notes: number; waits: boolean }, expected: number): Promise<string>;
  /** The current version changed while it was started. */
  expectEither(id: string): void;
  /** Another version is promoted: what is stored and not begun may become either. */
  expectEitherOfUnbegun(): void;
  /** Wakes one that sleeps. */
  wake(id: string): Promise<void>;
  /** Those that wait for their signal. */
  sleeping(): Seen[];
  /** From now on nothing of this version counts as standing still: no host serves it. */
  unserved(version: number): void;
  served(version: number): void;
  stop(): Promise<void>;
}

/** Begins to follow every ledger of the mesh. */
export function createTraffic(mesh: RealMesh): Traffic {
  const sagas = new Map<string, Seen>();
  const asleep = new Set<string>();
  const woken = new Set<string>();
  const unserved = new Set<number>();
  const over = new AbortController();
  const deps = { ports: mesh.ports, clock: systemClock, chance: systemChance, from: "traffic" };

  const settle = (seen: Seen, now: number) => {
    if (seen.dueSince !== undefined && !unserved.has(versionOf(seen)))
      seen.stoodStillMs = Math.max(seen.stoodStillMs, now - seen.dueSince);
  };

  function take(turn: Turn): void {
    const seen = sagas.get(turn.saga);
    if (seen === undefined) return;
    seen.reader.take(turn);
    const { account } = seen.reader;
    const now = Date.now();
    settle(seen, now);
    seen.version = account.definition.version;
    if (account.end !== undefined) seen.end = account.end.intent;
    const sleeps = seen.end === undefined && account.open.size === 0 && !woken.has(turn.saga);
    seen.dueSince = sleeps || seen.end !== undefined ? undefined : now;
    if (sleeps) asleep.add(turn.saga);
  }

  const following = (async () => {
    for await (const message of mesh.ports.ledger.follow({ signal: over.signal }))
      take(await decodeTurn(mesh.ports.blobs, message));
  })();

  return {
    sagas,
    start: async (name, task, expected) => {
      const id = parseSagaId(`${name}-${sagas.size}`);
      sagas.set(id, {
        id,
        name,
        expected,
        stoodStillMs: 0,
        reader: createAccountReader(),
        dueSince: Date.now(),
      });
      await startSaga(deps, { id, name, input: task });
      return id;
    },
    expectEither: (id) => {
      const seen = sagas.get(id);
      if (seen !== undefined) seen.expected = undefined;
    },
    expectEitherOfUnbegun: () => {
      for (const seen of sagas.values()) if (seen.version === undefined) seen.expected = undefined;
    },
    wake: async (id) => {
      asleep.delete(id);
      woken.add(id);
      const seen = sagas.get(id);
      if (seen !== undefined) seen.dueSince = Date.now();
      await sendSignal(deps, parseSagaId(id), "go", {});
    },
    sleeping: () => [...asleep].flatMap((id) => sagas.get(id) ?? []),
    unserved: (version) => {
      const now = Date.now();
      for (const seen of sagas.values()) if (versionOf(seen) === version) settle(seen, now);
      unserved.add(version);
    },
    served: (version) => {
      unserved.delete(version);
      const now = Date.now();
      for (const seen of sagas.values())
        if (versionOf(seen) === version && seen.dueSince !== undefined) seen.dueSince = now;
    },
    stop: async () => {
      over.abort();
      await following.catch(() => undefined);
    },
  };
}

const versionOf = ({ version, expected }: Seen): number => version ?? expected ?? 0;
