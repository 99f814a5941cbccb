/**
 * What holds of finding the dead, as checks that need no test runner: bury.test.ts runs them on the product as it is, and
 * burial-run.ts in a process whose source has one of the rules broken (burial-plants.ts).
 *
 * Method: a host that dies, is cut off or stands still on the memory mesh, and the one that looks at it.
 */
import assert from "node:assert/strict";
import { decodeHostEntry, encodeHostEntry, type HostEntry } from "../../../protocol/host-entry.ts";
import { limits } from "../../../protocol/limits.ts";
import { createBurials, type Processes } from "../../../services/host/bury.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Delivery, Ports } from "../../../services/wire/ports.ts";
import { bytes, consumeInbox } from "../../contract/mesh-under-test.ts";

/** A sentence that could be false, and what shows whether it is. */
export interface BurialRule {
  readonly name: string;
  /** Rejects where it does not hold. */
  holds(this: void): Promise<void>;
}

const partitions = 4;
const entryOf = (more: Partial<HostEntry> = {}): HostEntry => ({
  partitions: [0, 1, 2, 3],
  ...{ draining: false, since: 0, serves: [], deployments: 0, heardAt: "memory" },
  ...more,
});
const markOf = (pid: number, machine = "here") => ({ machine, pid, began: "1" });

/** What happens besides as the one that watches calls its ports; looked at with each call. */
interface Meanwhile {
  entry?: HostEntry;
  /** Processes of this machine that have ended. */
  ended?: readonly number[];
  /** After it was said whether the other is heard. */
  asked?: (count: number) => Promise<void>;
  /** Before what is out is looked at, and after the entry is taken away. */
  looking?: () => Promise<void>;
  removed?: () => Promise<void>;
  server?: () => string | undefined;
}

/** A mesh with a host that holds an input, and one that watches it. */
async function meshOf(meanwhile: Meanwhile = {}) {
  const { entry = entryOf(), ended = [] } = meanwhile;
  const mesh = createMemoryMesh({ seed: 5, partitions });
  const [dying, watching] = [mesh.spawn("h-dying"), mesh.spawn("h-watching")];
  const asked: string[] = [];
  const processes: Processes = {
    own: markOf(1),
    hasEnded: ({ machine, pid }) => machine === "here" && ended.includes(pid),
  };
  const { membership, inbox } = watching.ports;
  const ports: Ports = {
    ...watching.ports,
    membership: {
      ...membership,
      server: meanwhile.server ?? (() => membership.server()),
      isUnheard: async (host) => {
        const count = asked.push(host);
        const isUnheard = await membership.isUnheard(host);
        await meanwhile.asked?.(count);
        return isUnheard;
      },
      remove: async (host, revision) => {
        const isRemoved = await membership.remove(host, revision);
        await meanwhile.removed?.();
        return isRemoved;
      },
    },
    inbox: {
      ...inbox,
      outstanding: async (of) => {
        await meanwhile.looking?.();
        return inbox.outstanding(of);
      },
    },
  };
  const burials = createBurials({
    ...{ ports, clock: watching.clock, log: silentLog, incarnation: "h-watching", processes },
  });
  const until = mesh.clock.until;
  const held: Delivery[] = [];
  const beat = () => dying.ports.membership.beat("h-dying", encodeHostEntry(entry), 60_000);
  const put = (name: string) =>
    watching.ports.inbox.publish({
      ...{ subject: `saga.a.signal.${name}`, data: bytes(""), headers: {}, msgId: name },
    });
  await until(beat());
  await until(dying.ports.inbox.receive("h-dying", () => false));
  await until(consumeInbox(dying.ports, (delivery) => held.push(delivery)));
  await until(put("one"));
  await mesh.clock.advance(50);
  assert.equal(held.length, 1);
  const others = async () =>
    new Map((await until(membership.hosts())).map(({ host, data }) => [host, decodeHostEntry(data)]));
  return {
    ...{ mesh, dying, watching, burials, asked, held, beat, put, others, until },
    watch: async () => until(burials.watch(await others())),
    list: () => until(membership.hosts()),
    deliveries: () => held.map(({ deliveries }) => deliveries),
  };
}

type Mesh = Awaited<ReturnType<typeof meshOf>>;

/** Neither found dead, nor without its entry, nor robbed of what it has. */
async function assertLeftAlone(t: Mesh, found: string | undefined): Promise<void> {
  await t.mesh.clock.advance(50);
  assert.equal(found, undefined);
  assert.equal((await t.others()).size, 1);
  assert.deepEqual(t.deliveries(), [1]);
}

/** What the watching host is asked of, by its name, beside these. */
async function watchedBy(
  incarnation: string,
  others: Readonly<Record<string, HostEntry>>,
): Promise<string[]> {
  const mesh = createMemoryMesh({ seed: 6, partitions });
  const { ports, clock } = mesh.spawn(incarnation);
  const asked: string[] = [];
  const isUnheard = async (host: string) => asked.push(host) < 0;
  const burials = createBurials({
    ...{ clock, log: silentLog, incarnation },
    ports: { ...ports, membership: { ...ports.membership, isUnheard } },
  });
  await mesh.clock.until(burials.watch(new Map(Object.entries(others))));
  return asked;
}

