/**
 * Listing: one run of sagas that ask people, rest and end, while hosts die, are replaced by hosts of a version that keeps no rows and
 * back, and the rows are lost; decided by a seed. Whoever looks is told what the ledgers say.
 *
 * Z5 What is judged has come to rest: for so long nothing was asked of the mesh that all that a dead host had is another's, and the
 *     keeper has seen what it sees. Where rows are gone by, then each saga has its one row.
 * Z6 Right after the rows were lost whoever looks is told the same. In the end all hosts keep rows, and the rows are gone by.
 * Z7 No row tells of a turn that is not stored.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defineTool } from "../../actors/contract/tool.ts";
import { decodeRow, parseRowKey, rowKey } from "../../protocol/documents/listing.ts";
import { defineApp } from "../../services/app/app.ts";
import { listSagas } from "../../services/client/list.ts";
import { createClient, type Mesh } from "../../services/client/mesh.ts";
import { openTasks, type OpenTask } from "../../services/client/tasks.ts";
import { type Host, startHost } from "../../services/host/host.ts";
import { forgetRows } from "../../services/listing/find.ts";
import { calm, rough, type SeededChance, seededChance } from "../../services/memory/faults.ts";
import type { ProcessGate } from "../../services/memory/gate.ts";
import { createMemoryMesh, type MemoryMesh } from "../../services/memory/mesh.ts";
import { silentLog } from "../../services/process/log.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { calling, Of, sequence, together } from "../support/workbench.ts";
import { archiveIn } from "./late.ts";
import { misListed, standOf } from "./listed.ts";
import type { Violation } from "./oracle.ts";
import type { Outcome } from "./simulator.ts";
import { readLedgers } from "./simulator.ts";

const base = { description: "Does it.", effect: "idempotent", input: Of, output: z.object({}) } as const;
const settled = { ...base, compensation: "point_of_no_return", placement: "host" } as const;
const gone = { ...settled, perform: async () => ({}) };
const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const paid = defineTool({ ...gone, name: "paid", approval });
const quick = defineTool({ ...gone, name: "quick" });
/** They ask and end; ask and rest; end at once. */
const definitions = { asking: calling(paid), resting: sequence(paid), ending: together(quick) };
const app = defineApp({ sagas: Object.values(definitions) });

const phases = 3;
const hostsAtOnce = 3;
const restMs = 45_000;
/** What a server that lags may tell, a keeper that doubts and one that takes in may take. */
const wholeWithinMs = 60_000;

/** Runs a seed to its end and judges it. */
export async function simulateListing(seed: number): Promise<Omit<Outcome, "account">> {
  const chance = seededChance(seed).fork("listing");
  const isRough = chance.happens(0.4);
  const isHurt = chance.happens(0.4); // What a loss leads to puts right all else, too.
  const faults = isRough ? { ...rough, until: 12_000 } : calm;
  const mesh = createMemoryMesh({ seed, faults, replicas: chance.happens(0.5) ? 3 : 1 });
  const startedAt = mesh.clock.now();
  const crew = createHosts(mesh, chance.fork("hosts"));
  const people = createPeople(mesh, chance.fork("people"));
  const violations: Violation[] = [];
  watchRows(mesh, (what) => violations.push({ promise: "LIST", what }));
  const judge = async (when: string, mustBeWhole = false) => {
    for (const what of await misTold(mesh, { isStrict: !isRough, mustBeWhole }))
      violations.push({ promise: "LIST", what: `${when}: ${what}` });
  };
  crew.begin();
  for (let phase = 1; phase <= phases && violations.length === 0; phase++) {
    let putBack: () => void = () => undefined;
    crew.unsettle(true);
    for (let left = chance.between(6, 16); left > 0; left--) {
      if (chance.happens(0.3)) putBack = mesh.server.shelves.copyRows();
      await people.act();
      await mesh.clock.advance(chance.between(0, 1_500));
    }
    crew.unsettle(false);
    await mesh.clock.advance(restMs);
    if (chance.happens(0.3)) await archiveEnded(mesh);
    await judge(`phase ${phase}`);
    if (!isHurt) continue;
    const { shelves } = mesh.server;
    const hurts = [() => shelves.loseRows(), () => shelves.loseRows("emptied"), putBack, putBack];
    chance.pick(hurts)();
    await judge(`phase ${phase}, hurt`); // Z6
  }
  await crew.renew();
  await mesh.clock.advance(wholeWithinMs);
  if (violations.length === 0) await judge("in the end", true);
  const turns = mesh.server.ledger.list().reduce((sum, one) => sum + one.turns, 0);
  const counts = { turns, acts: people.acts(), crashes: crew.crashes() };
  return { seed, violations, ...counts, virtualMs: mesh.clock.now() - startedAt };
}

