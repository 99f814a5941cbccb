/**
 * Goal: a saga that stands costs less the longer it stands, and is tried at once where something may have mended it.
 * Method: the rules one by one, and a walk by chance beside a model that is written down anew; then hosts on the memory mesh in
 * virtual time, whose sagas' machine decides otherwise than it did, where every try and every request is counted.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { type App, defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { silentObserver } from "../../../services/host/host-deps.ts";
import { createTries, outsideOf } from "../../../services/host/tries.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createReturns } from "../../../services/suspects/returns.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { bytes } from "../../contract/mesh-under-test.ts";
import { waitingFor } from "../../support/waiting-saga.ts";
import { calling, Of } from "../../support/workbench.ts";

const minuteMs = 60_000;
const nameOf = (n: number): SagaId => parseSagaId(`s-${n}`);

/** What one host remembers, with deliveries that note how they were given back. */
function remembering({ random = (): number => 1 } = {}) {
  let now = 0;
  let outside = "one";
  const said: string[] = [];
  const returns = createReturns();
  const tries = createTries({
    ports: {
      inbox: {
        recall:
          ({ seq }) =>
          () =>
            void said.push(`recall ${seq}`),
      },
    },
    ...{ clock: { elapsed: () => now }, chance: { random }, returns },
    forgotten: (saga) => void said.push(`forgotten ${saga}`),
  });
  const delivered = (saga: SagaId, seq: number, deliveries: number, partition = 0): Delivery => ({
    ...{ subject: `inbox.${partition}.${saga}.signal.go`, seq, headers: {}, data: bytes(""), storedAt: 0 },
    ...{ deliveries, ack: async () => undefined, working: () => undefined },
    nak: async (delayMs = 0) => void said.push(`nak ${seq} ${delayMs}`),
  });
  return {
    ...{ tries, returns, delivered },
    look: () => tries.hear(outside),
    pass: (ms: number) => (now += ms),
    mend: () => (outside += "+"),
    /** Since it was asked last. */
    said: () => said.splice(0),
  };
}

