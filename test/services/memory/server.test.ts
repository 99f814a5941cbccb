/**
 * The memory mesh where it is more than the contract: virtual time, the ways in which one server and three
 * differ, what a process suffers, and that a seed decides it all.
 *
 * Method: each test has a mesh of its own; calls are awaited through the clock, so time passes only for them.
 */
import { describe, expect, test } from "vitest";
import type { SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { createVirtualClock } from "../../../services/memory/clock.ts";
import { calm, createWeather, rough, seededChance } from "../../../services/memory/faults.ts";
import { createMemoryMesh, type MemoryMeshOptions } from "../../../services/memory/mesh.ts";
import type { Delivery, Ports } from "../../../services/wire/ports.ts";
import { bytes, codeOf, intent, sagaId, text } from "../../contract/mesh-under-test.ts";

const saga = sagaId("hiring-1");
const turn = (msgId: string, expectedSeq: number) => ({
  data: bytes(msgId),
  headers: {},
  msgId,
  expectedSeq,
});
const start = { subject: "saga.hiring-1.start", data: bytes("{}"), headers: {}, msgId: "hiring-1:start" };

/** A mesh with one process, and calls that bring their own time. */
const oneProcess = (options: Partial<MemoryMeshOptions> = {}) => {
  const mesh = createMemoryMesh({ seed: 1, ...options });
  const process = mesh.spawn("host");
  const { ports } = process;
  const append = (msgId: string, expectedSeq: number) =>
    mesh.clock.until(ports.ledger.append(saga, turn(msgId, expectedSeq)));
  return { ...mesh, ...process, clock: mesh.clock, append };
};

/** Whether a promise is settled, without waiting for it. */
const watch = (work: Promise<unknown>) => {
  const state = { settled: false };
  const settle = () => (state.settled = true);
  work.then(settle, settle);
  return state;
};

const consumeAll = async (ports: Ports, take: (delivery: Delivery) => void) => {
  for (let partition = 0; partition < ports.inbox.partitions; partition++)
    await ports.inbox.consume(partition, { inFlightMax: 10, startsMax: () => 10 }, take);
};

describe("virtual clock", () => {
  test("everything an event sets off has run before the next event fires", async () => {
    const clock = createVirtualClock();
    const seen: string[] = [];
    const chain = async (name: string) => {
      for (let step = 0; step < 50; step++) await Promise.resolve();
      seen.push(name);
    };
    for (const name of ["first", "second"])
      clock.at(clock.now() + 10, () => {
        seen.push(`${name} fires`);
        void chain(name);
      });
    await clock.run();
    expect(seen).toEqual(["first fires", "first", "second fires", "second"]);
  });

  test("events fire in the order of their times, and of their making where these are equal", async () => {
    const clock = createVirtualClock(0);
    const fired: number[] = [];
    const chance = seededChance(7);
    const times = Array.from({ length: 300 }, () => chance.between(0, 40));
    times.forEach((dueAt, made) => void clock.at(dueAt, () => fired.push(made)));
    await clock.run();
    const expected = times
      .map((dueAt, made) => ({ dueAt, made }))
      .sort((a, b) => a.dueAt - b.dueAt || a.made - b.made);
    expect(fired).toEqual(expected.map(({ made }) => made));
  });

  test("a cancelled event does not fire and is no longer pending", async () => {
    const clock = createVirtualClock();
    const cancel = clock.at(clock.now() + 5, () => expect.unreachable());
    expect(clock.pending()).toBe(1);
    cancel();
    cancel();
    expect(clock.pending()).toBe(0);
    expect(await clock.run()).toBe("empty");
  });

  test("three days pass at once, and a sleeper wakes at its time", async () => {
    const clock = createVirtualClock(0);
    const days = 86_400_000;
    let wokeAt = 0;
    void clock.sleep(2 * days).then(() => (wokeAt = clock.now()));
    await clock.advance(3 * days);
    expect([wokeAt, clock.now()]).toEqual([2 * days, 3 * days]);
  });

  test("an aborted sleep rejects with the reason, and its event is gone", async () => {
    const clock = createVirtualClock();
    const controller = new AbortController();
    const sleep = clock.sleep(1_000, controller.signal);
    controller.abort(new Error("enough"));
    await expect(sleep).rejects.toThrow("enough");
    expect(clock.pending()).toBe(0);
  });

  test("waiting for what nothing can bring about is refused", async () => {
    const clock = createVirtualClock();
    expect(await codeOf(clock.until(new Promise(() => {})))).toBe("INTERNAL");
  });

  test("a loop that never waits is refused", async () => {
    const clock = createVirtualClock();
    const again = () => void clock.quietlyAt(clock.now(), again);
    again();
    expect(await codeOf(clock.run())).toBe("INTERNAL");
  });

  test("time stands still while real work is held", async () => {
    const clock = createVirtualClock(0);
    const seen: number[] = [];
    clock.at(
      10,
      () =>
        void clock.hold(new Promise((resolve) => setTimeout(resolve, 5))).then(() => seen.push(clock.now())),
    );
    clock.at(20, () => seen.push(clock.now()));
    await clock.run();
    expect(seen).toEqual([10, 20]);
  });
});

describe("an append that is sent again", () => {
  test("is refused by one server, which looks at the sequence first", async () => {
    const { append } = oneProcess({ replicas: 1 });
    await append("a", 0);
    expect(await codeOf(append("a", 0))).toBe("WRONG_SEQUENCE");
  });

  test("is a duplicate to three, which look at the Msg-Id first", async () => {
    const { append } = oneProcess({ replicas: 3 });
    const { seq } = await append("a", 0);
    expect(await append("a", 0)).toEqual({ seq, duplicate: true });
    expect(await append("a", 17)).toEqual({ seq, duplicate: true });
  });

  test("is refused by three once the window has passed", async () => {
    const { append, clock } = oneProcess({ replicas: 3 });
    await append("a", 0);
    await clock.advance(limits.duplicateWindowMs + 100);
    expect(await codeOf(append("a", 0))).toBe("WRONG_SEQUENCE");
  });

  test("meets itself in flight on three", async () => {
    const { ports, clock } = oneProcess({ replicas: 3, faults: { slowCommit: 1, until: 10_000 } });
    const both = ["a", "a"].map((msgId) => codeOf(ports.ledger.append(saga, turn(msgId, 0))));
    expect(await clock.until(Promise.all(both))).toEqual(["none", "DUPLICATE_IN_FLIGHT"]);
  });
});

describe("a server", () => {
  test("of three refuses a write that meets another on its subject, and takes one on another subject", async () => {
    const { ports, clock } = oneProcess({ replicas: 3, faults: { slowCommit: 1, until: 10_000 } });
    const rivals = [
      ports.ledger.append(saga, turn("a", 0)),
      ports.ledger.append(saga, turn("b", 0)),
      ports.ledger.append(sagaId("hiring-2"), turn("c", 0)),
    ];
    expect(await clock.until(Promise.all(rivals.map(codeOf)))).toEqual(["none", "WRITE_IN_FLIGHT", "none"]);
  });

  test("of three answers a read from a replica that lags, and its last turn never", async () => {
    const { ports, append, clock } = oneProcess({ replicas: 3, faults: { staleRead: 1, until: 100_000 } });
    const seqs: number[] = [];
    for (const msgId of ["a", "b", "c", "d"]) seqs.push((await append(msgId, seqs.at(-1) ?? 0)).seq);
    const turns = await clock.until(ports.ledger.read(saga, 0, seqs[3]!));
    expect(turns.length).toBeLessThan(4);
    expect(turns.map(({ seq }) => seq)).toEqual(seqs.slice(0, turns.length));
    expect((await clock.until(ports.ledger.last(saga)))?.seq).toBe(seqs[3]);
  });

  test("that is full stores nothing and says so", async () => {
    const { ports, server, append, clock } = oneProcess();
    server.setFull(true);
    expect(await codeOf(append("a", 0))).toBe("STORAGE_FULL");
    expect(await codeOf(clock.until(ports.inbox.publish(start)))).toBe("STORAGE_FULL");
    expect(await codeOf(clock.until(ports.snapshots.put(saga, bytes("x"))))).toBe("STORAGE_FULL");
    server.setFull(false);
    expect(await codeOf(append("a", 0))).toBe("none");
  });

  test("takes the ack of a holder whose lease has run out, whoever has the input now", async () => {
    const { ports, server, clock } = oneProcess();
    const got: Delivery[] = [];
    await clock.until(ports.inbox.publish(start));
    await clock.until(consumeAll(ports, (delivery) => got.push(delivery)));
    await clock.advance(limits.inboxAckWaitMs + 100);
    expect(got.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
    await clock.until(got[0]!.ack());
    expect(server.open().inbox).toBe(0);
    await clock.advance(2 * limits.inboxAckWaitMs);
    expect(got).toHaveLength(2);
  });

  test("delivers once more what was given back twice", async () => {
    const { ports, clock } = oneProcess();
    const got: Delivery[] = [];
    await clock.until(ports.inbox.publish(start));
    await clock.until(consumeAll(ports, (delivery) => got.push(delivery)));
    await clock.advance(100);
    await clock.until(Promise.all([got[0]!.nak(), got[0]!.nak()]));
    await clock.advance(100);
    expect(got.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
  });

  test("keeps what it was given when the giver uses its buffer again", async () => {
    const { ports, clock } = oneProcess();
    const data = Buffer.from("before");
    const appended = ports.ledger.append(saga, { ...turn("a", 0), data });
    data.write("after!");
    await clock.until(appended);
    expect(text((await clock.until(ports.ledger.last(saga)))!.data)).toBe("before");
  });

  test("counts what is not done", async () => {
    const { ports, server, clock } = oneProcess();
    await clock.until(ports.inbox.publish(start));
    await clock.until(
      ports.work.publish({ name: "search", contract: "c1" }, { data: bytes(""), headers: {}, msgId: "w" }),
    );
    await clock.until(
      ports.inbox.schedule({ saga, intent: intent("1-0"), dueAt: clock.now() + 60_000, headers: {} }),
    );
    expect(server.open()).toEqual({ inbox: 1, work: 1, timers: 1 });
  });
});

describe("a crashed process", () => {
  test("hears of nothing: no call settles, no sleep ends, no abort reaches it", async () => {
    const { ports, gate, clock } = oneProcess();
    const controller = new AbortController();
    const waits = [
      watch(ports.ledger.append(saga, turn("a", 0))),
      watch(gate.clock.sleep(10)),
      watch(gate.clock.sleep(60_000, controller.signal)),
    ];
    gate.crash();
    waits.push(watch(ports.ledger.last(saga)), watch(gate.clock.sleep(1)));
    controller.abort();
    await clock.advance(100_000);
    expect(waits.filter(({ settled }) => settled)).toEqual([]);
    expect(gate.openCalls()).toBe(0);
  });

  test("keeps no lease by working, and its input comes to another", async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    const [first, second] = [mesh.spawn("a"), mesh.spawn("b")];
    const got: string[] = [];
    await mesh.clock.until(first.ports.inbox.publish(start));
    // The mesh's own clock beats on after the crash, as nothing in the process could.
    const beat = async (delivery: Delivery) => {
      got.push("a");
      while (got.length === 1) {
        await mesh.clock.sleep(limits.inboxHeartbeatMs);
        delivery.working();
      }
    };
    await mesh.clock.until(consumeAll(first.ports, (delivery) => void beat(delivery)));
    await mesh.clock.until(consumeAll(second.ports, () => got.push("b")));
    await mesh.clock.advance(5 * limits.inboxAckWaitMs);
    expect(got).toEqual(["a"]);
    first.gate.crash();
    await mesh.clock.advance(limits.inboxAckWaitMs + 100);
    expect(got).toEqual(["a", "b"]);
  });

  for (const [when, stored] of [
    ["before", 1],
    ["after", 2],
  ] as const)
    test(`that dies ${when} its second append leaves ${stored} turns behind`, async () => {
      const mesh = createMemoryMesh({ seed: 1 });
      const victim = mesh.spawn("victim");
      let appends = 0;
      victim.gate.onCall((port, method, at) => {
        if (port === "ledger" && method === "append" && at === when && ++appends === 2) victim.gate.crash();
      });
      let known = 0;
      const write = async () => {
        for (let seq = 0; ; known++)
          ({ seq } = await victim.ports.ledger.append(saga, turn(`t${known}`, seq)));
      };
      void write();
      await mesh.clock.run();
      expect(known).toBe(1);
      expect(mesh.server.ledger.list()).toEqual([{ saga, turns: stored }]);
    });

  test("has a successor with other nonces", () => {
    const mesh = createMemoryMesh({ seed: 1 });
    expect(mesh.spawn("host").chance.nonce()).not.toBe(mesh.spawn("host").chance.nonce());
  });
});

describe("a paused process", () => {
  test("gets its answers and ends its sleeps when it goes on", async () => {
    const { ports, gate, server, ...own } = oneProcess();
    const mesh = own.clock;
    const call = watch(ports.ledger.append(saga, turn("a", 0)));
    gate.pause();
    const sleep = watch(gate.clock.sleep(50));
    const late = watch(ports.ledger.last(saga));
    await mesh.advance(10_000);
    expect(server.ledger.list()).toHaveLength(1);
    expect([call.settled, sleep.settled, late.settled]).toEqual([false, false, false]);
    gate.resume();
    await mesh.advance(10);
    expect([call.settled, sleep.settled, late.settled]).toEqual([true, true, true]);
  });

  test("does not fire what it takes back at once when it goes on", async () => {
    const { gate, clock } = oneProcess();
    gate.clock.after(50, () => takeBack());
    const takeBack = gate.clock.after(60, () => expect.unreachable());
    gate.pause();
    await clock.advance(10_000);
    gate.resume();
    await clock.advance(10);
  });

  test("takes an input whose lease ran out meanwhile, after another has taken it", async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    const [first, second] = [mesh.spawn("a"), mesh.spawn("b")];
    const got: string[] = [];
    await mesh.clock.until(consumeAll(first.ports, ({ deliveries }) => got.push(`a ${deliveries}`)));
    first.gate.pause();
    await mesh.clock.until(second.ports.inbox.publish(start));
    await mesh.clock.until(consumeAll(second.ports, ({ deliveries }) => got.push(`b ${deliveries}`)));
    while (got.length === 0) await mesh.clock.advance(limits.inboxAckWaitMs);
    first.gate.resume();
    await mesh.clock.advance(10);
    expect(got[0]).toMatch(/^b [2-9]/);
    expect(got).toContain("a 1");
  });
});

describe("a process that is cut off", () => {
  test("gets UNAVAILABLE and changes nothing, until the cut is over", async () => {
    const { gate, server, append, clock } = oneProcess();
    gate.cut(20_000);
    expect(await codeOf(append("a", 0))).toBe("UNAVAILABLE");
    expect(server.ledger.list()).toEqual([]);
    await clock.advance(20_000);
    expect(await codeOf(append("a", 0))).toBe("none");
  });

  test("loses its leases, and is delivered to again afterwards", async () => {
    const { ports, gate, clock } = oneProcess();
    const got: number[] = [];
    await clock.until(ports.inbox.publish(start));
    await clock.until(consumeAll(ports, ({ deliveries }) => got.push(deliveries)));
    await clock.advance(100);
    gate.cut(2 * limits.inboxAckWaitMs);
    await clock.advance(2 * limits.inboxAckWaitMs - 1);
    expect(got).toEqual([1]);
    await clock.advance(100);
    expect(got).toEqual([1, 2]);
  });

  test("loses what was on its way to it", async () => {
    const { gate, clock } = oneProcess();
    let reached = 0;
    gate.reach(() => reached++);
    gate.cut(50);
    await clock.advance(100);
    expect(reached).toBe(0);
    gate.reach(() => reached++);
    await clock.advance(100);
    expect(reached).toBe(1);
  });

  test("sees nothing of a ledger it begins to follow, until the cut is over", async () => {
    const { ports, gate, append, clock } = oneProcess();
    await append("a", 0);
    gate.cut(100);
    const seen: number[] = [];
    const read = async () => {
      for await (const { seq } of ports.ledger.follow({ signal: new AbortController().signal }))
        seen.push(seq);
    };
    void read();
    await clock.advance(99);
    expect(seen).toEqual([]);
    await clock.advance(10);
    expect(seen).toEqual([1]);
  });

  test("follows on from where it was, and misses no turn", async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    const [reader, writer] = [mesh.spawn("reader"), mesh.spawn("writer")];
    const controller = new AbortController();
    const seen: number[] = [];
    const read = async () => {
      for await (const { seq } of reader.ports.ledger.follow({ saga, signal: controller.signal }))
        seen.push(seq);
    };
    const reading = read();
    let seq = 0;
    for (const msgId of ["a", "b", "c", "d"]) {
      if (msgId === "b") reader.gate.cut(100);
      ({ seq } = await mesh.clock.until(writer.ports.ledger.append(saga, turn(msgId, seq))));
    }
    expect(seen.length).toBeLessThan(4);
    await mesh.clock.advance(200);
    expect(seen).toEqual([1, 2, 3, 4]);
    controller.abort();
    await reading;
  });
});

