/**
 * Waking: what a host reads to take a sleeping saga up again, and that it is the same saga whatever became of its
 * snapshots.
 *
 * Method: the memory mesh, with ports that count what is read and a shelf of snapshots that the test may damage.
 * Nothing is timed: a saga of a long history reads as much as one of a short history, or it does not.
 */
import { assign, setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { contentTypes, decode, encodeMsgpack } from "../../../protocol/codec.ts";
import { sha256 } from "../../../protocol/digest.ts";
import { limits } from "../../../protocol/limits.ts";
import { subjects } from "../../../protocol/subjects.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { chainOf, emptyHead } from "../../../services/ledger/chain.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import type { Ports, SnapshotPort } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { foreignKinds, plantedOf } from "../../support/foreign.ts";

const saga = sagaId("s1");

/** Books so many seats, one a turn, and rests. Each booking stands; `cancel` releases them all. */
function bookingApp(released: string[] = []) {
  const release = defineTool({
    name: "release",
    description: "Gives a seat back.",
    effect: "idempotent",
    placement: "host",
    input: z.object({ seat: z.int() }),
    output: z.object({}),
    perform: async ({ seat }) => {
      released.push(String(seat));
      return {};
    },
  });
  const book = defineTool({
    name: "book",
    description: "Books a seat.",
    effect: "idempotent",
    placement: "host",
    input: z.object({ seat: z.int() }),
    output: z.object({}),
    compensation: { tool: release, input: ({ input }) => ({ seat: input.seat }) },
    perform: async () => ({}),
  });
  const clerk = defineSaga({
    name: "clerk",
    version: 1,
    input: z.object({ seats: z.int() }),
    output: z.object({}),
    signals: { note: z.object({ text: z.string() }) },
    machine: setup({
      types: {
        context: {} as { left: number; notes: string[] },
        input: {} as { seats: number },
        events: {} as { type: "note"; data: { text: string } },
      },
      actors: toActors({ book }),
      guards: { isLast: ({ context }) => context.left <= 1 },
    }).createMachine({
      id: "clerk",
      context: ({ input }) => ({ left: input.seats, notes: [] }),
      initial: "booking",
      states: {
        booking: {
          invoke: {
            id: "call",
            src: "book",
            input: ({ context }) => ({ seat: context.left }),
            onDone: [
              { guard: "isLast", target: "resting" },
              {
                target: "booking",
                reenter: true,
                actions: assign({ left: ({ context }) => context.left - 1 }),
              },
            ],
          },
        },
        resting: {
          on: {
            note: {
              actions: assign({ notes: ({ context, event }) => [...context.notes, event.data.text] }),
            },
          },
        },
      },
    }),
  });
  return defineApp({ sagas: [clerk] });
}

/** What a host read since the count began. */
interface Count {
  turns: number;
  entries: number;
  bytes: number;
}

function openMesh(app: ReturnType<typeof bookingApp>) {
  const mesh = createMemoryMesh({ seed: 1 });
  const client = mesh.spawn("client");
  const count: Count = { turns: 0, entries: 0, bytes: 0 };
  const shelf = new Map<string, Uint8Array>();
  const snapshots: SnapshotPort = {
    get: async (of, name = "") => {
      const entry = shelf.get(`${of} ${name}`);
      count.entries += 1;
      count.bytes += entry?.length ?? 0;
      return Promise.resolve(entry);
    },
    put: async (of, data, name = "") => {
      expect(data.length).toBeLessThanOrEqual(limits.messageBytesMax);
      shelf.set(`${of} ${name}`, data);
      return Promise.resolve();
    },
    sagas: async () => Promise.resolve(new Set()),
    drop: async (of) => {
      for (const key of shelf.keys()) if (key.startsWith(`${of} `)) shelf.delete(key);
      return Promise.resolve();
    },
  };
  let host: Host | undefined;
  const start = async () => {
    const { ports, clock, chance, gate } = mesh.spawn("host");
    const ledger: Ports["ledger"] = {
      ...ports.ledger,
      read: async (...range) => {
        const messages = await ports.ledger.read(...range);
        count.turns += messages.length;
        return messages;
      },
    };
    const options = { clock, chance, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
    host = await mesh.clock.until(startHost({ ...options, ports: { ...ports, ledger, snapshots } }, app));
  };
  const publish = (subject: string, body: unknown) =>
    mesh.clock.until(
      client.ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} }),
    );
  /** Lets everything happen until the host holds nothing any more. */
  const sleep = async () => {
    const isAsleep = () => mesh.server.open().inbox === 0 && host?.resident() === 0;
    for (let quiet = 0; quiet < 3; quiet = isAsleep() ? quiet + 1 : 0) await mesh.clock.advance(500);
  };
  const linked = () =>
    chainOf(saga, emptyHead, mesh.server.ledger.after(saga, 0)).links.map(({ message }) => message);
  const turns = (): Promise<Turn[]> =>
    mesh.clock.until(Promise.all(linked().map((message) => decodeTurn(client.ports.blobs, message))));
  return {
    shelf,
    turns,
    /** Publishes something foreign on its ledger's subject. */
    plant(kind: string) {
      const subject = subjects.ledger(saga);
      mesh.server.ledger.append({ ...plantedOf(kind, saga, linked()), subject }, () => undefined);
    },
    /** Starts the saga and lets it come to rest and be let go of. */
    async begin(seats: number) {
      await start();
      await publish(`saga.${saga}.start`, { name: "clerk", input: { seats } });
      await sleep();
    },
    /** Sends so many signals, one after the other, and lets the saga sleep. */
    async burst(signals: number) {
      for (let sent = 0; sent < signals; sent++) {
        await publish(`saga.${saga}.signal.note`, { text: "" });
        await mesh.clock.advance(20);
      }
      await sleep();
    },
    /** Sends a signal to the sleeping saga, and counts what is read until it sleeps again. */
    async wake(name: string, data: unknown): Promise<Count> {
      Object.assign(count, { turns: 0, entries: 0, bytes: 0 });
      await publish(`saga.${saga}.signal.${name}`, data);
      await sleep();
      return { ...count };
    },
  };
}