describe("a saga that could not be taken", () => {
  test("is tried after twice as long each time, up to four minutes, and is away for half a minute at most", () => {
    const t = remembering();
    const one = t.delivered(nameOf(1), 7, 2);
    const waits = Array.from({ length: 9 }, () => {
      let waitMs = 0;
      let delayMs = t.tries.failed(nameOf(1), [one]);
      for (;;) {
        expect(delayMs).toBeLessThanOrEqual(limits.parkedDelayMs); // ZT1
        t.pass(delayMs);
        waitMs += delayMs;
        if (!t.tries.putsOff(nameOf(1), one)) return waitMs;
        delayMs = Number(t.said()[0]?.split(" ")[2]);
      }
    });
    expect(waits.map((ms) => ms / 1_000)).toEqual([2, 4, 8, 16, 32, 64, 128, 240, 240]);
  });

  test("is tried at once by what was never delivered before, which puts off no later try", () => {
    const t = remembering();
    t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 7, 1)]);
    t.pass(1_000);
    expect(t.tries.putsOff(nameOf(1), t.delivered(nameOf(1), 8, 1))).toBe(false); // ZT2
    expect(t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 8, 1)])).toBe(1_000);
    expect(t.tries.putsOff(nameOf(1), t.delivered(nameOf(1), 7, 2))).toBe(true);
    t.pass(1_000);
    expect(t.tries.putsOff(nameOf(1), t.delivered(nameOf(1), 7, 3))).toBe(false);
  });

  test("is let through again once it is taken, and no other is", () => {
    const t = remembering();
    for (const n of [1, 2]) t.tries.failed(nameOf(n), [t.delivered(nameOf(n), n, 1)]);
    t.tries.taken(nameOf(1));
    expect(t.tries.putsOff(nameOf(1), t.delivered(nameOf(1), 1, 2))).toBe(false);
    expect(t.tries.putsOff(nameOf(2), t.delivered(nameOf(2), 2, 2))).toBe(true);
  });

  test("is called back with its partition, but for what is on its way already, which another may have", () => {
    const t = remembering();
    t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 1, 1, 3)]);
    t.tries.failed(nameOf(2), [t.delivered(nameOf(2), 2, 1, 4)]);
    t.tries.leave(3); // ZT3
    expect(t.said()).toEqual(["forgotten s-1", "recall 1"]);
    expect(t.tries.putsOff(nameOf(1), t.delivered(nameOf(1), 1, 2))).toBe(false);
    t.pass(limits.earlyInputDelayMs);
    t.tries.leave();
    expect(t.said()).toEqual(["forgotten s-2"]);
  });

  test("is called back when that changes for which it may stand, once", () => {
    const t = remembering();
    t.look();
    t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 1, 1)]);
    t.look();
    expect(t.said()).toEqual([]);
    t.mend();
    t.look(); // ZT3
    expect(t.said()).toEqual(["forgotten s-1", "recall 1"]);
    t.look();
    expect(t.said()).toEqual([]);
  });

  test("is left where it is while it is not known what may have changed", () => {
    const t = remembering();
    t.look();
    t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 1, 1)]);
    t.tries.hear(undefined);
    t.look();
    expect(t.said()).toEqual([]);
    const hosts = [{ host: "h", partitions: [], draining: false, since: 0, deployments: 0, serves: [] }];
    expect(outsideOf({ hosts: () => hosts, declared: () => undefined }, undefined)).toBeUndefined();
  });

  test("was had by this process, which lives, each time it was put off: it is no suspect", () => {
    const t = remembering();
    t.returns.took(t.delivered(nameOf(1), 7, 1));
    t.tries.failed(nameOf(1), [t.delivered(nameOf(1), 7, 1)]);
    for (let deliveries = 2; deliveries < 9; deliveries++) {
      t.pass(100);
      const one = t.delivered(nameOf(1), 7, deliveries);
      expect(t.returns.isReturn(one)).toBe(true);
      expect(t.tries.putsOff(nameOf(1), one)).toBe(true);
    }
  });

  test("is not remembered where too many are, and is then tried every half a minute, until there is room again", () => {
    const t = remembering();
    for (let n = 0; n < limits.parkedKnownMax; n++) t.tries.failed(nameOf(n), [t.delivered(nameOf(n), n, 1)]);
    const late = nameOf(limits.parkedKnownMax);
    const one = t.delivered(late, limits.parkedKnownMax, 2);
    expect(t.tries.failed(late, [one])).toBe(limits.parkedDelayMs); // ZT4
    expect(t.tries.putsOff(late, one)).toBe(false);
    t.pass(4 * limits.parkedDelayMs); // Of the others nothing came: they are with other hosts.
    t.tries.failed(late, [one]);
    expect(t.tries.putsOff(late, one)).toBe(true);
  });

  test("is never away for longer than half a minute, nor put off beyond its time, whatever comes", () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant("fail" as const), n: fc.nat(3), seq: fc.nat(5) }),
      fc.record({ kind: fc.constant("come" as const), n: fc.nat(3), seq: fc.nat(5), again: fc.boolean() }),
      fc.record({ kind: fc.constant("take" as const), n: fc.nat(3) }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 300_000 }) }),
      fc.constant({ kind: "leave" as const }),
      fc.constant({ kind: "mend" as const }),
    );
    fc.assert(
      fc.property(
        fc.array(act, { maxLength: 60 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (acts, draw) => {
          const t = remembering({ random: () => draw });
          let now = 0;
          /** By saga: when it stood first of a row, and the latest moment until which it may be put off. */
          const until = new Map<number, number>();
          for (const one of acts) {
            if (one.kind === "pass") now += one.ms;
            if (one.kind === "pass") t.pass(one.ms);
            if (one.kind === "take") t.tries.taken(nameOf(one.n));
            if (one.kind === "take") until.delete(one.n);
            if (one.kind === "mend") t.mend();
            if (one.kind === "mend") t.look();
            if (one.kind === "leave") t.tries.leave();
            if (one.kind === "leave" || one.kind === "mend") until.clear();
            if (one.kind === "fail") {
              const delayMs = t.tries.failed(nameOf(one.n), [t.delivered(nameOf(one.n), one.seq, 1)]);
              expect(delayMs).toBeGreaterThan(0);
              expect(delayMs).toBeLessThanOrEqual(limits.parkedDelayMs);
              if ((until.get(one.n) ?? 0) <= now + 50) until.set(one.n, now + limits.parkedTryMsMax);
            }
            if (one.kind !== "come") continue;
            const putOff = t.tries.putsOff(
              nameOf(one.n),
              t.delivered(nameOf(one.n), one.seq, one.again ? 2 : 1),
            );
            if (!one.again) expect(putOff).toBe(false);
            if (putOff) expect(now).toBeLessThan(until.get(one.n) ?? 0);
            for (const [word, , ms] of t.said().map((line) => line.split(" "))) {
              if (word === "nak") expect(Number(ms)).toBeGreaterThan(0);
              if (word === "nak") expect(Number(ms)).toBeLessThanOrEqual(limits.parkedDelayMs);
            }
          }
        },
      ),
    );
  });
});

