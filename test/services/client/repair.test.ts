/**
 * Goal: what somebody published on a ledger can be taken off it, whatever it is and however its saga stands, and the saga
 * goes on with every turn that it had.
 * Method: on the memory mesh and on a real server, for each kind of foreign message a saga that was never started, one that
 * is open, one that has ended and one that was archived. Then what goes wrong meanwhile, as a property: whatever is
 * on the subject, whatever a host or a stranger appends between any two writes, wherever the process dies.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { headers as natsHeaders } from "@nats-io/nats-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import { openFolder } from "../../../services/archive/archive.ts";
import { createClient, type Mesh } from "../../../services/client/mesh.ts";
import { readRegistry } from "../../../services/client/registry.ts";
import { type RepairDeps, repairSaga } from "../../../services/client/repair.ts";
import { appendTurn } from "../../../services/host/append.ts";
import { startHost } from "../../../services/host/host.ts";
import { chainOf, emptyHead, isFollowed } from "../../../services/ledger/chain.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import type { Chance, Clock, Ports, StoredMessage } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { archiveOne } from "../../support/archiving.ts";
import { foreignKinds, isPlanted, type Planted, plantedOf } from "../../support/foreign.ts";
import { startTestServer } from "../../support/nats-server.ts";
import { openRealMesh } from "../../support/real-mesh.ts";

/** Counts notes until it is told to end. */
const clerk = defineSaga({
  name: "clerk",
  version: 1,
  input: z.object({}),
  output: z.object({}),
  signals: { note: z.object({}), close: z.object({}) },
  machine: setup({
    types: {
      context: {} as { notes: number },
      events: {} as { type: "note"; data: object } | { type: "close"; data: object },
    },
  }).createMachine({
    context: { notes: 0 },
    initial: "open",
    output: {},
    states: {
      open: {
        on: {
          note: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
          close: "closed",
        },
      },
      closed: { type: "final" },
    },
  }),
});
const app = defineApp({ sagas: [clerk] });

