/** Hosts that die, are cut off or stand still, and the one that looks at them: who is found dead, and what becomes of it. */
import { describe, expect, test } from "vitest";
import { decodeHostEntry, encodeHostEntry, type HostEntry } from "../../../protocol/host-entry.ts";
import { limits } from "../../../protocol/limits.ts";
import { createBurials, type Processes } from "../../../services/host/bury.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Delivery, MembershipPort, Ports } from "../../../services/wire/ports.ts";
import { bytes, consumeInbox } from "../../contract/mesh-under-test.ts";

const partitions = 4;
const entryOf = (more: Partial<HostEntry> = {}): HostEntry => ({
  partitions: [0, 1, 2, 3],
  ...{ draining: false, since: 0, serves: [], deployments: 0, heardAt: "memory" },
  ...more,
});
const markOf = (pid: number, machine = "here") => ({ machine, pid, began: "1" });

/** A mesh with a host that holds an input, and one that watches it. */
async function meshOf(entry = entryOf(), ended: readonly number[] = []) {
  const mesh = createMemoryMesh({ seed: 5, partitions });
  const dying = mesh.spawn("h-dying");
  const watching = mesh.spawn("h-watching");
  const asked: string[] = [];
  const processes: Processes = {
    own: markOf(1),
    hasEnded: ({ machine, pid }) => machine === "here" && ended.includes(pid),
  };
  const countedIn = ({ membership }: Ports): MembershipPort => ({
    ...membership,
    isUnheard: (host) => {
      asked.push(host);
      return membership.isUnheard(host);
    },
  });
  const ports = { ...watching.ports, membership: countedIn(watching.ports) };
  const burials = createBurials({
    ...{ ports, clock: watching.clock, log: silentLog, incarnation: "h-watching", processes },
  });
  const until = mesh.clock.until;
  const held: Delivery[] = [];
  await until(dying.ports.membership.beat("h-dying", encodeHostEntry(entry), 60_000));
  await until(dying.ports.inbox.receive("h-dying", () => false));
  await until(consumeInbox(dying.ports, (delivery) => held.push(delivery)));
  const put = (name: string) =>
    until(
      watching.ports.inbox.publish({
        subject: `saga.a.signal.${name}`,
        data: bytes(""),
        headers: {},
        msgId: name,
      }),
    );
  await put("one");
  await mesh.clock.advance(50);
  expect(held).toHaveLength(1);
  const others = async () =>
    new Map((await until(ports.membership.hosts())).map(({ host, data }) => [host, decodeHostEntry(data)]));
  return {
    ...{ mesh, dying, watching, burials, asked, held, put, others, until },
    watch: async () => until(burials.watch(await others())),
    list: () => until(ports.membership.hosts()),
  };
}