/** What a ledger says happened, without what a run draws or reads off its clock. */
const storyOf = (turns: readonly Turn[]): string[] => {
  const left = new Set(["dueAt", "sentAt", "by", "from", "at"]);
  return turns.map(({ steps }) =>
    JSON.stringify(steps, (key, value: unknown) => (left.has(key) ? undefined : value)),
  );
};

const note = { text: "hello" };

describe("P5: a saga that sleeps", () => {
  test("reads as much on waking after 10,000 turns whose effects all stand as after 10", async () => {
    const counts: Count[] = [];
    for (const seats of [9, 9_999]) {
      const mesh = openMesh(bookingApp());
      await mesh.begin(seats);
      expect(await mesh.turns()).toHaveLength(seats + 1);
      counts.push(await mesh.wake("note", note));
    }
    const [short, long] = counts as [Count, Count];
    expect(long).toMatchObject({ turns: short.turns, entries: short.entries });
    // What has gathered since the last part was laid by, and no more: 10,000 effects are two megabytes.
    expect(long.bytes - short.bytes).toBeLessThan((limits.pastPartMin + limits.snapshotTurns) * 200);
  }, 60_000);

  test("reads as much on waking after 2,000 signals as after 10, but for twelve bytes of each", async () => {
    const counts: Count[] = [];
    for (const signals of [10, 2_000]) {
      const mesh = openMesh(bookingApp());
      await mesh.begin(1);
      await mesh.burst(signals);
      counts.push(await mesh.wake("other", note)); // Nobody declares it: only what was loaded counts.
    }
    const [short, long] = counts as [Count, Count];
    expect(long.entries).toBe(short.entries);
    expect(long.bytes - short.bytes).toBeLessThan(2_000 * 12 + 2 * limits.seenPackMin * 40);
  }, 60_000);

  test("has a snapshot at its head once ten turns are worth one, and none before", async () => {
    for (const [seats, read] of [
      [limits.snapshotAsleepTurns - 2, limits.snapshotAsleepTurns - 1],
      [limits.snapshotAsleepTurns - 1, 0],
    ] as const) {
      const mesh = openMesh(bookingApp());
      await mesh.begin(seats);
      expect((await mesh.wake("note", note)).turns).toBe(read);
    }
  });

  test("folds no more ledger on waking than a share of what its snapshot is long", async () => {
    const mesh = openMesh(bookingApp());
    await mesh.begin(1);
    await mesh.wake("note", { text: "x".repeat(50_000) });
    let since = 0;
    for (let woken = 0; woken < 60; woken++) {
      const { turns, bytes } = await mesh.wake("note", note);
      since = Math.max(since, turns);
      if (bytes > 0) expect(bytes).toBeGreaterThan(50_000);
    }
    // A turn is some 400 bytes here, so 50,000 bytes of snapshot are worth writing after some ten of them.
    expect(since).toBeGreaterThanOrEqual(limits.snapshotAsleepTurns - 1);
    expect(since).toBeLessThan(30);
  });
});