const right = waitingFor(86_400_000);
const [appRight, appWrong] = [right, waitingFor(3_600_000)].map((one) => defineApp({ sagas: [one] }));

/** A mesh whose hosts tell what they tried. */
function openMesh() {
  const mesh = createMemoryMesh({ seed: 3, partitions: 8 });
  const client = createClient({ ...mesh.spawn("outside"), from: "test" }, async () => undefined);
  const tried: string[] = [];
  let requests = 0;
  const begin = async (name: string, app: App): Promise<{ host: Host; life: MemoryProcess }> => {
    const life = mesh.spawn(name);
    const { gate, ports, ...process } = life;
    const last: typeof ports.ledger.last = (saga) => {
      requests += 1;
      return ports.ledger.last(saga);
    };
    const options = {
      ...process,
      ...{ ports: { ...ports, ledger: { ...ports.ledger, last } }, log: silentLog },
      ...{ incarnation: gate.name, callbackBase: "sagamesh:" },
      observe: { ...silentObserver, parked: (saga: SagaId) => void tried.push(saga) },
    };
    return { host: await mesh.clock.until(startHost(options, app)), life };
  };
  return {
    ...{ mesh, client, tried, begin },
    requests: () => requests,
    pass: (ms: number) => mesh.clock.run({ until: mesh.clock.now() + ms }),
    turnsOf: (id: string) => mesh.server.ledger.after(parseSagaId(id), 0).length,
    /** So many sagas sleep, and a note for each waits for a host. */
    sleeping: async (count: number) => {
      const ids = Array.from({ length: count }, (_, n) => `z-${n}`);
      const first = await begin("right", appRight!);
      for (const id of ids) await mesh.clock.until(client.start(right, null, { id }));
      for (const id of ids) await mesh.clock.until(client.saga(right, id).signal("go", {}));
      await mesh.clock.run({ until: mesh.clock.now() + 5_000 });
      await mesh.clock.until(first.host.stop(1_000));
      first.life.gate.crash();
      for (const id of ids)
        await mesh.clock.until(mesh.spawn("person").ports.snapshots.drop(parseSagaId(id)));
      for (const id of ids) await mesh.clock.until(client.saga(right, id).signal("note", {}));
      return ids;
    },
  };
}

