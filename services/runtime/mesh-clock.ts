/**
 * Mesh clock: the server's time, kept by this process, so that hosts whose machines differ write the same times and a timer
 * is due when the server, which fires it, says so.
 *
 * ME1 Between two looks the time grows by the clock that nothing sets. The machine's time of day counts only until the server
 *     was heard once.
 * ME2 Half of how long an answer took is what cannot be known: a difference within that is none.
 * ME3 The server is asked anew now and then, and within a second where the machine's two clocks have come apart: it has
 *     slept, or was set.
 */
import type { Clock } from "../wire/ports.ts";
import { elapsedBy, type MachineTime, machineTime, systemClock } from "./system.ts";

/** Quartz drifts some 50 ms in as many minutes; a look is one small request of each process. */
const lookEveryMs = 30_000;
/** How often the machine's own clocks are compared, which asks nobody. */
const tickMs = 1_000;
/** Clocks further apart are told of. */
const toldMs = 2_000;
/** The machine's clocks come apart by so much only if it slept or was set. */
const apartMs = 500;

export interface MeshClockOptions {
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  /** The machine's unless given. */
  readonly machine?: MachineTime;
}

export interface MeshClock {
  readonly clock: Clock;
  /** Looks no more: the time goes on from where it was. */
  readonly stop: () => void;
}

/**
 * Opens the clock by the server's time (milliseconds since the epoch), which is asked for before this resolves. Never rejects:
 * a server that does not answer is asked again with every tick, and until then the machine's time of day holds.
 */
export async function openMeshClock(
  serverNow: () => Promise<number>,
  { report, machine = machineTime }: MeshClockOptions,
): Promise<MeshClock> {
  const { ofDay, awake } = machine;
  const apart = () => ofDay() - awake();
  let base = apart();
  let seen: { readonly apart: number; readonly at: number } | undefined;
  let toldOff = 0;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const askedAt = awake();
    const said = await serverNow();
    const at = awake();
    const took = at - askedAt;
    const next = said + took / 2 - at;
    if (Math.abs(next - base) > took / 2) set(next); // ME2
    seen = { apart: apart(), at };
    tell();
  }

  function set(next: number): void {
    const jump = next - base;
    const isOurs = seen === undefined || Math.abs(apart() - seen.apart) > apartMs;
    if (!isOurs && Math.abs(jump) > toldMs)
      report(
        `the NATS server's clock was set ${inSeconds(jump)} ${jump > 0 ? "ahead" : "back"}; times and timers follow it`,
      );
    base = next;
  }

  function tell(): void {
    const off = apart() - base;
    if (Math.abs(off - toldOff) <= toldMs) return;
    toldOff = Math.abs(off) > toldMs ? off : 0;
    report(
      toldOff === 0
        ? "this machine's clock agrees with the NATS server's again"
        : `this machine's clock is ${inSeconds(off)} ${off > 0 ? "ahead of" : "behind"} the NATS server's; times and timers follow the server's. Let both keep time by NTP.`,
    );
  }

  /** One at a time. A server that does not answer is asked again with the next tick. */
  const lookAgain = () =>
    (looking ??= look()
      .catch(() => undefined)
      .finally(() => (looking = undefined)));

  await lookAgain();
  const timer = setInterval(() => {
    const isDue =
      seen === undefined || awake() - seen.at >= lookEveryMs || Math.abs(apart() - seen.apart) > apartMs;
    if (isDue) void lookAgain(); // ME3
  }, tickMs);
  timer.unref();
  return {
    clock: { ...systemClock, now: () => Math.floor(awake() + base), elapsed: elapsedBy(machine) },
    stop: () => clearInterval(timer),
  };
}

const inSeconds = (ms: number): string => `${(Math.abs(ms) / 1_000).toFixed(1)} s`;