describe("a snapshot", () => {
  const seats = 700;

  /** The saga asleep, its snapshots damaged, then woken and cancelled: all it did. */
  async function storyAfter(damage: (shelf: Map<string, Uint8Array>) => void) {
    const released: string[] = [];
    const mesh = openMesh(bookingApp(released));
    await mesh.begin(seats);
    damage(mesh.shelf);
    await mesh.wake("note", note);
    damage(mesh.shelf);
    const count = await mesh.wake("cancel", { reason: "enough" });
    return { released, story: storyOf(await mesh.turns()), count, shelf: mesh.shelf };
  }

  let undamaged: ReturnType<typeof storyAfter> | undefined;

  const changed = (at: (entry: Uint8Array) => number) => (shelf: Map<string, Uint8Array>) => {
    for (const [name, entry] of shelf) {
      const other = Uint8Array.from(entry);
      other[at(entry)]! ^= 1;
      shelf.set(name, other);
    }
  };
  const damages: Record<string, (shelf: Map<string, Uint8Array>) => void> = {
    "was deleted": (shelf) => shelf.clear(),
    "is empty": (shelf) => shelf.forEach((_, name) => shelf.set(name, new Uint8Array())),
    "was cut short": (shelf) =>
      shelf.forEach((entry, name) => shelf.set(name, entry.subarray(0, entry.length / 2))),
    "has one bit changed in its middle": changed((entry) => entry.length >> 1),
    "has one bit changed in its hash": changed(() => 20),
    "has one bit changed at its end": changed((entry) => entry.length - 1),
    "is no MessagePack": (shelf) => shelf.forEach((_, name) => shelf.set(name, Buffer.from("nonsense"))),
    "lost the parts beside it": (shelf) =>
      shelf.forEach((_, name) => (name.includes("past-") ? shelf.delete(name) : undefined)),
    "has parts in another's place": (shelf) => {
      const [first] = [...shelf].filter(([name]) => name.includes("past-"));
      shelf.forEach((_, name) => (name.includes("past-") ? shelf.set(name, first![1]) : undefined));
    },
  };

  test("lays by what stands, and cancelling the saga releases every one of it, the last first", async () => {
    const { released, count, shelf } = await (undamaged ??= storyAfter(() => undefined));
    expect([...shelf.keys()].filter((name) => name.includes("past-")).length).toBeGreaterThan(1);
    expect(released).toEqual(Array.from({ length: seats }, (_, index) => String(index + 1)));
    expect(count.turns).toBeLessThan(limits.snapshotAsleepTurns); // The effects came from the parts.
  }, 60_000);

  test.each(Object.keys(damages))(
    "that %s costs time only",
    async (what) => {
      const sound = await storyAfter(() => undefined);
      const damaged = await storyAfter(damages[what]!);
      expect(damaged.story).toEqual(sound.story);
      expect(damaged.released).toEqual(sound.released);
      expect(damaged.count.turns).toBeGreaterThan(seats); // It was not used.
    },
    60_000,
  );

  test("of a turn that is not the saga's is not used", async () => {
    const [other, mesh] = [openMesh(bookingApp()), openMesh(bookingApp())];
    await other.begin(14);
    await mesh.begin(15);
    expect((await mesh.wake("note", note)).turns).toBe(0);
    for (const [name, entry] of other.shelf) mesh.shelf.set(name, entry);
    expect((await mesh.wake("note", note)).turns).toBeGreaterThan(15);
  });

  /** Seals what a forger made of a snapshot, as anybody may who may write there. */
  const forge = (shelf: Map<string, Uint8Array>, change: (snapshot: Forged) => unknown) => {
    const entry = shelf.get(`${saga} `)!;
    const content = encodeMsgpack(
      change(decode(entry.subarray(67), contentTypes.msgpack) as unknown as Forged),
    );
    const digest = Buffer.from(sha256(content));
    shelf.set(`${saga} `, Buffer.concat([entry.subarray(0, 3), digest, content]));
  };
  interface Forged {
    readonly head: { readonly turn: number; readonly seq: number; readonly hash: string };
    readonly definition: object;
  }
  const withHead =
    (change: (head: Forged["head"]) => object) =>
    (snapshot: Forged): unknown => ({ ...snapshot, head: { ...snapshot.head, ...change(snapshot.head) } });
  const forgeries: Record<string, (snapshot: Forged) => unknown> = {
    "the number of its turn": withHead(({ turn }) => ({ turn: turn - 1 })),
    "a later number": withHead(({ turn }) => ({ turn: turn + 1 })),
    "a later place": withHead(({ seq }) => ({ seq: seq + 1 })),
    "its hash": withHead(({ hash }) => ({ hash: `${hash.slice(1)}A` })),
    "no head": (snapshot) => ({ ...snapshot, head: null }),
    "its definition": (snapshot) => ({ ...snapshot, definition: { ...snapshot.definition, hash: "0" } }),
    "its format": (snapshot) => ({ ...snapshot, format: 99 }),
    "nothing in it": () => null,
    "more pieces than there can be": () => ({ pieces: 1e9, digest: "" }),
  };

  test.each(Object.keys(forgeries))("that was forged in %s is not believed", async (what) => {
    const mesh = openMesh(bookingApp());
    await mesh.begin(15);
    expect((await mesh.wake("note", note)).turns).toBeLessThan(5);
    const before = (await mesh.turns()).length;
    forge(mesh.shelf, forgeries[what]!);
    expect((await mesh.wake("note", note)).turns).toBeGreaterThan(15);
    expect(await mesh.turns()).toHaveLength(before + 1);
  });

  test.each(Object.keys(foreignKinds))(
    "is of a saga that goes on where %s follows its turn, and again",
    async (kind) => {
      const mesh = openMesh(bookingApp());
      await mesh.begin(15);
      mesh.plant(kind);
      await mesh.wake("note", note);
      mesh.plant(kind);
      mesh.plant("nothing at all");
      await mesh.wake("note", note);
      expect(JSON.stringify(await mesh.turns()).match(/"name":"note"/g)).toHaveLength(2);
    },
  );

  test("too large for a message is kept in pieces and read from them, and with a piece lost it is not used", async () => {
    const mesh = openMesh(bookingApp());
    await mesh.begin(1);
    for (let notes = 0; notes < 24; notes++) await mesh.wake("note", { text: `${notes}`.repeat(50_000) });
    const pieces = [...mesh.shelf.keys()].filter((name) => name.includes("piece-"));
    expect(pieces.length).toBeGreaterThan(2);
    const { turns, bytes } = await mesh.wake("note", note);
    expect(turns).toBeLessThan(limits.snapshotAsleepTurns);
    expect(bytes).toBeGreaterThan(limits.messageBytesMax);
    mesh.shelf.delete(pieces[1]!);
    expect((await mesh.wake("note", note)).turns).toBe((await mesh.turns()).length - 1);
  });
});
