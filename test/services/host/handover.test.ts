/**
 * Hosts that join, drain, die and stand still, on the memory mesh in virtual time: which partitions move and how
 * soon, and what becomes of the sagas that run there.
 *
 * Method: hosts with one agent, whose model thinks for as long as a test says and notes who asked; everything is
 * compared with what the ledger and that account say.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool, NotPerformed } from "../../../actors/contract/tool.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { decodeHostEntry } from "../../../protocol/host-entry.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { readLedger, readView } from "../../../services/views/view.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";

const partitions = 8;

interface Member {
  readonly host: Host;
  readonly life: MemoryProcess;
  readonly name: string;
}

interface Times {
  readonly modelMs?: number;
  readonly toolMs?: number;
  /** So often the tool does nothing and is tried again later. */
  readonly refusals?: number;
  /** Decisions until the end; 2 unless given. */
  readonly steps?: number;
  /** What the model asks for at once; for a poster it is a post alone. */
  readonly calls?: readonly ("file" | "post")[];
}

/** A mesh with a client, and hosts as they are begun. */
function openMesh({ modelMs = 0, toolMs = 0, refusals = 0, steps = 2, calls = ["file"] }: Times = {}) {
  let refused = 0;
  const mesh = createMemoryMesh({ seed: 7, partitions });
  /** `<who> <what>`, in order: model requests, effects begun, entries written. */
  const account: string[] = [];
  const writes: string[] = [];
  /** `<who> <key>` of each mark that was put. */
  const marks: string[] = [];

  const appOf = ({ clock, gate }: Pick<MemoryProcess, "clock" | "gate">) => {
    const note = (what: string) => account.push(`${gate.name} ${what}`);
    const common = {
      effect: "once",
      timeoutMs: 60_000,
      retry: { attemptsMax: 3, backoffMs: 5_000 },
      compensation: "point_of_no_return",
      input: z.object({ n: z.int() }),
      output: z.object({}),
    } as const;
    const post = defineTool({
      ...common,
      name: "post",
      description: "posts",
      placement: "worker",
      perform: async () => {
        note("posts");
        return {};
      },
    });
    const file = defineTool({
      ...common,
      name: "file",
      description: "files",
      placement: "host",
      perform: async ({ n }) => {
        if (refused++ < refusals) {
          account.push("the tool refuses");
          throw new NotPerformed("not yet");
        }
        note("files");
        await clock.sleep(toolMs + n);
        return {};
      },
    });
    const clerk = defineAgent({
      name: "clerk",
      version: 1,
      description: "Files once.",
      model: "thinker",
      instructions: "File, then finish.",
      input: z.object({}),
      output: z.object({}),
      signals: { nudge: z.object({}) },
      tools: [file, post],
    });
    const thinker = {
      name: "thinker",
      decide: async ({ saga, step }: { saga: string; step: number }) => {
        note(`is asked for step ${step}`);
        await clock.sleep(modelMs);
        if (step >= steps) return { model: "thinker", calls: [{ tool: "finish", input: { output: {} } }] };
        const wanted = saga.startsWith("poster") ? (["post"] as const) : calls;
        return { model: "thinker", calls: wanted.map((tool, n) => ({ tool, input: { n: n + 10 * step } })) };
      },
    };
    return { clerk, app: defineApp({ sagas: [clerk], models: { thinker } }) };
  };

  const begin = async (name: string): Promise<Member> => {
    const life = mesh.spawn(name);
    const { membership, suspects } = life.ports;
    const watched: MemoryProcess["ports"] = {
      ...life.ports,
      suspects: {
        ...suspects,
        put: (key, data, ttlMs) => {
          marks.push(`${life.gate.name} ${key}`);
          return suspects.put(key, data, ttlMs);
        },
      },
      membership: {
        ...membership,
        beat: (host, data, ttlMs) => {
          writes.push(host);
          return membership.beat(host, data, ttlMs);
        },
      },
    };
    const options = {
      ...life,
      ports: watched,
      log: silentLog,
      incarnation: life.gate.name,
      callbackBase: "sagamesh:",
      isolate: () => Promise.reject(new Error(`${life.gate.name} starts a child`)),
    };
    const host = await mesh.clock.until(startHost(options, appOf(life).app));
    return { host, life, name: life.gate.name };
  };

  const outside = mesh.spawn("outside");
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  const { clerk } = appOf(outside);
  const turnsOf = async (id: string) =>
    (await mesh.clock.until(readLedger(outside.ports, parseSagaId(id)))).map(({ turn }) => turn);
  return {
    ...mesh,
    account,
    writes,
    marks,
    begin,
    work: async () => {
      const life = mesh.spawn("worker");
      const options = { ...life, log: silentLog, incarnation: life.gate.name, callbackBase: "sagamesh:" };
      await mesh.clock.until(startWorker(options, appOf(life).app));
    },
    turnsOf,
    view: (id: string) => mesh.clock.until(readView(outside.ports, parseSagaId(id))),
    start: (id: string) => mesh.clock.until(client.start(clerk, {}, { id })),
    signal: (id: string) => mesh.clock.until(client.saga(clerk, id).signal("nudge", {})),
    /** Lets virtual time pass until the condition holds; how long it took. */
    until: async (what: string, condition: () => boolean, withinMs = 60_000): Promise<number> => {
      const from = mesh.clock.now();
      while (!condition()) {
        if (mesh.clock.now() - from > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
        await mesh.clock.advance(1);
      }
      return mesh.clock.now() - from;
    },
    entries: () => mesh.server.shelves.hosts().map(({ host, data }) => ({ host, ...decodeHostEntry(data) })),
    ended: (id: string) =>
      mesh.server.ledger
        .after(parseSagaId(id), 0)
        .some(({ data }) => Buffer.from(data).includes('"kind":"end"')),
  };
}

const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
const all = Array.from({ length: partitions }, (_, partition) => partition);
const isWhole = (members: readonly Member[]) => {
  const held = members.map(({ host }) => host.partitions());
  const counts = held.map((own) => own.length);
  return String(sorted(held.flat())) === String(all) && Math.max(...counts) - Math.min(...counts) <= 1;
};

describe("placement over hosts", () => {
  test("hosts that begin together share all partitions evenly, each once", async () => {
    const mesh = openMesh();
    const members = [await mesh.begin("a"), await mesh.begin("b"), await mesh.begin("c")];
    await mesh.until("all are placed", () => isWhole(members), 3_000);
    await mesh.clock.advance(5_000);
    expect(isWhole(members), "it stays so").toBe(true);
  });

  test("a host that joins gets its share within a tenth of a second, and nothing else moves", async () => {
    const mesh = openMesh();
    const [a, b] = [await mesh.begin("a"), await mesh.begin("b")];
    await mesh.until("two are placed", () => isWhole([a, b]));
    await mesh.clock.advance(3_333);
    const before = { a: [...a.host.partitions()], b: [...b.host.partitions()] };
    const c = await mesh.begin("c");
    expect(await mesh.until("the third has its share", () => isWhole([a, b, c]))).toBeLessThan(100);
    for (const partition of a.host.partitions()) expect(before.a).toContain(partition);
    for (const partition of b.host.partitions()) expect(before.b).toContain(partition);
  });

  test("what a host that drains had is consumed by the others within a tenth of a second", async () => {
    const mesh = openMesh();
    const members = [await mesh.begin("a"), await mesh.begin("b"), await mesh.begin("c")];
    await mesh.until("all are placed", () => isWhole(members));
    const [a, b, c] = members as [Member, Member, Member];
    const before = { b: [...b.host.partitions()], c: [...c.host.partitions()] };
    const stopped = a.host.stop(10_000);
    expect(await mesh.until("the two have all", () => isWhole([b, c]))).toBeLessThan(100);
    for (const partition of before.b) expect(b.host.partitions()).toContain(partition);
    for (const partition of before.c) expect(c.host.partitions()).toContain(partition);
    await mesh.clock.until(stopped);
    expect(mesh.entries().map(({ host }) => host)).not.toContain(a.name);
  });

  test("what a dead host had is taken up once its entry is gone", async () => {
    const mesh = openMesh();
    const [a, b] = [await mesh.begin("a"), await mesh.begin("b")];
    await mesh.until("two are placed", () => isWhole([a, b]));
    a.life.gate.crash();
    const tookMs = await mesh.until("the other has all", () => isWhole([b]));
    expect(tookMs).toBeLessThan(limits.hostTtlMs + 2 * limits.hostBeatMs);
  });

  test("what a dead host asked a model for counts as a step, and so does what the next one asks, without a budget too", async () => {
    const mesh = openMesh({ modelMs: 1_000, steps: 3 });
    const hosts = [await mesh.begin("a"), await mesh.begin("b")];
    await mesh.until("two are placed", () => isWhole(hosts));
    await mesh.start("errand");
    const asked = () => mesh.account.filter((line) => line.includes(" is asked"));
    await mesh.until("a model is asked", () => asked().length === 2);
    hosts.find(({ name }) => asked()[1]?.startsWith(`${name} `))?.life.gate.crash();
    await mesh.until("it ends", () => mesh.ended("errand"));
    const view = await mesh.view("errand");
    expect(asked().length).toBe(4);
    expect(view.spent.steps).toBe(4);
  });

  test("two hosts that both believe to have everything settle on one each", async () => {
    const mesh = openMesh();
    const a = await mesh.begin("a");
    await mesh.until("it has all", () => isWhole([a]));
    a.life.gate.cut(limits.hostTtlMs * 2);
    const b = await mesh.begin("b");
    await mesh.until("the other has all too", () => isWhole([b]) && isWhole([a]));
    await mesh.until("they share", () => isWhole([a, b]));
  });

  test("in a mesh that has settled a host writes its entry with its heartbeat alone", async () => {
    const mesh = openMesh();
    const members = [await mesh.begin("a"), await mesh.begin("b"), await mesh.begin("c")];
    await mesh.until("all are placed", () => isWhole(members));
    await mesh.clock.advance(1_000);
    mesh.writes.length = 0;
    await mesh.clock.advance(60_000);
    expect(mesh.writes.length).toBeLessThanOrEqual((60_000 / limits.hostBeatMs) * members.length);
  });
});

describe("a saga whose host drains", () => {
  /** A saga at A with something under way, and B beside it, which has another partition until A drains. */
  async function running(times: Times, isUnderWay: (account: readonly string[]) => boolean) {
    const mesh = openMesh(times);
    const a = await mesh.begin("a");
    await mesh.until("it has all", () => isWhole([a]));
    await mesh.start("errand");
    await mesh.until("it is under way", () => isUnderWay(mesh.account));
    const b = await mesh.begin("b");
    return { mesh, a, b };
  }
  const asked = (step: number) => (account: readonly string[]) =>
    account.some((line) => line.endsWith(`is asked for step ${step}`));

  test("in the middle of a model call goes on elsewhere with its reply, and the model is not asked twice", async () => {
    const { mesh, a, b } = await running({ modelMs: 3_000 }, asked(1));
    const stopped = a.host.stop(10_000);
    await mesh.until("the saga ends", () => mesh.ended("errand"));
    await mesh.clock.until(stopped);
    expect(mesh.account).toEqual([
      `${a.name} is asked for step 1`,
      `${b.name} files`,
      `${b.name} is asked for step 2`,
    ]);
    const turns = await mesh.turnsOf("errand");
    expect(turns.map(({ host }) => host)).toEqual([a.name, b.name, b.name, b.name]);
  });

  test("while it waits to try again is tried again by the next host, and its old host has gone at once", async () => {
    const { mesh, a, b } = await running({ refusals: 1 }, (account) => account.includes("the tool refuses"));
    const before = mesh.clock.now();
    await mesh.clock.until(a.host.stop(10_000));
    expect(mesh.clock.now() - before).toBeLessThan(200);
    await mesh.until("the saga ends", () => mesh.ended("errand"));
    expect(mesh.account.filter((line) => line.endsWith("files"))).toEqual([`${b.name} files`]);
  });

  test("at any call of its host to the server loses nothing and does nothing twice", async () => {
    const ids = ["errand-a", "errand-b", "errand-c", "poster-a", "poster-b", "poster-c", "poster-d"];
    let calls = 0;
    for (let at = 1; at <= Math.max(calls, 1); at++) {
      const mesh = openMesh({ modelMs: 5, toolMs: 5, calls: ["file", "file", "file", "post"] });
      await mesh.work();
      const a = await mesh.begin("a");
      await mesh.until("it has all", () => isWhole([a]));
      const b = await mesh.begin("b");
      await mesh.until("they share", () => isWhole([a, b]));
      let count = 0;
      const draining: Promise<void>[] = [];
      a.life.gate.onCall((port) => {
        if (port === "membership") return;
        count += 1;
        if (draining.length === 0 && count === at) draining.push(a.host.stop(10_000));
      });
      for (const id of ids) await mesh.start(id);
      await mesh.until("the sagas end", () => ids.every((id) => mesh.ended(id)));
      await mesh.clock.until(Promise.all(draining));
      calls = Math.max(calls, count);
      const what = `drained at call ${at}`;
      const times = (end: string) => mesh.account.filter((line) => line.includes(end)).length;
      expect({ files: times(" files"), posts: times(" posts"), asked: times(" is asked") }, what).toEqual({
        files: 9,
        posts: 7,
        asked: 14,
      });
      for (const id of ids)
        for (const { event } of (await mesh.turnsOf(id)).flatMap(({ steps }) => steps))
          if (event.type === "result") expect(event.result.outcome, what).toBe("succeeded");
    }
    expect(calls).toBeGreaterThan(20);
  });

  test("goes on as soon as the call ends, with no lease in between", async () => {
    const { mesh, a } = await running({ modelMs: 3_000 }, asked(1));
    void a.host.stop(10_000);
    const underWayMs = 3_000;
    const tookMs = await mesh.until("the next host files", () =>
      mesh.account.some((line) => line.endsWith("files")),
    );
    expect(tookMs).toBeLessThan(underWayMs + 100);
  });

  test("in the middle of a once effect is told how it ended, and the effect is not in doubt", async () => {
    const { mesh, a, b } = await running({ toolMs: 2_000 }, (account) =>
      account.some((line) => line.endsWith("files")),
    );
    const stopped = a.host.stop(10_000);
    await mesh.until("the saga ends", () => mesh.ended("errand"));
    await mesh.clock.until(stopped);
    expect(mesh.account.filter((line) => line.endsWith("files"))).toEqual([`${a.name} files`]);
    const results = (await mesh.turnsOf("errand")).flatMap(({ steps }) =>
      steps.flatMap(({ event }) => (event.type === "result" ? [event] : [])),
    );
    expect(results.map(({ by, result }) => `${by} ${result.outcome}`)).toEqual([
      `${a.name} succeeded`,
      `${a.name} succeeded`,
      `${b.name} succeeded`,
    ]);
  });

  test("takes a signal at its new host while the old one's effect is still running", async () => {
    const { mesh, a, b } = await running({ toolMs: 5_000 }, (account) =>
      account.some((line) => line.endsWith("files")),
    );
    const stopped = a.host.stop(10_000);
    await mesh.clock.advance(200);
    await mesh.signal("errand");
    const tookMs = await mesh.until("it is on the ledger", () =>
      mesh.server.ledger
        .after(parseSagaId("errand"), 0)
        .some(({ data }) => Buffer.from(data).includes("nudge")),
    );
    expect(tookMs).toBeLessThan(100);
    expect((await mesh.turnsOf("errand")).at(-1)?.host).toBe(b.name);
    await mesh.until("the saga ends", () => mesh.ended("errand"));
    await mesh.clock.until(stopped);
    expect(mesh.account.filter((line) => line.endsWith("files"))).toEqual([`${a.name} files`]);
  });

  test("is given back when the grace is over: the model is asked again, and the reply that comes late changes nothing", async () => {
    const { mesh, a, b } = await running({ modelMs: 8_000 }, asked(1));
    const stopped = a.host.stop(1_000);
    await mesh.until("another asks", () => mesh.account.length > 1);
    expect(mesh.account[1]).toBe(`${b.name} is asked for step 1`);
    await mesh.clock.until(stopped);
    await mesh.until("the saga ends", () => mesh.ended("errand"));
  });

  test("waits for nobody when it sleeps: its host has gone in no time", async () => {
    const { mesh, a } = await running({}, asked(2));
    await mesh.until("the saga ends", () => mesh.ended("errand"));
    const before = mesh.clock.now();
    await mesh.clock.until(a.host.stop(10_000));
    expect(mesh.clock.now() - before).toBeLessThan(200);
  });
});

describe("hosts that are all replaced, one after the other", () => {
  test.each([
    ["begins before the old one ends", true],
    ["begins after the old one has ended", false],
  ])(
    "leave no saga without a turn for a second, nor do anything twice, where the new one %s",
    async (_, isBefore) => {
      const mesh = openMesh({ modelMs: 60, toolMs: 60, steps: 40, calls: ["file", "post"] });
      await mesh.work();
      let hosts = [await mesh.begin("a"), await mesh.begin("b"), await mesh.begin("c")];
      await mesh.until("all are placed", () => isWhole(hosts));
      const ids = Array.from({ length: 12 }, (__, n) => `errand-${n}`);
      for (const id of ids) await mesh.start(id);
      for (const old of [...hosts]) {
        if (isBefore) hosts = [...hosts, await mesh.begin("d")];
        await mesh.clock.until(old.host.stop(10_000));
        old.life.gate.crash();
        if (!isBefore) hosts = [...hosts, await mesh.begin("d")];
        hosts = hosts.filter((host) => host !== old);
        await mesh.clock.advance(300);
      }
      expect(
        ids.filter((id) => mesh.ended(id)),
        "the sagas outlast it",
      ).toEqual([]);
      await mesh.until("the sagas end", () => ids.every((id) => mesh.ended(id)));
      let longestMs = 0;
      for (const id of ids) {
        const times = mesh.server.ledger.after(parseSagaId(id), 0).map(({ storedAt }) => storedAt);
        for (const [at, time] of times.entries())
          longestMs = Math.max(longestMs, time - (times[at - 1] ?? time));
      }
      expect(longestMs).toBeLessThan(1_000);
      const times = (what: string) => mesh.account.filter((line) => line.includes(what)).length;
      const effects = ids.length * 39;
      expect({ files: times(" files"), posts: times(" posts"), asked: times(" is asked") }).toEqual({
        files: effects,
        posts: effects,
        asked: ids.length * 40,
      });
    },
  );
});

describe("a host that stands still for longer than its lease", () => {
  const frozenMs = limits.inboxAckWaitMs * 3;

  async function frozen(times: Times, isUnderWay: (account: readonly string[]) => boolean) {
    const mesh = openMesh(times);
    const a = await mesh.begin("a");
    await mesh.until("it has all", () => isWhole([a]));
    await mesh.start("errand");
    await mesh.until("it is under way", () => isUnderWay(mesh.account));
    a.life.gate.pause();
    const b = await mesh.begin("b");
    // Offered to the frozen host's outstanding requests, too, which it will find when it wakes up.
    for (let late = 0; late < 5; late++) await mesh.start(`late-${late}`);
    await mesh.clock.advance(frozenMs);
    const thawedAt = mesh.server.ledger.after(undefined, 0).length;
    a.life.gate.resume();
    return { mesh, a, b, thawedAt };
  }
  const asked = (account: readonly string[]) => account.some((line) => line.endsWith("is asked for step 1"));

  test("appends nothing when it wakes up, and comes back under another name with a share of the partitions", async () => {
    const { mesh, a, b, thawedAt } = await frozen({ modelMs: 20_000 }, asked);
    await mesh.until("they share", () => isWhole([a, b]));
    await mesh.until("the sagas end", () => mesh.ended("errand") && mesh.ended("late-4"), 200_000);
    const names = new Set<string>();
    for (const message of mesh.server.ledger.after(undefined, 0).slice(thawedAt))
      names.add((JSON.parse(Buffer.from(message.data).toString()) as { host: string }).host);
    expect(names).not.toContain(a.name);
    expect(mesh.entries().map(({ host }) => host)).toContain(`${a.name}-2`);
  });

  test("leaves no mark and makes no suspect, however often and whenever it does: nothing has died (QA2)", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 2_500 }), fc.integer({ min: 500, max: 9_000 })), {
          minLength: 2,
          maxLength: 5,
        }),
        async (lapses) => {
          const mesh = openMesh({ modelMs: 300, toolMs: 200, steps: 4 });
          const { life } = await mesh.begin("a");
          const ids = Array.from({ length: 12 }, (_, n) => `errand-${n}`);
          for (const id of ids) await mesh.start(id);
          for (const [runningMs, frozenMs] of lapses) {
            await mesh.clock.advance(runningMs);
            life.gate.pause();
            await mesh.clock.advance(frozenMs);
            life.gate.resume();
          }
          await mesh.until("the sagas end", () => ids.every((id) => mesh.ended(id)), 300_000);
          expect(mesh.marks).toEqual([]);
        },
      ),
      { numRuns: 6 },
    ));

  test("performs no once again", async () => {
    const { mesh } = await frozen({ toolMs: 500 }, (account) =>
      account.some((line) => line.endsWith("files")),
    );
    await mesh.until("the sagas end", () => mesh.ended("errand") && mesh.ended("late-4"), 200_000);
    await mesh.clock.advance(5_000);
    const files = mesh.account.filter((line) => line.endsWith("files"));
    expect(files).toHaveLength(6);
  });
});
