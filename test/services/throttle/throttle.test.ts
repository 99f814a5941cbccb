/**
 * Goal: what may be used only so fast is not used faster, by however many processes, and nobody waits for ever.
 * Method: the arithmetic by properties; processes of a memory mesh in virtual time, some of which die, lose
 * answers or stand still.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Throttled, ThrottleLimits, ThrottleState } from "../../../protocol/throttle.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh, type MemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { admit, openThrottle, permitLeaseMs } from "../../../services/throttle/admit.ts";
import { pause, resume } from "../../../services/throttle/pause.ts";
import { createThrottle, type Throttle } from "../../../services/throttle/throttle.ts";

const model: Throttled = { kind: "model", name: "fast" };

describe("the arithmetic", () => {
  interface Exchange {
    readonly who: number;
    readonly wanted: number;
    readonly ends: number;
    readonly afterMs: number;
  }
  const exchanges = fc.array(
    fc.record<Exchange>({
      who: fc.nat(3),
      wanted: fc.nat(6),
      ends: fc.nat(6),
      afterMs: fc.oneof(fc.nat(400), fc.constant(permitLeaseMs + 1)),
    }),
    { maxLength: 60 },
  );

  /** Plays exchanges of four processes that always renew in time, and tells each start. */
  const play = (limits: ThrottleLimits, steps: readonly Exchange[]) => {
    let state: ThrottleState = openThrottle;
    let now = 1_000_000;
    const holds = [0, 0, 0, 0];
    const starts: number[] = [];
    let most = 0;
    for (const { who, wanted, ends, afterMs } of steps) {
      now += Math.min(afterMs, permitLeaseMs / 2);
      holds[who] = Math.max(0, holds[who]! - ends);
      for (const other of [0, 1, 2, 3])
        if (other !== who)
          state = admit(state, limits, { who: `p${other}`, wanted: 0, holds: holds[other]!, now }).state;
      const admitted = admit(state, limits, { who: `p${who}`, wanted, holds: holds[who], now });
      state = admitted.state;
      holds[who] += admitted.startAt.length;
      starts.push(...admitted.startAt);
      most = Math.max(
        most,
        holds.reduce((sum, count) => sum + count, 0),
      );
      expect(admitted.startAt.length === wanted).toBe(admitted.waitMs === undefined);
    }
    return { starts, most };
  };

  test("no more hold a permit at once than the bound, in any order of asking and ending", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), exchanges, (atOnce, steps) => {
        expect(play({ atOnce }, steps).most).toBeLessThanOrEqual(atOnce);
      }),
    );
  });

  test("in no second do more begin than the rate says, whoever asks", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), exchanges, (perSecond, steps) => {
        const { starts } = play({ perSecond }, steps);
        for (const from of starts)
          expect(starts.filter((at) => at >= from && at < from + 999).length).toBeLessThanOrEqual(perSecond);
      }),
    );
  });

  test("who found nothing free is before the one who ends and comes back", () => {
    const ask = (state: ThrottleState, who: string, holds: number) =>
      admit(state, { atOnce: 1 }, { who, wanted: 1, holds, now: 1_000 });
    const first = ask(openThrottle, "a", 0);
    const second = ask(first.state, "b", 0);
    expect([first.startAt.length, second.startAt.length]).toEqual([1, 0]);
    const back = ask(second.state, "a", 0); // Its permit has ended, and it wants another.
    expect(back.startAt).toHaveLength(0);
    expect(ask(back.state, "b", 0).startAt).toHaveLength(1);
  });

  test("a permit of a process that says nothing any more is free after its lease", () => {
    const taken = admit(openThrottle, { atOnce: 1 }, { who: "a", wanted: 1, holds: 0, now: 0 });
    const at = (now: number) => admit(taken.state, { atOnce: 1 }, { who: "b", wanted: 1, holds: 0, now });
    expect(at(permitLeaseMs - 1).startAt).toHaveLength(0);
    expect(at(permitLeaseMs).startAt).toHaveLength(1);
  });
});