describe("hosts", () => {
  test("try a hundred sagas that stand nine times in ten minutes, and then every four", async () => {
    const t = openMesh();
    const ids = await t.sleeping(100);
    await t.begin("wrong", appWrong!);
    await t.pass(10 * minuteMs);
    const early = t.tried.length;
    expect(early / ids.length).toBeLessThanOrEqual(11);
    expect(early / ids.length).toBeGreaterThanOrEqual(8);
    const before = t.requests();
    await t.pass(20 * minuteMs);
    expect((t.tried.length - early) / ids.length).toBeLessThanOrEqual(7);
    expect((t.tried.length - early) / ids.length).toBeGreaterThanOrEqual(4);
    expect((t.requests() - before) / ids.length).toBeLessThan(30); // Some of each try, and none of what is put off.
    expect(t.mesh.server.open().inbox).toBe(100);
  });

  test("try a saga that stands at once where it is told something new", async () => {
    const t = openMesh();
    const [id = ""] = await t.sleeping(1);
    await t.begin("wrong", appWrong!);
    await t.pass(10 * minuteMs);
    const before = t.tried.length;
    await t.mesh.clock.until(t.client.saga(right, id).signal("note", {}));
    await t.pass(1_000);
    expect(t.tried.length).toBe(before + 1);
  });

  test.each(["drained", "killed"])(
    "that follow one that is %s try at once what it had put off",
    async (end) => {
      const t = openMesh();
      const ids = await t.sleeping(40);
      const { host, life } = await t.begin("wrong", appWrong!);
      await t.pass(10 * minuteMs);
      const next = await t.begin("right", appRight!);
      if (end === "drained") await t.mesh.clock.until(host.stop(1_000));
      life.gate.crash();
      // A killed one is looked at by the other, asked for twice, and buried; what it had put off goes back with the rest.
      await t.pass(end === "drained" ? 1_000 : 5_000);
      expect(next.host.partitions()).toHaveLength(8);
      expect(ids.filter((id) => t.turnsOf(id) < 3)).toEqual([]);
      expect(t.mesh.server.open().inbox).toBe(0);
    },
  );

  test("that take a part of another's partitions try at once what stood there", async () => {
    const t = openMesh();
    const ids = await t.sleeping(40);
    await t.begin("wrong", appWrong!);
    await t.pass(10 * minuteMs);
    await t.begin("right", appRight!);
    await t.pass(5_000);
    const mended = ids.filter((id) => t.turnsOf(id) === 3).length;
    expect(mended).toBeGreaterThan(5);
    expect(mended).toBeLessThan(35);
  });

  test("offer what waits for a definition as soon as a host serves it, and till then as seldom", async () => {
    const t = openMesh();
    const ids = await t.sleeping(20);
    const other = defineSaga({
      ...{ name: "other", version: 1, input: z.null(), output: z.any() },
      machine: createMachine({ id: "other" }),
    });
    const lacking = await t.begin("lacking", defineApp({ sagas: [other] }));
    await t.pass(10 * minuteMs);
    const before = t.requests();
    await t.pass(10 * minuteMs);
    expect((t.requests() - before) / ids.length).toBeLessThan(20);
    expect(lacking.host.waiting().flatMap(({ sagas }) => sagas)).toHaveLength(20);
    await t.begin("right", appRight!);
    await t.pass(4_000);
    expect(ids.filter((id) => t.turnsOf(id) < 3)).toEqual([]);
    expect(lacking.host.waiting()).toEqual([]);
  });

  test("try a saga whose intent cannot be performed here as seldom, say why it stands, and go on with it once it can", async () => {
    let isThere = false;
    const paid = defineTool({
      ...{ name: "paid", description: "Pays.", effect: "once", placement: "host", onDoubt: "model" },
      ...{ compensation: "point_of_no_return", input: Of, output: z.object({}), perform: async () => ({}) },
    });
    const paying = calling(paid);
    const mesh = createMemoryMesh({ seed: 4 });
    const { gate, ports, ...process } = mesh.spawn("host");
    const asked: number[] = [];
    const create: typeof ports.claims.create = (...claim) => {
      asked.push(mesh.clock.now());
      return isThere ? ports.claims.create(...claim) : Promise.reject(new Error("no claims here"));
    };
    const own = { ...process, incarnation: gate.name, log: silentLog, callbackBase: "sagamesh:" };
    const given = { ...own, ports: { ...ports, claims: { ...ports.claims, create } } };
    await mesh.clock.until(startHost(given, defineApp({ sagas: [paying] })));
    const client = createClient({ ...mesh.spawn("person"), from: "test" }, async () => undefined);
    await mesh.clock.until(client.start(paying, { of: "x" }, { id: "p-1" }));
    await mesh.clock.advance(10 * minuteMs);
    expect(asked.length).toBeGreaterThanOrEqual(8);
    expect(asked.length).toBeLessThanOrEqual(11);
    expect(asked.at(-1)! - asked.at(-2)!).toBeGreaterThan(minuteMs);
    const [row] = await mesh.clock.until(client.list());
    expect(row).toMatchObject({ status: "running", parked: { code: "INTERNAL", reason: "no claims here" } });
    isThere = true;
    await mesh.clock.advance(limits.parkedTryMsMax + limits.parkedDelayMs);
    expect((await mesh.clock.until(client.list()))[0]).toMatchObject({ status: "completed" });
    expect(mesh.server.open().inbox).toBe(0);
  });
});
