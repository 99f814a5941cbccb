/**
 * Simulator: one run of hosts, workers, clients and the outside world on a memory mesh, decided by a seed.
 *
 * Faults until a time, then calm. In the calm every saga has to come to its end, and the oracle compares what
 * the ledgers say with what the outside world and the server have in their own accounts.
 *
 * Z1 The same seed and profile give the same run, line by line of its trace.
 * Z2 The product runs as it is: what a run plants or watches is outside it (plant.ts, the ports, the gate).
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { chainOf, emptyHead } from "../../services/ledger/chain.ts";
import { decodeTurn, type StoredTurn, turnsOf } from "../../services/ledger/reader.ts";
import type { Log } from "../../services/process/log.ts";
import type { Trace } from "../../services/memory/gate.ts";
import { createMemoryMesh, type MemoryMesh } from "../../services/memory/mesh.ts";
import type { Account, StoredInput } from "./account.ts";
import { judge, type Violation } from "./oracle.ts";
import { startDisturber } from "./disturber.ts";
import { isPlanted } from "../support/foreign.ts";
import { createOutside } from "./outside.ts";
import { createCrew } from "./processes.ts";
import { type Profile, profileOf } from "./profile.ts";
import { createWorkload, startClient } from "./workload.ts";
import { createWorld } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly turns: number;
  readonly acts: number;
  readonly crashes: number;
  readonly virtualMs: number;
  readonly account: Account;
}

export interface SimulateOptions {
  readonly profile?: Partial<Profile>;
  readonly trace?: Trace;
}

/** After the faults a run has so long to come to rest, milliseconds. */
const restWithinMs = 150_000;
const lookMs = 250;
/** What a host owes of the listing it tries again with each beat. */
const rowsWithinMs = 2_000;

/** Runs a seed to its end and judges it. Never throws for what the oracle finds. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  const profile = profileOf(seed, options.profile);
  const { faults, replicas } = profile;
  const paused = new Set<string>();
  const trace: Trace = (at, process, what) => {
    if (what === "paused") paused.add(process);
    options.trace?.(at, process, what);
  };
  const mesh = createMemoryMesh({ seed, faults, replicas, trace, givesWayEvery: 3 });
  const startedAt = mesh.clock.now();
  const calmAt = startedAt + faults.until;
  const world = createWorld(mesh.clock.now);
  const inputs = watchInputs(mesh);
  const hops = watchHops(mesh);
  const workload = createWorkload(seed, profile);
  const outside = createOutside({ mesh, seed, world, settledAt: () => calmAt + 15_000 });
  watchTurns(mesh, outside.read, options.trace);
  const mistakes: string[] = [];
  const log = createLog(mistakes, (what) => options.trace?.(mesh.clock.now(), "log", what));
  const crew = createCrew({ mesh, profile, seed, world, outside, log });
  crew.start();
  const client = startClient(mesh, workload);
  startDisturber(mesh, { seed, profile, sagas: workload.sagas });

  const isAtRest = () => {
    const { inbox, work } = mesh.server.open();
    return inbox + work === 0 && client.isQuiet() && outside.isQuiet() && crew.busy().length === 0;
  };
  let rested = false;
  while (!rested && mesh.clock.now() < calmAt + restWithinMs) {
    await mesh.clock.run({ until: mesh.clock.now() + lookMs });
    rested = mesh.clock.now() > calmAt && isAtRest() && haveEnded(mesh);
  }

  await mesh.clock.run({ until: mesh.clock.now() + rowsWithinMs });
  const { ledgers, broken } = await readLedgers(mesh);
  const account: Account = {
    ...{ seed, sagas: workload.sagas, ledgers, broken, inputs, rested, busy: crew.busy(), mistakes },
    ...{ pools: profile.pools, hops, rows: mesh.server.shelves.rows("*.*.*.*") },
    stoodStill: ({ by }) => paused.has(by),
    ...{ dead: mesh.server.dead.list(), acts: world.acts, asked: world.asked, open: mesh.server.open() },
  };
  const turns = [...ledgers.values()].reduce((sum, ledger) => sum + ledger.length, 0);
  const virtualMs = mesh.clock.now() - startedAt;
  return {
    seed,
    violations: judge(account),
    turns,
    acts: world.acts.length,
    crashes: crew.crashes(),
    virtualMs,
    account,
  };
}

/** Whether each ledger holds an end; the oracle looks whether it is the end. */
const haveEnded = (mesh: MemoryMesh): boolean =>
  mesh.server.ledger.list().every(({ saga }) => {
    const turns = mesh.server.ledger.after(saga, 0);
    return turns.some(({ data }) => Buffer.from(data).includes('"kind":"end"'));
  });