/** Processes that each do the same thing again and again under one throttle, and an account of when. */
function crowd(mesh: MemoryMesh, limits: ThrottleLimits, options: { tookMs: number; rounds: number }) {
  const starts: { readonly at: number; readonly by: string }[] = [];
  let running = 0;
  let most = 0;
  const join = (process: MemoryProcess) => {
    const throttle = throttleOf(process);
    const one = async () => {
      for (let round = 0; round < options.rounds; round++) {
        const end = await throttle.enter(model, limits, new AbortController().signal);
        starts.push({ at: mesh.clock.now(), by: process.gate.name });
        most = Math.max(most, ++running);
        await process.clock.sleep(options.tookMs);
        running -= 1;
        end();
      }
    };
    return Promise.all([one(), one(), one()]);
  };
  return { join, starts, most: () => most, left: (count: number) => (running -= count) };
}

const throttleOf = ({ ports, clock, chance, gate }: MemoryProcess): Throttle =>
  createThrottle({ ports, clock, chance, incarnation: gate.name, log: silentLog });

describe("processes of one mesh", () => {
  test("together keep to what may run at once, and all of them get their turn", async () => {
    const mesh = createMemoryMesh({ seed: 3 });
    const { join, starts, most } = crowd(mesh, { atOnce: 2 }, { tookMs: 300, rounds: 4 });
    await mesh.clock.until(Promise.all(["a", "b", "c"].map((name) => join(mesh.spawn(name)))));
    expect(starts).toHaveLength(36);
    expect(most()).toBe(2);
    const first = starts.slice(0, 12).map(({ by }) => by);
    expect(new Set(first).size).toBe(3);
  });

  test("together keep to the rate, although their clocks differ", async () => {
    const mesh = createMemoryMesh({ seed: 4 });
    const { join, starts } = crowd(mesh, { perSecond: 5 }, { tookMs: 10, rounds: 5 });
    const all = [0, 30_000, -30_000].map((skewMs, i) => join(mesh.spawn(`p${i}`, { skewMs })));
    await mesh.clock.until(Promise.all(all));
    expect(starts).toHaveLength(45);
    const times = starts.map(({ at }) => at).sort((a, b) => a - b);
    // A start is made known a few milliseconds after its time, so a second is looked at with that much to spare.
    for (const from of times)
      expect(times.filter((at) => at >= from && at < from + 950).length).toBeLessThanOrEqual(5);
    expect(times.at(-1)! - times[0]!).toBeLessThan(15_000);
  });

  test("keep to the bound while calls and answers are lost, and all come through", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const faults = { lostRequest: 0.05, lostAnswer: 0.1, delayed: 0.05 };
      const mesh = createMemoryMesh({ seed, faults, replicas: 3 });
      const { join, starts, most } = crowd(mesh, { atOnce: 2, perSecond: 50 }, { tookMs: 40, rounds: 3 });
      await mesh.clock.until(Promise.all(["a", "b"].map((name) => join(mesh.spawn(name)))));
      expect([seed, starts.length, most() <= 2]).toEqual([seed, 18, true]);
    }
  });

  test("have the permits of one that dies again after their lease", async () => {
    const mesh = createMemoryMesh({ seed: 5 });
    const dying = mesh.spawn("dying");
    const held = await mesh.clock.until(
      throttleOf(dying).enter(model, { atOnce: 1 }, new AbortController().signal),
    );
    expect(held).toBeTypeOf("function");
    dying.gate.crash();
    const diedAt = mesh.clock.now();
    await mesh.clock.until(
      throttleOf(mesh.spawn("next")).enter(model, { atOnce: 1 }, new AbortController().signal),
    );
    expect(mesh.clock.now() - diedAt).toBeGreaterThan(permitLeaseMs - 1_000);
    expect(mesh.clock.now() - diedAt).toBeLessThan(permitLeaseMs + 3_000);
  });

  test("hold a permit for as long as it takes, far beyond its lease", async () => {
    const mesh = createMemoryMesh({ seed: 6 });
    const { join, most, starts } = crowd(mesh, { atOnce: 1 }, { tookMs: 4 * permitLeaseMs, rounds: 1 });
    await mesh.clock.until(Promise.all([join(mesh.spawn("a")), join(mesh.spawn("b"))]));
    expect([starts.length, most()]).toEqual([6, 1]);
  });

  test("begin nothing while it is paused, bounded or not, and go on when it is resumed", async () => {
    for (const limits of [{}, { atOnce: 2 }]) {
      const mesh = createMemoryMesh({ seed: 7 });
      const operator = mesh.spawn("operator");
      const deps = { ...operator, from: "ops" };
      await mesh.clock.until(pause(deps, model, "the bill"));
      const { join, starts } = crowd(mesh, limits, { tookMs: 10, rounds: 1 });
      const joined = join(mesh.spawn("a"));
      await mesh.clock.advance(60_000);
      expect(starts).toHaveLength(0);
      await mesh.clock.until(resume(deps, model));
      await mesh.clock.until(joined);
      expect(starts).toHaveLength(3);
    }
  });

  test("all wait when one was told to by its provider", async () => {
    const mesh = createMemoryMesh({ seed: 8 });
    const [a, b] = [mesh.spawn("a"), mesh.spawn("b", { skewMs: 20_000 })];
    await mesh.clock.until(throttleOf(a).slow(model, 10_000));
    const slowedAt = mesh.clock.now();
    await mesh.clock.until(throttleOf(b).enter(model, {}, new AbortController().signal));
    expect(mesh.clock.now() - slowedAt).toBeGreaterThanOrEqual(9_900);
    expect(mesh.clock.now() - slowedAt).toBeLessThan(12_000);
  });

  test("know for how long it takes nothing, and the one that slowed it down knows at once", async () => {
    const mesh = createMemoryMesh({ seed: 11 });
    const [a, b] = [mesh.spawn("a"), mesh.spawn("b", { skewMs: 20_000 })];
    const [own, other] = [throttleOf(a), throttleOf(b)];
    const closedFor = (throttle: Throttle) => mesh.clock.until(throttle.closedFor(model));
    expect([await closedFor(own), await closedFor(other)]).toEqual([0, 0]);
    await mesh.clock.until(own.slow(model, 10_000));
    expect(await closedFor(own)).toBeGreaterThan(9_000);
    await mesh.clock.advance(2_000);
    expect(await closedFor(other)).toBeGreaterThan(7_000);
    expect(await closedFor(other)).toBeLessThan(8_500);
    await mesh.clock.advance(9_000);
    expect(await closedFor(other)).toBe(0);
    await mesh.clock.until(pause({ ...b, from: "ops" }, model));
    await mesh.clock.advance(2_000);
    expect(await closedFor(own)).toBe(Number.POSITIVE_INFINITY);
  });

  test("take it for open while the server does not answer: whoever enters waits for that", async () => {
    const mesh = createMemoryMesh({ seed: 12 });
    const process = mesh.spawn("a");
    const throttle = throttleOf(process);
    process.gate.cut(90_000);
    expect(await mesh.clock.until(throttle.closedFor(model))).toBe(0);
  });

  test("ask nothing more, once an unbounded one was let in after the server had been away", async () => {
    const mesh = createMemoryMesh({ seed: 10 });
    const process = mesh.spawn("a");
    const throttle = throttleOf(process);
    process.gate.cut(90_000);
    const entered = throttle.enter(model, {}, new AbortController().signal);
    await mesh.clock.advance(120_000);
    await mesh.clock.until(entered);
    let calls = 0;
    process.gate.onCall((_, __, when) => {
      if (when === "before") calls += 1;
    });
    await mesh.clock.advance(60_000);
    expect(calls).toBeLessThanOrEqual(1); // The one that was on its way.
  });

  test("take back a wait that is called off, and nobody's turn with it", async () => {
    const mesh = createMemoryMesh({ seed: 9 });
    const process = mesh.spawn("a");
    const throttle = throttleOf(process);
    const end = await mesh.clock.until(throttle.enter(model, { atOnce: 1 }, new AbortController().signal));
    const calledOff = new AbortController();
    const waiting = throttle.enter(model, { atOnce: 1 }, calledOff.signal);
    const next = throttle.enter(model, { atOnce: 1 }, new AbortController().signal);
    await mesh.clock.advance(1_000);
    calledOff.abort(new Error("superseded"));
    await expect(waiting).rejects.toThrow("superseded");
    end();
    expect(await mesh.clock.until(next)).toBeTypeOf("function");
  });
});
