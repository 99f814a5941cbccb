/**
 * Sleeping: what sagas that wait cost, the host and the server.
 *
 * Method: so many sagas start on a host in a process of its own, each makes a few turns and waits for a signal.
 * The host's memory is taken before the first of them and again when it has let go of them all, each time after a
 * collection of garbage; and that of a host which starts then, beside a server full of sagas that sleep. The server's resident size and the bytes of its streams are taken at the same moments.
 *
 * It does not measure: sagas with a timer armed (a schedule each, in INBOX), large states, replicas.
 */
import { fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { buckets, streams } from "../../protocol/subjects.ts";
import { bucketStream } from "../../services/nats/streams.ts";
import { type BenchServer, openServer, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopName } from "./noop-saga.ts";

export interface SleepingOptions {
  readonly sagas: number;
  /** Turns of each before it falls asleep. */
  readonly turns: number;
}

interface Sample {
  readonly rss: number;
  readonly heapUsed: number;
  readonly resident: number;
}

/** Starts in flight at once: enough to keep the host busy. */
const atOnce = 500;

export async function measureSleeping({ sagas, turns }: SleepingOptions): Promise<Report> {
  const bench = await openServer("default");
  const host = startHostProcess(bench.server.url);
  const rest = async () => {
    await until("the host lets go of all", () => host.latest()?.resident === 0, 120_000);
    host.collect();
    const fresh = startHostProcess(bench.server.url);
    await new Promise((resolve) => setTimeout(resolve, 5_000)); // The server collects its garbage by itself.
    const of = { host: host.latest()!, fresh: fresh.latest()! };
    fresh.stop();
    return { ...of, server: await residentBytes(bench.server.pid), disk: await bytesOf(bench) };
  };
  try {
    await grow(bench, "warm", 1_000, turns); // Code and buffers that the first sagas of all bring.
    const before = await rest();
    const startedAt = performance.now();
    await grow(bench, "sleeper", sagas, turns);
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = await rest();
    const perSaga = (pick: (of: typeof before) => number) => rounded((pick(after) - pick(before)) / sagas);
    return {
      title: `${sagas} sagas asleep after ${turns} turns each, started in ${rounded(seconds)} s`,
      rows: [
        { of: "host: heap used, MB", ...betweenMB(before, after, ({ host }) => host.heapUsed) },
        { of: "host: resident, MB", ...betweenMB(before, after, ({ host: { rss } }) => rss) },
        { of: "host, just started: resident, MB", ...betweenMB(before, after, ({ fresh }) => fresh.rss) },
        {
          of: "server: resident, MB",
          ...betweenMB(before, after, ({ server }) => server),
          "bytes per saga": perSaga(({ server }) => server),
        },
        ...Object.keys(after.disk).map((stream) => ({
          of: `${stream}, MB`,
          ...betweenMB(before, after, ({ disk }) => disk[stream]!),
          "bytes per saga": perSaga(({ disk }) => disk[stream]!),
        })),
      ],
      notes: [
        "A host's resident size falls later than its heap: what sagamesh runs gives back within half a minute of rest what",
        "its engine has had, this one does not. What sleeping sagas take of a host is what one that starts beside them has more",
        "than one that starts without.",
      ],
    };
  } finally {
    host.stop();
    await bench.close();
  }
}

/** A host in a process of its own, with the flags of the product's. */
function startHostProcess(url: string) {
  const child = fork(new URL("memory-host.ts", import.meta.url), [url, "0"], {
    execArgv: ["--conditions=sagamesh-source", "--max-semi-space-size=16", "--expose-gc"],
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  let latest: Sample | undefined;
  child.on("message", (sample) => (latest = sample as Sample));
  return { latest: () => latest, collect: () => child.send("collect"), stop: () => child.disconnect() };
}

/** Starts so many sagas, a window at a time, and waits until all have their turns. */
async function grow(bench: BenchServer, name: string, sagas: number, turns: number): Promise<void> {
  const jsm = await jetstreamManager(bench.nc);
  const stored = async () => (await jsm.streams.info(streams.ledger)).state.messages;
  const before = await stored();
  const inboxIsEmpty = async () => (await jsm.streams.info(streams.inbox)).state.messages < atOnce;
  for (let from = 0; from < sagas; from += atOnce) {
    const ids = Array.from(
      { length: Math.min(atOnce, sagas - from) },
      (_, index) => `${name}-${from + index}`,
    );
    await Promise.all(
      ids.map((id) => startSaga(bench.ports, id, noopName("host"), { steps: turns - 1, stays: true })),
    );
    await until("the host keeps up", inboxIsEmpty, 120_000);
  }
  await until("all have their turns", async () => (await stored()) === before + sagas * turns, 600_000);
}

async function bytesOf({ nc }: BenchServer): Promise<Record<string, number>> {
  const jsm = await jetstreamManager(nc);
  const found: Record<string, number> = {};
  for (const stream of [streams.ledger, bucketStream(buckets.snapshot), streams.inbox])
    found[stream] = (await jsm.streams.info(stream)).state.bytes;
  return found;
}

/** From the process's own account; Linux only. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1_024;
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;

const betweenMB = <T>(before: T, after: T, pick: (of: T) => number) => ({
  before: megabytes(pick(before)),
  after: megabytes(pick(after)),
});
