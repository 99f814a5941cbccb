/**
 * Storage watch: what a host's process knows of what can still be stored, and how fast that goes.
 *
 * Owns: looking, the trend, and saying once when it becomes little. Does not own: what can be known (nats/capacity.ts), from where
 * on it is little (protocol/storage.ts), and what is refused then (nats/intake.ts).
 */
import {
  type Capacity,
  judgeStorageLeft,
  scarcest,
  type StorageLeft,
  storageText,
} from "../../protocol/storage.ts";
import { every, type Repetition } from "../process/every.ts";

/** Often enough for a flood of starts to end within the reserve. */
const lookEveryMs = 5_000;
/** One an hour old is forgotten; of less than five minutes no trend is told. */
const sampleEveryMs = 60_000;
const trendMsMin = 5 * 60_000;
const trendMsMax = 60 * 60_000;
const hourMs = 60 * 60_000;

export interface StorageWatch {
  /** Of all that is known, what is used up first. */
  left(this: void): StorageLeft | undefined;
  all(this: void): readonly StorageLeft[];
  stop(): Promise<void>;
}

/** Looks at once, and then until `stop`. `reserveBytes`: what is kept for what runs; undefined: the default. */
export function watchStorageLeft(
  given: Omit<Repetition, "signal"> & { readonly reserveBytes?: number | undefined },
  read: () => Promise<readonly Capacity[]>,
): StorageWatch {
  const { clock, log, reserveBytes } = given;
  const over = new AbortController();
  const trends = new Map<string, Sample[]>();
  let all: StorageLeft[] = [];
  let told: StorageLeft["level"] = "fine";

  const look = async (): Promise<void> => {
    const capacities = await read();
    const at = clock.elapsed();
    for (const of of trends.keys()) if (!capacities.some((one) => one.of === of)) trends.delete(of);
    all = capacities.map((one) => {
      const samples = sampled(trends.get(one.of) ?? [], { at, usedBytes: one.allBytes - one.leftBytes });
      trends.set(one.of, samples);
      return judgeStorageLeft(one, { bytesPerHour: rateOf(samples, at, one), reserveBytes });
    });
    const worst = scarcest(all);
    const level = worst?.level ?? "fine";
    if (level === told) return;
    told = level;
    const detail = worst && storageText(worst);
    if (level === "fine") log.info({ detail }, "enough is left to store in again");
    if (level === "low") log.warn({ detail, code: "STORAGE_LOW" }, "little is left to store in");
    if (level === "reserved")
      log.warn({ detail, code: "STORAGE_RESERVED" }, "what is left is kept for what runs");
  };

  const looking = every(
    { clock, log, signal: over.signal },
    lookEveryMs,
    "looking what is left to store in",
    look,
  );
  return {
    left: () => scarcest(all),
    all: () => all,
    stop: () => {
      over.abort();
      return looking;
    },
  };
}

interface Sample {
  readonly at: number;
  readonly usedBytes: number;
}

/** With this one, if the last is old enough. */
function sampled(samples: readonly Sample[], now: Sample): Sample[] {
  const last = samples.at(-1);
  if (last !== undefined && now.at - last.at < sampleEveryMs) return [...samples];
  return [...samples.filter(({ at }) => now.at - at <= trendMsMax), now];
}

function rateOf(
  [first]: readonly Sample[],
  at: number,
  { allBytes, leftBytes }: Capacity,
): number | undefined {
  if (first === undefined || at - first.at < trendMsMin) return undefined;
  return Math.round(((allBytes - leftBytes - first.usedBytes) / (at - first.at)) * hourMs);
}