const evidence: BurialRule[] = [
  {
    name: "is left alone while it is heard, also while it stands still", // BY1
    holds: async () => {
      const meanwhile: Meanwhile = {};
      const t = await meshOf(meanwhile);
      await assertLeftAlone(t, await t.watch());
      t.dying.gate.pause();
      meanwhile.asked = () => t.watching.clock.sleep(1_000); // As long as an answer is waited for.
      for (let looks = 0; looks < 20; looks++) assert.equal(await t.watch(), undefined);
      assert.deepEqual(new Set(t.asked), new Set(["h-dying"]));
      assert.equal((await t.others()).size, 1);
    },
  },
  {
    name: "is buried once it died, and what it held comes to the one that takes its partitions, counted",
    holds: async () => {
      const t = await meshOf();
      t.dying.gate.crash();
      const from = t.mesh.clock.now();
      assert.equal(await t.watch(), "h-dying");
      assert.equal((await t.others()).size, 0);
      const taken: Delivery[] = [];
      await t.until(consumeInbox(t.watching.ports, (delivery) => taken.push(delivery)));
      await t.mesh.clock.advance(50);
      assert.deepEqual(
        taken.map(({ seq, deliveries }) => [seq, deliveries]),
        [[t.held[0]?.seq, 2]],
      );
      assert.ok(t.mesh.clock.now() - from < limits.inboxAckWaitMs / 3);
    },
  },
  {
    name: "is left alone if it lost only its connection and is back before it is asked for again", // BY1
    holds: async () => {
      const t = await meshOf();
      t.dying.gate.cut(limits.unheardMs / 2);
      await assertLeftAlone(t, await t.watch());
      assert.equal(t.asked.length, 2);
    },
  },
  ...[1, 2].map((time) => ({
    name: `is left alone if its watcher came to another server as it asked, the ${time}. time: that one knows of nobody`, // BY1
    holds: async () => {
      let server = "memory";
      const t = await meshOf({
        server: () => server,
        asked: async (count) => void (server = count === time ? "another" : server),
      });
      t.dying.gate.cut(10_000);
      assert.equal(await t.watch(), undefined);
      assert.equal((await t.others()).size, 1);
    },
  })),
  ...(
    [
      ["at another server, or one that was started anew", { heardAt: "another" }],
      ["of a version that does not say where it is heard", { heardAt: undefined }],
      [
        "whose process has the number of one that ended, on another machine",
        { heardAt: undefined, process: markOf(7, "there") },
      ],
    ] as const
  ).map(([which, more]) => ({
    name: `is left to its silence if it is one ${which}`, // BY1
    holds: async () => {
      const t = await meshOf({ entry: entryOf(more), ended: [7] });
      t.dying.gate.crash();
      assert.equal(await t.watch(), undefined);
      assert.deepEqual(await t.until(t.burials.ended(await t.list())), []);
      assert.equal((await t.others()).size, 1);
    },
  })),
  ...[false, true].map((joins) => ({
    name: `is buried at once where its process is seen to have ended, by who ${joins ? "joins" : "watches"}`,
    holds: async () => {
      const t = await meshOf({ entry: entryOf({ process: markOf(7) }), ended: [7] });
      t.dying.gate.crash();
      const from = t.mesh.clock.now();
      if (joins) assert.deepEqual(await t.until(t.burials.ended(await t.list())), ["h-dying"]);
      else assert.equal(await t.watch(), "h-dying");
      assert.ok(t.mesh.clock.now() - from < limits.unheardMs);
      assert.deepEqual(t.asked, []);
    },
  })),
];

const burying: BurialRule[] = [
  {
    name: "is left alone, and keeps what it has, if it beats while it is looked at what it has", // BY2
    holds: async () => {
      const meanwhile: Meanwhile = { entry: entryOf({ process: markOf(7) }), ended: [7] };
      const t = await meshOf(meanwhile);
      meanwhile.looking = t.beat;
      await assertLeftAlone(t, await t.watch());
    },
  },
  {
    name: "is buried by one host where two find it", // BY2
    holds: async () => {
      const t = await meshOf({ entry: entryOf({ process: markOf(7) }), ended: [7] });
      t.dying.gate.crash();
      const list = await t.list();
      const both = await t.until(Promise.all([t.burials.ended(list), t.burials.ended(list)]));
      assert.deepEqual(both.flat(), ["h-dying"]);
    },
  },
  {
    name: "leaves to its next host what that was handed once its entry was gone", // BY3
    holds: async () => {
      const meanwhile: Meanwhile = { entry: entryOf({ process: markOf(7) }), ended: [7] };
      const t = await meshOf(meanwhile);
      t.dying.gate.crash();
      const taken: Delivery[] = [];
      meanwhile.removed = async () => {
        await consumeInbox(t.watching.ports, (delivery) => taken.push(delivery));
        await t.put("two");
        await t.watching.clock.sleep(20);
      };
      assert.equal(await t.watch(), "h-dying");
      await t.mesh.clock.advance(100);
      const counted = taken.map(({ subject, deliveries }) => [subject.split(".").at(-1), deliveries]);
      assert.deepEqual(counted.sort(), [
        ["one", 2],
        ["two", 1],
      ]);
    },
  },
];

const circle: BurialRule[] = [
  {
    name: "are each watched by one other", // BY4
    holds: async () => {
      const names = ["h-a", "h-b", "h-c", "h-d"];
      const beside = (own: string) =>
        Object.fromEntries(names.filter((name) => name !== own).map((name) => [name, entryOf()]));
      const watched = await Promise.all(names.map((name) => watchedBy(name, beside(name))));
      assert.deepEqual(watched, [["h-b"], ["h-c"], ["h-d"], ["h-a"]]);
    },
  },
  {
    name: "pass over one that they cannot tell of, which would leave the next one unwatched", // BY4
    holds: async () => {
      const others = { "h-b": entryOf({ heardAt: "another" }), "h-c": entryOf() };
      assert.deepEqual(await watchedBy("h-a", others), ["h-c"]);
    },
  },
];

/** By what they are of. */
export const burialRules: Readonly<Record<string, readonly BurialRule[]>> = {
  "a host that another one watches": evidence,
  "a host that was found dead": burying,
  "hosts that watch in a circle": circle,
};