describe("a host that another one watches", () => {
  test("is left alone while it is heard, also while it stands still", async () => {
    const t = await meshOf();
    expect(await t.watch()).toBeUndefined();
    t.dying.gate.pause();
    for (let looks = 0; looks < 20; looks++) expect(await t.watch()).toBeUndefined(); // BY1
    expect(t.asked).toEqual(Array.from({ length: 21 }, () => "h-dying"));
  });

  test("is buried once it died, and what it held comes to the one that takes its partitions, counted", async () => {
    const t = await meshOf();
    t.dying.gate.crash();
    const from = t.mesh.clock.now();
    expect(await t.watch()).toBe("h-dying");
    expect((await t.others()).size).toBe(0);
    const taken: Delivery[] = [];
    await t.until(consumeInbox(t.watching.ports, (delivery) => taken.push(delivery)));
    await t.mesh.clock.advance(50);
    expect(taken).toMatchObject([{ seq: t.held[0]!.seq, deliveries: 2 }]);
    expect(t.mesh.clock.now() - from).toBeLessThan(limits.inboxAckWaitMs / 3);
  });

  test("is left alone if it lost only its connection and is back before it is asked for again", async () => {
    const t = await meshOf();
    t.dying.gate.cut(limits.unheardMs / 2);
    expect(await t.watch()).toBeUndefined();
    expect(t.asked).toHaveLength(2);
    expect((await t.others()).size).toBe(1);
  });

  test("is left alone if it has beaten since its entry was read", async () => {
    const t = await meshOf();
    const [listed] = await t.list();
    await t.until(t.dying.ports.membership.beat("h-dying", encodeHostEntry(entryOf()), 60_000));
    t.dying.gate.crash();
    expect(await t.until(t.watching.ports.membership.remove("h-dying", listed!.revision))).toBe(false); // BY2
    expect((await t.others()).size).toBe(1);
  });

  test.each([
    ["at another server, or one that was started anew", { heardAt: "another" }],
    ["of a version that does not say where it is heard", { heardAt: undefined }],
    [
      "whose process has the number of one that ended, on another machine",
      { heardAt: undefined, process: markOf(7, "there") },
    ],
  ])("is left to its silence if it is one %s", async (_, more) => {
    const t = await meshOf(entryOf(more), [7]);
    t.dying.gate.crash();
    expect(await t.watch()).toBeUndefined();
    expect(await t.until(t.burials.ended(await t.list()))).toEqual([]);
    expect((await t.others()).size).toBe(1);
  });

  test("is buried at once where its process is seen to have ended, by who watches and by who joins", async () => {
    for (const joins of [false, true]) {
      const t = await meshOf(entryOf({ process: markOf(7) }), [7]);
      t.dying.gate.crash();
      const from = t.mesh.clock.now();
      if (joins) expect(await t.until(t.burials.ended(await t.list()))).toEqual(["h-dying"]);
      else expect(await t.watch()).toBe("h-dying");
      expect(t.mesh.clock.now() - from).toBeLessThan(limits.unheardMs);
      expect(t.asked).toEqual([]);
    }
  });

  test("is buried by one host where two find it", async () => {
    const t = await meshOf(entryOf({ process: markOf(7) }), [7]);
    t.dying.gate.crash();
    const list = await t.list();
    const both = await t.until(Promise.all([t.burials.ended(list), t.burials.ended(list)]));
    expect(both.flat()).toEqual(["h-dying"]); // BY2
  });

  test("keeps what reached others after it was found: only what was out before is given back", async () => {
    const t = await meshOf();
    const outstanding = await t.until(t.watching.ports.inbox.outstanding([0, 1, 2, 3]));
    await t.put("two");
    await t.mesh.clock.advance(50);
    expect(t.held.map(({ deliveries }) => deliveries)).toEqual([1, 1]);
    await t.until(outstanding.giveBack()); // BY3
    await t.mesh.clock.advance(50);
    expect(t.held.map(({ seq, deliveries }) => [seq, deliveries])).toEqual([
      [t.held[0]!.seq, 1],
      [t.held[1]!.seq, 1],
      [t.held[0]!.seq, 2],
    ]);
  });
});

describe("hosts that watch in a circle", () => {
  test("are each watched by one other", async () => {
    const names = ["h-a", "h-b", "h-c", "h-d"];
    const mesh = createMemoryMesh({ seed: 6, partitions });
    const watchedBy = async (incarnation: string) => {
      const { ports, clock } = mesh.spawn(incarnation);
      const asked: string[] = [];
      const isUnheard = async (host: string) => asked.push(host) < 0;
      const burials = createBurials({
        ...{ clock, log: silentLog, incarnation },
        ports: { ...ports, membership: { ...ports.membership, isUnheard } },
      });
      const others = names.filter((name) => name !== incarnation).map((name) => [name, entryOf()] as const);
      await mesh.clock.until(burials.watch(new Map(others)));
      return asked;
    };
    const watched = await Promise.all(names.map(watchedBy));
    expect(watched).toEqual([["h-b"], ["h-c"], ["h-d"], ["h-a"]]); // BY4
  });
});