describe("a fault", () => {
  const faulty = (fault: string) => oneProcess({ faults: { [fault]: 1, until: 60_000 } });
  const turns = (list: readonly { saga: SagaId; turns: number }[]) =>
    list.reduce((sum, entry) => sum + entry.turns, 0);

  for (const [fault, atOnce, later] of [
    ["lostRequest", 0, 0],
    ["lostAnswer", 1, 1],
    ["delayed", 0, 1],
  ] as const)
    test(`${fault}: a call answers UNAVAILABLE, with ${atOnce} turns stored then and ${later} later`, async () => {
      const { append, server, clock } = faulty(fault);
      expect(await codeOf(append("a", 0))).toBe("UNAVAILABLE");
      expect(turns(server.ledger.list())).toBe(atOnce);
      await clock.advance(10_000);
      expect(turns(server.ledger.list())).toBe(later);
    });

  test("duplicated: a publish with a Msg-Id is stored once, and one without never arrives twice", async () => {
    const { ports, server, clock } = faulty("duplicated");
    await clock.until(ports.inbox.publish(start));
    await clock.until(ports.inbox.publish({ ...start, msgId: undefined }));
    await clock.advance(1_000);
    expect(server.open().inbox).toBe(2);
  });

  test("lostDelivery: an input is leased to nobody, and comes once the weather is calm", async () => {
    const { ports, clock } = oneProcess({ faults: { lostDelivery: 1, until: 10_000 } });
    const got: number[] = [];
    await clock.until(ports.inbox.publish(start));
    await clock.until(consumeAll(ports, ({ deliveries }) => got.push(deliveries)));
    await clock.advance(9_000);
    expect(got).toEqual([]);
    await clock.advance(5_000);
    expect(got[0]).toBeGreaterThan(2);
  });

  test("none comes after the plan's end", async () => {
    const clock = createVirtualClock();
    const weather = createWeather(clock, seededChance(1), {
      ...rough,
      lostRequest: 1,
      cutRate: 1,
      until: 500,
    });
    expect([weather.fate(), weather.happens("cutRate")]).toEqual(["lostRequest", true]);
    await clock.advance(500);
    expect([weather.fate(), weather.happens("cutRate")]).toEqual(["served", false]);
  });
});

