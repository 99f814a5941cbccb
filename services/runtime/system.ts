/**
 * System: the machine's own clock and chance, and the name of this process's incarnation.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Chance, Clock } from "../wire/ports.ts";

/** Longest delay a timer of Node takes; longer ones fire at once. */
const timeoutMsMax = 2 ** 31 - 1;

/** The machine's two clocks, in milliseconds: the time of day, which may be set, and one that grows evenly while it is awake. */
export interface MachineTime {
  readonly ofDay: () => number;
  readonly awake: () => number;
}

export const machineTime: MachineTime = { ofDay: () => Date.now(), awake: () => performance.now() };

/** Less than this between the two is what a disciplined clock is slewed by. */
const jumpMs = 500;

/**
 * What has elapsed by these clocks. A time of day that jumps ahead of the other has seen the machine asleep, or was set: which
 * of the two cannot be known, so it counts as passed.
 */
export function elapsedBy({ ofDay, awake }: MachineTime): () => number {
  let apart = ofDay() - awake();
  let missed = 0;
  return () => {
    const [before, at] = [apart, awake()];
    apart = ofDay() - at;
    if (apart - before > jumpMs) missed += apart - before;
    return at + missed;
  };
}

/** For what knows no mesh. Whatever does goes by the mesh's clock (mesh-clock.ts). */
export const systemClock: Clock = {
  now: machineTime.ofDay,
  elapsed: elapsedBy(machineTime),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    }),
  after,
};

function after(ms: number, fire: () => void): () => void {
  let rest = ms;
  let timer: NodeJS.Timeout;
  const arm = () => {
    if (rest <= timeoutMsMax) return void (timer = setTimeout(fire, rest));
    rest -= timeoutMsMax;
    timer = setTimeout(arm, timeoutMsMax);
  };
  arm();
  return () => clearTimeout(timer);
}

export const systemChance: Chance = {
  random: () => Math.random(),
  nonce: () => randomBytes(9).toString("base64url"),
};

/** `<role's initial>-<machine>-<pid>-<nonce>`: short, because it stands in every turn; new at each start, so a restarted process is another one. */
export const newIncarnation = (role: string): string =>
  `${role.charAt(0)}-${hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 12)}-${process.pid}-${randomBytes(3).toString("hex")}`;

/** The process of an incarnation, on the machine that it names; undefined for what is none. */
export function pidOf(incarnation: string): number | undefined {
  const pid = /-(\d+)-[0-9a-f]{6}$/.exec(incarnation)?.[1];
  return pid === undefined ? undefined : Number(pid);
}
