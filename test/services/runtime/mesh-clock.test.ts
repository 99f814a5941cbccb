/**
 * Goal: the server's time, whatever the machine's clocks do; and time that has elapsed, which nothing sets back.
 *
 * Method: a machine and a server of numbers. Timers are vitest's, for the clock looks again every second.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import { openMeshClock } from "../../../services/runtime/mesh-clock.ts";
import { elapsedBy } from "../../../services/runtime/system.ts";

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);

function world(off: { machine?: number; server?: number } = {}) {
  const true_ = { at: 0, asleep: 0 };
  let [machine, server] = [off.machine ?? 0, off.server ?? 0];
  const lines: string[] = [];
  const serverTime = () => start + true_.at + server;
  return {
    lines,
    serverTime,
    machine: { ofDay: () => start + true_.at + machine, awake: () => 5_000 + true_.at - true_.asleep },
    report: (line: string) => void lines.push(line),
    setMachine: (by: number) => void (machine += by),
    setServer: (by: number) => void (server += by),
    sleep: (ms: number) => {
      true_.at += ms;
      true_.asleep += ms;
    },
    live: async (ms: number) => {
      for (let k = 0; k < ms; k += 500) {
        true_.at += 500;
        await vi.advanceTimersByTimeAsync(500);
      }
    },
    pass: (ms: number) => void (true_.at += ms),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the time of a mesh", () => {
  test.each([10 * 60_000, -10 * 60_000, 0])("is the server's on a machine that is %d ms off", async (off) => {
    const at = world({ machine: off });
    const { clock, stop } = await openMeshClock(async () => at.serverTime(), at);
    await at.live(90_000);
    expect(clock.now()).toBe(at.serverTime());
    expect(at.lines.length).toBe(off === 0 ? 0 : 1);
    stop();
  });

  test.each([hour, -hour])(
    "stays the server's when the machine's clock is set by %d ms (ME1)",
    async (by) => {
      const at = world();
      const { clock, stop } = await openMeshClock(async () => at.serverTime(), at);
      at.setMachine(by);
      expect(clock.now()).toBe(at.serverTime());
      await at.live(2_000);
      expect(clock.now()).toBe(at.serverTime());
      expect(at.lines.join()).toMatch(/this machine's clock is 3600\.0 s/);
      at.setMachine(-by);
      await at.live(2_000);
      expect(at.lines.at(-1)).toMatch(/agrees .* again/);
      stop();
    },
  );

  test("is the server's again within a second or two of a sleep, and nothing is said of it (ME3)", async () => {
    const at = world();
    const { clock, stop } = await openMeshClock(async () => at.serverTime(), at);
    at.sleep(hour);
    await at.live(2_000);
    expect(clock.now()).toBe(at.serverTime());
    expect(at.lines).toEqual([]);
    stop();
  });

  test.each([hour, -hour])("follows a server that is set by %d ms, and says so", async (by) => {
    const at = world();
    const { clock, stop } = await openMeshClock(async () => at.serverTime(), at);
    at.setServer(by);
    await at.live(31_000);
    expect(clock.now()).toBe(at.serverTime());
    expect(at.lines[0]).toMatch(/the NATS server's clock was set 3600\.0 s/);
    stop();
  });

  test("is the machine's until a silent server is heard, which is asked again", async () => {
    const at = world({ machine: hour });
    let isSilent = true;
    const serverNow = async () => {
      if (isSilent) throw new MeshError("UNAVAILABLE", "no answer");
      return at.serverTime();
    };
    const { clock, stop } = await openMeshClock(serverNow, at);
    expect(clock.now()).toBe(at.machine.ofDay());
    isSilent = false;
    await at.live(2_000);
    expect(clock.now()).toBe(at.serverTime());
    stop();
  });

  test("is known to half of what an answer took, and a slower answer makes it no worse (ME2)", async () => {
    const at = world({ machine: hour });
    let tookMs = 40;
    const serverNow = async () => {
      const said = at.serverTime(); // All of the way is the way back.
      at.pass(tookMs);
      return said;
    };
    const { clock, stop } = await openMeshClock(serverNow, at);
    const offBy = () => Math.abs(clock.now() - at.serverTime());
    expect(offBy()).toBeLessThanOrEqual(20);
    tookMs = 900;
    await at.live(120_000);
    expect(offBy()).toBeLessThanOrEqual(20);
    stop();
  });
});

describe("what has elapsed", () => {
  /** What may happen to a machine between two questions. */
  const happening = fc.record({
    lives: fc.nat(5_000),
    sleeps: fc.oneof(fc.constant(0), fc.integer({ min: 1_000, max: hour })),
    isSetBy: fc.oneof(fc.constant(0), fc.integer({ min: -hour, max: hour })),
  });

  test("never goes back and is never less than what passed awake, whatever the machine's clocks do", () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), (all) => {
        const at = world();
        const elapsed = elapsedBy(at.machine);
        for (const { lives, sleeps, isSetBy } of all) {
          const before = elapsed();
          at.pass(lives);
          at.sleep(sleeps);
          at.setMachine(isSetBy);
          const passed = elapsed() - before;
          expect(passed).toBeGreaterThanOrEqual(lives);
          if (isSetBy === 0) expect(passed).toBeGreaterThanOrEqual(lives + sleeps);
        }
      }),
    );
  });
});