describe("a seed", () => {
  /** Three processes that take inputs, append and ack, saying again what was not answered. */
  const runOf = async (seed: number): Promise<string[]> => {
    const lines: string[] = [];
    const trace = (at: number, process: string, what: string) => void lines.push(`${at} ${process} ${what}`);
    const mesh = createMemoryMesh({ seed, replicas: 3, faults: { ...rough, until: 5_000 }, trace });
    for (const name of ["a", "b", "c"]) {
      const { ports, clock, chance } = mesh.spawn(name);
      const patiently = async <T>(call: () => Promise<T>): Promise<T> => {
        for (;;)
          try {
            return await call();
          } catch {
            await clock.sleep(1 + Math.floor(chance.random() * 5));
          }
      };
      const take = async (delivery: Delivery) => {
        const last = await patiently(() => ports.ledger.last(saga));
        await ports.ledger.append(saga, turn(chance.nonce(), last?.seq ?? 0)).catch(() => {});
        await patiently(() => delivery.ack());
      };
      const live = async () => {
        for (let partition = 0; partition < ports.inbox.partitions; partition++)
          await patiently(() =>
            ports.inbox.consume(
              partition,
              { inFlightMax: 3, startsMax: () => 3 },
              (delivery) => void take(delivery),
            ),
          );
        for (let n = 0; n < 10; n++)
          await patiently(() =>
            ports.inbox.publish({ ...start, subject: `saga.s${n}.start`, msgId: `${name}${n}` }),
          );
      };
      void live();
    }
    await mesh.clock.advance(60_000);
    lines.push(
      JSON.stringify(mesh.server.open()),
      ...mesh.server.ledger.after(saga, 0).map(({ data }) => text(data)),
    );
    return lines;
  };

  test("decides everything: the same seed is the same run", async () => {
    const run = await runOf(11);
    expect(run.length).toBeGreaterThan(100);
    expect(await runOf(11)).toEqual(run);
  });

  test("of another number is another run", async () => {
    expect(await runOf(12)).not.toEqual(await runOf(11));
  });

  test("gives nonces that do not repeat, in one process or between two", () => {
    const chance = seededChance(3);
    const nonces = ["a", "b"].flatMap((label) => {
      const own = chance.fork(label);
      return Array.from({ length: 20_000 }, () => own.nonce());
    });
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  test("gives chances as likely as they are said to be", () => {
    for (let seed = 0; seed < 20; seed++) {
      const chance = seededChance(seed);
      const hits = Array.from({ length: 5_000 }, () => chance.happens(0.1)).filter(Boolean).length;
      expect(hits).toBeGreaterThan(400);
      expect(hits).toBeLessThan(600);
    }
  });

  test("under a calm plan loses nothing", () => {
    const weather = createWeather(createVirtualClock(), seededChance(1), calm);
    for (let n = 0; n < 1_000; n++) expect(weather.fate()).toBe("served");
  });
});
