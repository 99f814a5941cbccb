/**
 * Sleeping: what sagas that wait cost the host and the server, and what a mesh full of them is like to use.
 *
 * Method: so many sagas start on a host in a process of its own, each makes its turns and waits for a signal. At each count that
 * was asked for, once the host has let go of them all: the resident sizes of server and host, the bytes of the streams, and that of a
 * host which starts then. Then some of them, drawn over all, are sent a signal one after the other, from the publish until the turn
 * is on its subject; and the commands of a person run, each in a process of its own. At the last count the server is
 * ended and started again, until it tells of its ledgers.
 *
 * It does not measure: sagas with a timer armed (a schedule each, in INBOX; due.ts), large states, replicas, a disk that is cold.
 */
import { fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { buckets, streams } from "../../protocol/subjects.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { bucketStream } from "../../services/nats/streams.ts";
import { systemClock } from "../../services/runtime/system.ts";
import { type BenchServer, openServer, sendSignal, startSaga, until } from "./bench-mesh.ts";
import { median, type Report, rounded } from "./figures.ts";
import { noopName, noopSignal } from "./noop-saga.ts";
import { usedBy } from "./used-by.ts";

export interface SleepingOptions {
  /** The counts at which it is looked, ascending. */
  readonly sagas: readonly number[];
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
const wakes = 200;
/** A million sagas take a quarter of an hour. */
const patienceMs = 3_600_000;

/** What somebody does who wants to know how their mesh is. */
const commands = [["ls", "--limit", "20"], ["tasks"], ["doctor"]];

export async function measureSleeping({ sagas, turns }: SleepingOptions): Promise<Report> {
  const bench = await openServer("default");
  const host = startHostProcess(bench.server.url);
  const look = async () => {
    await until("the host lets go of all", () => host.latest()?.resident === 0, 240_000);
    host.collect();
    const fresh = startHostProcess(bench.server.url);
    await systemClock.sleep(10_000); // The server collects its garbage by itself.
    const [own, other] = [host.latest()!, fresh.latest()!];
    fresh.stop();
    const disk = await bytesOf(bench);
    return {
      heap: own.heapUsed,
      host: own.rss,
      fresh: other.rss,
      server: await residentBytes(bench),
      ...disk,
    };
  };
  try {
    await grow(bench, { name: "warm", from: 0, to: 1_000, turns }); // Code and buffers that the first sagas of all bring.
    const empty = await look();
    const rows: Record<string, string | number>[] = [];
    let asleep = 0;
    for (const count of sagas) {
      const startedAt = performance.now();
      await grow(bench, { name: "sleeper", from: asleep, to: count, turns });
      const perSecond = ((count - asleep) * 1_000) / (performance.now() - startedAt);
      asleep = count;
      const now = await look();
      const perSaga = (of: keyof typeof now) => rounded((now[of] - empty[of]) / count);
      rows.push({
        asleep: count,
        "starts/s": rounded(perSecond),
        "host, MB": megabytes(now.host),
        "its heap, MB": megabytes(now.heap),
        "new host, MB": megabytes(now.fresh),
        "server, MB": megabytes(now.server),
        "server, bytes a saga": perSaga("server"),
        "disk, bytes a saga": rounded(perSaga("ledgers") + perSaga("snapshots") + perSaga("inbox")),
        ...(await wakesOf(bench, count)),
        ...(await commandsOf(bench)),
      });
      console.error(JSON.stringify(rows.at(-1)));
    }
    const restart = await restarted(bench);
    return {
      title: `Sagas asleep after ${turns} turns each`,
      rows,
      notes: [
        `The server, ended and started again beside the last of them, tells of its ledgers after ${rounded(restart)} s.`,
        "Commands are whole processes, seconds of wall time (largest resident set); one that finds nothing takes some 0.5 s.",
        "What sleeping sagas take of a host is what one that starts beside them has more than one that starts without.",
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

interface Growth {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly turns: number;
}

/** Starts sagas, a window at a time, and waits until all have their turns. */
async function grow(bench: BenchServer, { name, from, to, turns }: Growth): Promise<void> {
  const jsm = await jetstreamManager(bench.nc);
  const stored = async () => (await jsm.streams.info(streams.ledger)).state.messages;
  const before = await stored();
  for (let next = from; next < to; next += atOnce) {
    const ids = Array.from({ length: Math.min(atOnce, to - next) }, (_, index) => `${name}-${next + index}`);
    await Promise.all(
      ids.map((id) => startSaga(bench.ports, id, noopName("host"), { steps: turns - 1, stays: true })),
    );
    await until("the host keeps up", () => isBelow(bench, atOnce), 240_000);
  }
  const all = before + (to - from) * turns;
  await until("all have their turns", async () => (await stored()) === all, patienceMs);
}

const isBelow = async ({ nc }: BenchServer, messages: number): Promise<boolean> => {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${streams.inbox}`, "");
  return answer.json<{ state: { messages: number } }>().state.messages < messages;
};

/** Milliseconds from a signal to the turn that holds it, of sagas drawn over all of them. */
async function wakesOf(bench: BenchServer, asleep: number): Promise<Record<string, number>> {
  const found: number[] = [];
  for (let k = 0; k < wakes; k++) {
    const saga = `sleeper-${Math.floor(((k + Math.random()) * asleep) / wakes)}`;
    const told = bench.nc.subscribe(`saga.${saga}.ledger`, { max: 1 });
    await bench.nc.flush();
    const began = performance.now();
    await sendSignal(bench.ports, saga, noopSignal, {});
    for await (const _ of told) found.push(performance.now() - began);
  }
  found.sort((a, b) => a - b);
  return { "wake p50, ms": rounded(median(found)), "p99, ms": rounded(found[Math.floor(wakes * 0.99)]!) };
}

async function commandsOf({ server }: BenchServer): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const words of commands) {
    const used = await usedBy([...words, "--server", server.url]);
    found[words.join(" ")] = `${used["wall, s"]} (${Math.round(used["peak, MB"]!)} MB)`;
  }
  return found;
}

/** Seconds until a server that was ended and started again on the same folder tells of its ledgers. */
async function restarted({ server }: BenchServer): Promise<number> {
  const embedded = await startEmbeddedServer({ dataDir: server.dataDir, report: () => {} });
  const began = performance.now();
  await embedded.restart(async () => true);
  const seconds = (performance.now() - began) / 1_000;
  await embedded.stop();
  return seconds;
}

async function bytesOf({ nc }: BenchServer) {
  const jsm = await jetstreamManager(nc);
  const bytes = async (stream: string) => (await jsm.streams.info(stream)).state.bytes;
  return {
    ledgers: await bytes(streams.ledger),
    snapshots: await bytes(bucketStream(buckets.snapshot)),
    inbox: await bytes(streams.inbox),
  };
}

/** From the process's own account; Linux only. */
async function residentBytes({ server }: BenchServer): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1_024;
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;
