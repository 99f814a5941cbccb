/**
 * Late: one run of calls whose deliveries are held back until their sagas are archived, decided by a seed. Some are given again to
 * another worker and performed there; then weeks go by, an archiver takes away turns and claims, and perhaps tombstones, some
 * sagas begin anew under their ids, and what was held comes to its performer.
 *
 * Z3 What is held stands still between its delivery and its claim: with the claim asked for, its time would be over
 *    (CI2 of services/perform/claim.ts).
 * Z4 The archiver runs as it does, on real files; who performs late may be answered by a leader that was deposed and knows the
 *    ledgers as they were when the week began; hosts may be of a version that does not say when they decided.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defineTool, implement } from "../../actors/contract/tool.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { defineApp } from "../../services/app/app.ts";
import { archiveAll } from "../../services/archive/all.ts";
import { createClient } from "../../services/client/mesh.ts";
import { startHost } from "../../services/host/host.ts";
import { calm, seededChance } from "../../services/memory/faults.ts";
import { createMemoryMesh, type MemoryMesh } from "../../services/memory/mesh.ts";
import { silentLog } from "../../services/process/log.ts";
import type { Delivery, Ports } from "../../services/wire/ports.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { drive } from "../support/archiving.ts";
import { callingSaga } from "../support/calling-saga.ts";
import type { Violation } from "./oracle.ts";

export interface LateOutcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly turns: number;
  readonly acts: number;
  readonly crashes: number;
  readonly virtualMs: number;
  /** What was held back and came late. */
  readonly late: number;
}

const hour = 3_600_000;
const day = 24 * hour;
const sagasEach = 4;

/** One that happened outside, and in which of its saga's lives. */
interface LateAct {
  readonly saga: string;
  readonly life: 1 | 2;
}

const base = {
  ...{ description: "Does something outside.", input: z.object({}), output: z.object({}), timeoutMs: 2_000 },
  compensation: "point_of_no_return",
} as const;
const once = defineTool({ ...base, name: "once", effect: "once", onDoubt: "model" });
const probed = defineTool({ ...base, name: "probed", effect: "probe" });
const definitions = [callingSaga("calls-once", once), callingSaga("calls-probed", probed)];