interface World {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly client: Mesh;
  publish(saga: SagaId, planted: Planted): Promise<void>;
  /** Resolves with the work, letting time pass. */
  drive<T>(work: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

async function openMemory(): Promise<World> {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const common = { log: silentLog, incarnation: "host", callbackBase: "sagamesh:" };
  await clock.until(startHost({ ...mesh.spawn("host"), ...common }, app));
  const outside = mesh.spawn("client");
  return {
    ...outside,
    client: createClient({ ...outside, from: "tester" }, async () => undefined),
    publish: async (saga, planted) => {
      mesh.server.ledger.append({ ...planted, subject: subjects.ledger(saga) }, () => undefined);
      await clock.advance(20);
    },
    drive: async (work) => {
      const over = new AbortController();
      const end = () => over.abort();
      work.then(end, end);
      while (!over.signal.aborted) {
        await clock.advance(10);
        await new Promise((resolve) => setImmediate(resolve)); // Files are of the real world.
      }
      return work;
    },
    close: async () => Promise.resolve(),
  };
}

async function openReal(): Promise<World> {
  const server = await startTestServer();
  const mesh = await openRealMesh(server.url);
  await mesh.host(app);
  const { ports, client, nc } = mesh;
  return {
    ...{ ports, client, clock: systemClock, chance: systemChance },
    publish: async (saga, { data, headers }) => {
      const told = natsHeaders();
      for (const [name, value] of Object.entries(headers)) told.set(name, value);
      nc.publish(subjects.ledger(saga), data, { headers: told });
      await nc.flush();
    },
    drive: (work) => work,
    close: async () => {
      await mesh.close();
      await server.stop();
    },
  };
}

const kinds = Object.keys(foreignKinds);
const states = ["never started", "open", "ended", "archived"] as const;
type State = (typeof states)[number];

const idOf = (state: State, kind: string): SagaId =>
  sagaId(`${state.replaceAll(" ", "-")}-${kinds.indexOf(kind)}`);

async function until(isSo: () => Promise<boolean>, clock: Clock): Promise<void> {
  for (let looks = 0; !(await isSo()); looks++) {
    if (looks > 1_000) throw new Error("it did not come about");
    await clock.sleep(20);
  }
}

async function storedOn({ ports }: Pick<World, "ports">, saga: SagaId): Promise<StoredMessage[]> {
  const last = await ports.ledger.last(saga);
  return last === undefined ? [] : ports.ledger.read(saga, 0, last.seq);
}

/** The next turn's body, as far as a chain looks at it. */
const bodyOf = (saga: SagaId, turns: readonly StoredMessage[]) => ({
  ...{ v: 3, saga, turn: turns.length + 1, at: 1, host: "h", steps: [] },
  prev: turns.length === 0 ? "" : chainHash(turns.at(-1)!.data),
});

/** A message as it was written: where and when it stands is the server's. */
const textOf = ({ headers, data }: StoredMessage) => [
  Object.entries(headers).filter(([name]) => !name.startsWith("Nats-")),
  Buffer.from(data).toString("latin1"),
];

describe.each([
  ["in memory", openMemory],
  ["on a real server", openReal],
] as const)("a ledger's subject, %s", (_, open) => {
  let world: World;
  let folder: string;
  /** Each saga's turns before anything was planted. */
  const turnsOf = new Map<SagaId, StoredMessage[]>();

  async function bring(saga: SagaId, state: State): Promise<void> {
    if (state === "never started") return;
    const { client, ports, clock, chance } = world;
    const handle = await client.start(clerk, {}, { id: saga });
    await handle.signal("note", {});
    if (state === "open") return until(async () => (await handle.ledger()).length >= 1, clock);
    await handle.signal("close", {});
    await handle.result();
    if (state === "ended") return;
    const registered = await readRegistry(ports.registry);
    await archiveOne({ ports, clock, chance, by: "tester", folder, registered }, saga, {
      ...{ afterMs: 0, isForced: true, isDryRun: false },
    });
  }

  beforeAll(async () => {
    world = await open();
    folder = await mkdtemp(join(tmpdir(), "sagamesh-repair-"));
    await openFolder(folder, 0);
    const all = states.flatMap((state) => kinds.map((kind) => ({ state, kind, saga: idOf(state, kind) })));
    await world.drive(Promise.all(all.map(({ saga, state }) => bring(saga, state))));
    for (const { kind, saga } of all) {
      const stored = await world.drive(storedOn(world, saga));
      turnsOf.set(saga, stored);
      const planted = plantedOf(kind, saga, stored);
      for (let twice = 0; twice < 2; twice++) await world.publish(saga, planted);
    }
  }, 60_000);
  afterAll(async () => {
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });

  const rows = states.flatMap((state) => kinds.map((kind) => [kind, state] as const));
  test.each(rows)("is rid of %s, where the saga is %s", async (kind, state) => {
    const { ports, clock, drive } = world;
    const saga = idOf(state, kind);
    const whole = turnsOf.get(saga)!;
    const dry = await drive(repairSaga({ ports, clock }, saga, { isMeant: false }));
    expect(dry).toMatchObject({ would: 2, removed: 0, kept: 0, archived: state === "archived" });
    const planted = plantedOf(kind, saga, whole).data.length;
    expect(dry.first.map(({ bytes, fate }) => [bytes, fate])).toEqual(Array(2).fill([planted, "would"]));
    expect(await drive(storedOn(world, saga))).toHaveLength(whole.length + 2);

    const told = await drive(repairSaga({ ports, clock }, saga, { isMeant: true }));
    expect(told).toMatchObject({ would: 0, removed: 2, kept: 0 });
    expect(told.rewritten).toBe(whole.length);
    const left = await drive(storedOn(world, saga));
    expect(left.some(isPlanted)).toBe(false);
    expect(left.map(textOf)).toEqual(whole.map(textOf));
    if (state === "open" || state === "ended")
      expect(await drive(verifyLedger(ports, saga, app))).toMatchObject({ ok: true, folded: true });
  });

  test.each(states)("serves a saga that is %s as before", async (state) => {
    const { client, drive } = world;
    await drive(
      Promise.all(
        kinds.map(async (kind) => {
          const saga = idOf(state, kind);
          if (state === "never started") await client.start(clerk, {}, { id: saga });
          else if (state === "archived")
            return expect(client.saga(clerk, saga).ledger()).rejects.toMatchObject({ code: "SAGA_ARCHIVED" });
          else if (state === "ended")
            return expect(client.saga(clerk, saga).result()).resolves.toMatchObject({ status: "completed" });
          await client.saga(clerk, saga).signal("note", {});
          await client.saga(clerk, saga).signal("close", {});
          expect(await client.saga(clerk, saga).result()).toMatchObject({ status: "completed" });
        }),
      ),
    );
  });
});

describe("repairing", () => {
  /** A saga's ledger on the memory mesh, with turns and whatever else is written. */
  function openLedger() {
    const mesh = createMemoryMesh({ seed: 1 });
    const { ports, clock } = mesh.spawn("operator");
    const saga = sagaId("s1");
    /** Every turn that was ever acked. */
    const own: StoredMessage[] = [];
    const stored = () => mesh.server.ledger.after(saga, 0);
    const append = (planted: Planted, compares = false) => {
      const expectedSeq = compares ? { expectedSeq: mesh.server.ledger.headSeq(saga) } : {};
      const message = { ...planted, ...expectedSeq, subject: subjects.ledger(saga) };
      mesh.server.ledger.append(message, () => undefined);
    };
    const turn = () => {
      append({ data: Buffer.from(JSON.stringify(bodyOf(saga, own))), headers: {} }, true);
      own.push(stored().at(-1)!);
    };
    const junk = (text: string) => append({ data: Buffer.from(text), headers: {} });
    /** Repairs; `before` is called before each write, and what it throws is the end of the operator's process. */
    const run = (options: { before?: (write: number) => void; named?: number[] } = {}) => {
      const { before, named = [] } = options;
      let writes = 0;
      const ledger: Ports["ledger"] = {
        ...ports.ledger,
        append: async (of, message) => {
          before?.(writes++);
          return ports.ledger.append(of, message);
        },
        purgeBefore: async (of, seq) => {
          before?.(writes++);
          return ports.ledger.purgeBefore(of, seq);
        },
      };
      const deps: RepairDeps = { ports: { ...ports, ledger }, clock };
      return mesh.clock.until(repairSaga(deps, saga, { isMeant: true, named: new Set(named) }));
    };
    const turns = () => chainOf(saga, emptyHead, stored()).links.map(({ message }) => textOf(message));
    return { mesh, saga, own, stored, append, turn, junk, run, turns };
  }
  type Opened = ReturnType<typeof openLedger>;

  function disturbed(): Opened {
    const opened = openLedger();
    for (let turns = 0; turns < 3; turns++) {
      opened.turn();
      opened.junk(`junk ${turns}`);
    }
    return opened;
  }
  const dead = new MeshError("INTERNAL", "the process is no more");

  test("keeps every turn, its own and those that come meanwhile, wherever it dies, and the next run removes all else", async () => {
    const kind = fc.constantFrom("turn", "junk", ...Object.keys(foreignKinds));
    const meanwhile = fc.array(fc.tuple(fc.nat({ max: 8 }), fc.constantFrom("turn", "junk")), {
      maxLength: 3,
    });
    const writes = fc.array(kind, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(writes, meanwhile, fc.nat({ max: 9 }), async (all, comes, dies) => {
        const one = openLedger();
        const write = (what: string) => {
          if (what === "turn") one.turn();
          else if (what === "junk") one.junk("{");
          else one.append(plantedOf(what, one.saga, one.own));
        };
        for (const what of all) write(what);
        const before = (at: number) => {
          for (const [when, what] of comes) if (when === at) write(what);
          if (at === dies) throw dead;
        };
        await one.run({ before }).catch((error: unknown) => expect(error).toBe(dead));
        expect(one.turns()).toEqual(one.own.map(textOf));
        if (one.stored().length > 0) await one.run();
        expect(one.stored().map(textOf)).toEqual(one.own.map(textOf));
      }),
      { numRuns: 150 },
    );
  });

  test("takes a whole ledger's turns again by the same state, and a host that has the saga appends after them", async () => {
    const { run, own, stored, mesh, saga } = disturbed();
    const { ports, clock } = mesh.spawn("host");
    const last = own.at(-1)!;
    const data = Buffer.from(JSON.stringify(bodyOf(saga, own)));
    expect(await run()).toMatchObject({ removed: 3, rewritten: 3 });
    const message = { data, hash: chainHash(data), headers: {}, expectedSeq: last.seq };
    const appended = appendTurn({ ledger: ports.ledger, clock }, saga, message, new AbortController().signal);
    expect(await mesh.clock.until(appended)).toMatchObject({ type: "appended" });
    expect(stored()).toHaveLength(4);
    expect(
      await mesh.clock.until(isFollowed(ports, saga, { turn: 3, seq: last.seq, hash: chainHash(last.data) })),
    ).toBe(true);
  });

  test("writes nothing again for what stands before the first turn", async () => {
    const { run, junk, turn, stored } = openLedger();
    junk("early");
    turn();
    turn();
    const before = stored().slice(1);
    expect(await run()).toMatchObject({ removed: 1, rewritten: 0, turns: 2 });
    expect(stored()).toEqual(before);
  });

  test("ends where more comes than it removes, and says that there is more", async () => {
    const { run, junk, own, turns } = disturbed();
    const { removed, would } = await run({ before: () => junk("again") });
    expect({ removed, would }).toEqual({ removed: 0, would: 3 + 5 });
    expect(turns()).toEqual(own.map(textOf));
  });

  test("keeps what may be a host's turn, and all with it, until that is named, and takes no turn by its name", async () => {
    const { run, stored, own, append, saga } = disturbed();
    append(plantedOf("a turn far ahead", saga, own), true);
    const before = stored();
    const told = await run();
    expect(told).toMatchObject({ removed: 0, would: 0, kept: 4 });
    expect(told.first.at(-1)?.because).toContain("stored as hosts store turns");
    await expect(run({ named: [own[1]!.seq] })).rejects.toMatchObject({ code: "USAGE" });
    expect(stored()).toEqual(before);
    expect(await run({ named: [7] })).toMatchObject({ removed: 4, kept: 0 });
    expect(stored().map(textOf)).toEqual(own.map(textOf));
  });

  test("removes nothing where a turn is gone, and says which and what helps", async () => {
    const { run, stored, own, mesh, saga } = disturbed();
    const [, second, third] = own;
    mesh.server.ledger.remove(saga, second!.seq);
    mesh.server.ledger.remove(saga, second!.seq + 1); // What the third was stored after.
    const before = stored();
    const told = await run();
    expect(told).toMatchObject({ removed: 0, would: 0, kept: 3, broken: { code: "LEDGER_BROKEN" } });
    expect(told.broken?.what).toContain(`turn 2 of s1 is gone: at ${third!.seq}`);
    expect(told.broken?.remedy).toContain("backup");
    expect(stored()).toEqual(before);
  });
});