function createLog(mistakes: string[], tell: (what: string) => void): Log {
  const note = (fields: object, message: string) => {
    const { err } = fields as { err?: unknown };
    if (err instanceof Error && !isMeshError(err)) mistakes.push(`${message}: ${err.name} ${err.message}`);
    tell(`${message} ${JSON.stringify(fields)}`);
  };
  return { debug: note, info: note, warn: note, error: note };
}

/** Notes every input that the server stores, once. */
function watchInputs(mesh: MemoryMesh): StoredInput[] {
  const inputs: StoredInput[] = [];
  const { inbox } = mesh.server;
  const { publish } = inbox;
  // The one seam for watching: the memory server is an object of functions, and this wraps one of them.
  (inbox as { publish: typeof publish }).publish = (message, reply) =>
    publish(message, (outcome) => {
      if ("value" in outcome && !outcome.value.duplicate)
        inputs.push({ ...message, msgId: message.msgId, seq: outcome.value.seq });
      reply(outcome);
    });
  return inputs;
}

/** Counts how often each input was taken by a host that another handed it on to. */
function watchHops({ server }: MemoryMesh): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const queue of server.inbox.partitions.flatMap(({ starts, others }) => [starts, others])) {
    const letGo = queue.letGo.bind(queue);
    queue.letGo = (seq) => {
      counts.set(seq, (counts.get(seq) ?? 0) + 1);
      letGo(seq);
    };
  }
  return counts;
}

const noBlobs = { put: () => Promise.resolve(), get: () => Promise.reject(new Error("no blobs here")) };

function watchTurns(
  mesh: MemoryMesh,
  read: (saga: SagaId, turn: StoredTurn["turn"]) => void,
  trace: Trace | undefined,
): void {
  let cursor = 0;
  let isDue = false;
  const look = async () => {
    const stored = mesh.server.ledger.after(undefined, cursor);
    cursor = stored.at(-1)?.seq ?? cursor;
    for (const message of stored) {
      if (isPlanted(message)) continue;
      const turn = await decodeTurn(noBlobs, message);
      trace?.(
        message.storedAt,
        "server",
        `turn ${turn.saga} ${turn.turn} by ${turn.host} ${JSON.stringify(turn.steps)}`,
      );
      read(turn.saga, turn);
    }
  };
  mesh.server.ledger.watch(undefined, () => {
    if (isDue) return;
    isDue = true;
    mesh.clock.at(mesh.clock.now() + 1, () => {
      isDue = false;
      void look();
    });
  });
}

/** All ledgers as they are, and why some cannot be read. */
export async function readLedgers(mesh: MemoryMesh): Promise<Pick<Account, "ledgers" | "broken">> {
  const ledgers = new Map<SagaId, StoredTurn[]>();
  const broken = new Map<SagaId, string>();
  for (const { saga } of mesh.server.ledger.list()) {
    ledgers.set(saga, []);
    try {
      const { links, foreign } = chainOf(saga, emptyHead, mesh.server.ledger.after(saga, 0));
      ledgers.set(saga, await turnsOf({ blobs: noBlobs }, links));
      const ours = foreign.find(({ message }) => !isPlanted(message));
      if (ours !== undefined) broken.set(saga, `${ours.message.seq} is no turn, and nobody's from outside`);
    } catch (error) {
      broken.set(saga, String(error));
    }
  }
  return { ledgers, broken };
}