/** Runs a seed to its end and judges it. */
export async function simulateLate(seed: number): Promise<LateOutcome> {
  const chance = seededChance(seed).fork("late");
  const faults = chance.happens(0.5) ? { ...calm, lostDelivery: 0.1, until: 20_000 } : calm;
  const mesh = createMemoryMesh({ seed, replicas: chance.happens(0.5) ? 3 : 1, faults });
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-late-"));
  try {
    return await runIn(mesh, folder, { seed, chance });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Run = { readonly seed: number; readonly chance: ReturnType<typeof seededChance> };

async function runIn(mesh: MemoryMesh, folder: string, { seed, chance }: Run): Promise<LateOutcome> {
  const { clock } = mesh;
  const began = clock.now();
  const acts: LateAct[] = [];
  const anew = new Set<string>();
  const app = appOf((saga) => acts.push({ saga, life: anew.has(saga) ? 2 : 1 }), acts);
  const isFormer = chance.happens(0.3);
  const isDeposed = chance.happens(0.4);
  const common = { log: silentLog, callbackBase: "sagamesh:" };
  const host = async (name: string) => {
    const own = mesh.spawn(name);
    const ports = isFormer ? sayingNoTime(own.ports) : own.ports;
    await clock.until(startHost({ ...own, ports, ...common, incarnation: name }, app));
    return own;
  };
  const worker = async (name: string, change: (ports: Ports) => Ports = (own) => own) => {
    const own = mesh.spawn(name);
    await clock.until(startWorker({ ...own, ports: change(own.ports), ...common, incarnation: name }, app));
    return own;
  };

  const first = await host("host-1");
  const held: (() => void)[] = [];
  let holds = true;
  const stale: { ledger?: Ports["ledger"] } = {};
  const slow = await worker("slow", (ports) => ({
    ...ports,
    ledger: { ...ports.ledger, ...standingIn(ports.ledger, () => (isDeposed ? stale.ledger : undefined)) },
    work: holding(ports.work, (take, delivery) => {
      if (holds && chance.happens(0.6)) held.push(() => take(delivery));
      else take(delivery);
    }),
  }));
  const quick = await worker("quick");
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  const ids = Array.from({ length: sagasEach }, (_, k) => parseSagaId(`late-${k}`));
  const start = (id: SagaId) => {
    const definition = definitions[Number(id.at(-1)) % 2]!;
    return clock.until(client.start(definition, {}, { id }));
  };
  for (const id of ids) await start(id);
  await clock.advance(90_000); // All have ended: the deliveries that were held are another worker's by then.
  holds = false;
  for (const one of [first, quick]) one.gate.crash();
  slow.gate.pause();

  const awayMs = chance.happens(0.3) ? 2 * hour : 8 * day;
  await clock.run({ until: clock.now() + awayMs });
  stale.ledger = ledgerAsItIs(mesh);
  const archive = (forgetAfterMs?: number) => archiveIn(mesh, folder, ids, forgetAfterMs);
  const violations: Violation[] = [];
  for (const what of await archive()) violations.push({ promise: "END", what });
  if (awayMs > day && chance.happens(0.5)) {
    await clock.run({ until: clock.now() + 8 * day });
    stale.ledger = ledgerAsItIs(mesh);
    await archive(7 * day);
    await host("host-2");
    await worker("quick-2");
    for (const id of ids)
      if (chance.happens(0.7)) {
        anew.add(id);
        await start(id);
      }
    await clock.advance(chance.between(0, 5_000));
  }
  slow.gate.resume();
  for (const take of held) take();
  await clock.advance(120_000);

  for (const life of [1, 2] as const)
    for (const id of ids) {
      const times = acts.filter((act) => act.saga === id && act.life === life).length;
      if (times > 1)
        violations.push({ promise: "P1", what: `${id} was done ${times} times in life ${life}` });
    }
  const turns = ids.reduce((sum, id) => sum + mesh.server.ledger.after(id, 0).length, 0);
  const counts = { turns, acts: acts.length, crashes: 2, late: held.length };
  return { seed, violations, ...counts, virtualMs: clock.now() - began };
}

/** The same contracts, and bodies that note what happens. */
function appOf(note: (saga: string) => void, acts: readonly LateAct[]) {
  const sagaOf = (key: string): string => key.split(".", 1)[0]!;
  const perform = async (_input: unknown, { key }: { key: string }) => {
    note(sagaOf(key));
    return {};
  };
  const probe = async (key: string) =>
    acts.some(({ saga }) => saga === sagaOf(key))
      ? ({ outcome: "happened", output: {} } as const)
      : ({ outcome: "did_not_happen" } as const);
  const implementations = [implement(once, { perform }), implement(probed, { perform, probe })];
  return defineApp({ sagas: definitions, implementations });
}

/** Archives all that are due, now. Says what failed, or was kept. */
export async function archiveIn(
  mesh: MemoryMesh,
  folder: string,
  sagas: readonly SagaId[],
  forgetAfterMs?: number,
): Promise<string[]> {
  const process = mesh.spawn("archiver");
  const failed: string[] = [];
  const options = { afterMs: 0, isForced: true, isDryRun: false, forgetAfterMs };
  const deps = { ...process, by: "tester", folder, registered: { definitions: [], tools: [] } };
  const { signal } = new AbortController();
  await drive(
    mesh,
    process.gate,
    archiveAll(deps, sagas, { ...options, signal }, ({ saga, outcome, reason }) => {
      if (outcome === "failed" || outcome === "kept") failed.push(`${saga}: ${outcome}, ${reason}`);
    }),
  );
  return failed;
}

/** Z4: a host of a former version. */
function sayingNoTime(ports: Ports): Ports {
  const publish: Ports["work"]["publish"] = (ref, message) => {
    const { decidedAt: _, ...work } = JSON.parse(Buffer.from(message.data).toString()) as object & {
      decidedAt?: number;
    };
    return ports.work.publish(ref, { ...message, data: Buffer.from(JSON.stringify(work)) });
  };
  return { ...ports, work: { ...ports.work, publish } };
}

/** Z3. */
const holding = (
  work: Ports["work"],
  hold: (take: (delivery: Delivery) => void, delivery: Delivery) => void,
): Ports["work"] => ({
  ...work,
  consume: (ref, options, take) => work.consume(ref, options, (delivery) => hold(take, delivery)),
});

/** Z4: every ledger as it stands now, and nothing of what comes. */
function ledgerAsItIs({ server }: MemoryMesh): Ports["ledger"] {
  const messages = new Map(server.ledger.list().map(({ saga }) => [saga, server.ledger.after(saga, 0)]));
  return {
    last: async (saga: SagaId) => messages.get(saga)?.at(-1),
    read: async (saga: SagaId, afterSeq: number, throughSeq: number) =>
      (messages.get(saga) ?? []).filter(({ seq }) => seq > afterSeq && seq <= throughSeq),
  } as Ports["ledger"];
}

/** Reads what stands in for the ledger, where something does. */
const standingIn = (
  ledger: Ports["ledger"],
  other: () => Ports["ledger"] | undefined,
): Pick<Ports["ledger"], "last" | "read"> => ({
  last: (saga) => (other() ?? ledger).last(saga),
  read: (saga, afterSeq, throughSeq) => (other() ?? ledger).read(saga, afterSeq, throughSeq),
});