/** Tells of each row that says how a saga stands after a turn that is not stored. */
function watchRows({ server }: MemoryMesh, tell: (what: string) => void): void {
  const { shelves, ledger } = server;
  const { putRow } = shelves;
  shelves.putRow = (key, data, msgId) => {
    const turn = (data && decodeRow(data)?.turn) ?? 0;
    const stored = turn === 0 ? 0 : ledger.after(parseRowKey(key)!.saga, 0).length; // Proof: a row's key has a saga.
    if (turn > stored) tell(`${key} was written of turn ${turn}, and ${stored} are stored`);
    return putRow(key, data, msgId);
  };
}

/** As `sagamesh archive` does: what has ended goes, and its row. */
async function archiveEnded(mesh: MemoryMesh): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-listing-"));
  try {
    const sagas = mesh.server.ledger.list().map(({ saga }) => saga);
    const kept = new Set((await archiveIn(mesh, folder, sagas)).map((what) => what.split(":", 1)[0]));
    const { ports, chance } = mesh.spawn("archiver");
    const gone = new Set(sagas.filter((saga) => !kept.has(saga)));
    await mesh.clock.until(forgetRows(ports.listing!, gone, chance.nonce)); // Proof: this mesh has rows.
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is told otherwise than the ledgers have it, in words. */
async function misTold(
  mesh: MemoryMesh,
  { isStrict, mustBeWhole }: { isStrict: boolean; mustBeWhole: boolean },
): Promise<string[]> {
  const { ledgers } = await readLedgers(mesh);
  const living = [...ledgers].filter(([, turns]) => turns.length > 0); // Of one that was archived there is none.
  const stands = living.map(([saga, turns]) => ({ saga, ...standOf(turns) }));
  const { ports, clock } = mesh.spawn("onlooker");
  const why: string[] = [];
  const asked = await mesh.clock.until(openTasks(ports, (one) => why.push(one)));
  const listed = await mesh.clock.until(listSagas(ports, {}, clock.now(), (one) => why.push(one)));
  const told = [
    ...differing(
      "asks",
      asked.map(({ saga, intent }) => `${saga} ${intent}`),
      stands.flatMap(({ saga, tasks }) => tasks.map((task) => `${saga} ${task}`)),
    ),
    ...differing(
      "is",
      listed.map(({ saga, status }) => `${saga} ${status}`),
      stands.map(({ saga, status }) => `${saga} ${status}`),
    ),
  ];
  if (why.length > 0) return [...told, ...(mustBeWhole ? [`rows are not gone by: ${why.join()}`] : [])];
  const rows = mesh.server.shelves.rows("*.*.*.*");
  const keys = rows.map(({ key }) => key);
  const due = stands.map(({ key }) => rowKey(key));
  return [...told, ...misListed(rows, ledgers), ...(isStrict ? differing("has the row", keys, due) : [])];
}

/** Lists without their order. */
function differing(what: string, told: readonly string[], due: readonly string[]): string[] {
  const [left, over] = [[...due], [] as string[]];
  for (const one of told) {
    const at = left.indexOf(one);
    if (at < 0) over.push(one);
    else left.splice(at, 1);
  }
  return [
    ...over.map((one) => `${one}: said that it ${what}, and it does not`),
    ...left.map((one) => `${one}: not said that it ${what}`),
  ];
}

interface Member {
  readonly name: string;
  gate: ProcessGate | undefined;
  host: Host | undefined;
}

/** Hosts of both versions, which die while they are unsettled, and start again. */
function createHosts(mesh: MemoryMesh, chance: SeededChance) {
  const members = Array.from({ length: hostsAtOnce }, (_, n): Member => ({
    ...{ name: `host-${n}`, gate: undefined, host: undefined },
  }));
  /** What a row lacks is put right where ledgers are taken in, which every death and every former host leads to. */
  const isCalm = chance.happens(0.35);
  let formerShare = isCalm ? 0 : chance.pick([0, 0.3]);
  let isUnsettled = false;
  let crashes = 0;

  const launch = (member: Member) => {
    const { ports, gate, clock, chance: own } = mesh.spawn(member.name);
    member.gate = gate;
    const { listing, ...former } = ports;
    const given: Ports = chance.happens(formerShare) ? former : { ...former, listing: listing! };
    const deps = { clock, chance: own, log: silentLog, callbackBase: "sagamesh:", incarnation: gate.name };
    gate.onCall((port, method) => {
      const isNear = port === "listing" || (port === "ledger" && method === "append") || method === "ack";
      if (isUnsettled && isNear && chance.happens(0.03)) crash(member);
    });
    startHost({ ...deps, ports: given }, app).then(
      (host) => {
        if (member.gate === gate) member.host = host;
      },
      () => member.gate === gate && crash(member),
    );
  };
  const again = (member: Member) => {
    member.gate = undefined;
    member.host = undefined;
    mesh.clock.at(mesh.clock.now() + chance.between(50, 3_000), () => launch(member));
  };
  const crash = (member: Member) => {
    if (member.gate === undefined) return;
    crashes += 1;
    member.gate.crash();
    again(member);
  };
  /** Drains, and starts again. */
  const replace = async (member: Member) => {
    const { host, gate } = member;
    if (host === undefined || gate === undefined) return;
    member.host = undefined;
    await host.stop(1_000);
    if (member.gate !== gate) return; // It died over it.
    gate.crash();
    again(member);
  };
  const stir = () => {
    if (!isUnsettled) return;
    const member = chance.pick(members);
    if (chance.happens(0.5)) crash(member);
    else void replace(member);
    mesh.clock.at(mesh.clock.now() + chance.between(1_000, 6_000), stir);
  };
  return {
    crashes: () => crashes,
    begin: () => {
      for (const member of members) launch(member);
    },
    unsettle: (now: boolean) => {
      isUnsettled = now && !isCalm;
      if (isUnsettled) mesh.clock.at(mesh.clock.now() + chance.between(500, 4_000), stir);
    },
    /** All are replaced by hosts that keep rows. */
    renew: async () => {
      formerShare = 0;
      for (const member of members) await mesh.clock.until(replace(member));
    },
  };
}

/** Those who start sagas, send them signals and vote. */
function createPeople(mesh: MemoryMesh, chance: SeededChance) {
  const ids: string[] = [];
  let acts = 0;
  let clients = 0;
  const act = async (mesh_: Mesh, ports: Ports): Promise<unknown> => {
    const drawn = chance.random();
    if (ids.length < 3 || drawn < 0.35) {
      const name = chance.pick(["asking", "resting", "resting", "ending"] as const);
      const id = `${name}-${ids.length}`;
      ids.push(id);
      return mesh_.start(definitions[name], name === "asking" ? { of: "x" } : null, { id });
    }
    if (drawn < 0.7) {
      const { listing: _, ...withoutRows } = ports;
      const tasks: readonly OpenTask[] = await openTasks(withoutRows);
      if (tasks.length === 0) return undefined;
      return mesh_.vote(chance.pick(tasks), { vote: chance.pick(["approve", "approve", "deny"]), by: "ana" });
    }
    const id = chance.pick(ids);
    if (!id.startsWith("asking") && chance.happens(0.6)) return undefined; // It rests on.
    const name = id.startsWith("asking") ? chance.pick(["again", "stop"]) : "go";
    return mesh_.anySaga(id, { early: true }).signal(name, null);
  };
  return {
    acts: () => acts,
    act: async () => {
      acts += 1;
      const process = mesh.spawn(`client-${clients++}`);
      const client = createClient({ ...process, from: "ana" }, async () => undefined);
      await mesh.clock.until(act(client, process.ports).catch(() => undefined)); // Not answered, or too late.
    },
  };
}
