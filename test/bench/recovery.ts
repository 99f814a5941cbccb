/**
 * Recovery: how long sagas stand still when a host dies, and when all hosts are replaced one after the other.
 *
 * Method: three hosts, as `sagamesh host` starts them, and a worker; sagas that take step after step, half of them
 * with an effect in the host and half through WORK, 100 ms each. The ledger is followed, and all times are the
 * server's. Death: one host is killed by SIGKILL; for each saga whose last turn was its, from the kill to the first
 * turn after it. Replacing: a host starts and has its share, an old one gets SIGTERM and exits, three times; for each saga its longest
 * time between two turns meanwhile, and the same of as long a time before, undisturbed. Steps of 100 ms count in both.
 *
 * It does not measure: a network that is cut without a word (leases then run out as here, and requests a dead host
 * left at the server can hold inputs for another lease), several servers, sagas with long histories to load.
 */
import { mintSagaId, type SagaId } from "../../protocol/ids.ts";
import { decodeHostEntry } from "../../protocol/host-entry.ts";
import { sagaOfLedger } from "../../protocol/subjects.ts";
import { decodeTurn } from "../../services/ledger/reader.ts";
import { type RunningCli, startCli } from "../support/cli.ts";
import { type BenchServer, openServer, startSaga, until, workerOn } from "./bench-mesh.ts";
import { median, percentile, type Report } from "./figures.ts";
import { noopName } from "./noop-saga.ts";
import recoveryApp from "./recovery-app.ts";

export interface RecoveryOptions {
  readonly rounds: number;
  readonly sagas: number;
}

const hostsMax = 3;
const undisturbedMs = 5_000;

interface Seen {
  readonly at: number;
  readonly host: string;
}

interface Load {
  readonly bench: BenchServer;
  readonly turns: ReadonlyMap<SagaId, Seen[]>;
  /** Starts a host; resolves when it serves. */
  host(): Promise<RunningCli>;
  /** Resolves when all partitions are shared by these and no others. */
  settled(hosts: readonly RunningCli[]): Promise<void>;
  close(): Promise<void>;
}

export async function measureRecovery({ rounds, sagas }: RecoveryOptions): Promise<Report> {
  const afterDeath: number[] = [];
  for (let round = 0; round < rounds; round++) afterDeath.push(...(await measureDeath(sagas)));
  const { before, during } = await measureReplacing(sagas);
  const row = (what: string, values: readonly number[]) => ({
    what,
    sagas: values.length,
    p50: Math.round(median(values)),
    p99: Math.round(percentile(values, 0.99)),
    most: Math.round(Math.max(...values)),
  });
  return {
    title: `Milliseconds that sagas stand still, ${sagas} sagas on ${hostsMax} hosts`,
    rows: [
      row(`from SIGKILL to the first new turn, ${rounds} kills`, afterDeath),
      row("longest between two turns while all hosts are replaced", during),
      row("the same of as long a time, undisturbed", before),
    ],
    notes: ["Goals: p99 after a SIGKILL 5,000; no pause above 1,000 while hosts are replaced."],
  };
}

async function measureDeath(sagas: number): Promise<number[]> {
  const load = await openLoad(sagas);
  try {
    const hosts = await startHosts(load);
    const [victim] = hosts as [RunningCli];
    const killedAt = Date.now();
    victim.process.kill("SIGKILL");
    const name = `-${victim.process.pid ?? 0}-`;
    const own = [...load.turns.values()].filter((turns) =>
      turns.findLast(({ at }) => at <= killedAt)?.host.includes(name),
    );
    const next = (turns: readonly Seen[]) =>
      turns.find(({ at, host }) => at > killedAt && !host.includes(name));
    await until("all its sagas go on", () => own.every((turns) => next(turns) !== undefined));
    return own.map((turns) => (next(turns)?.at ?? 0) - killedAt);
  } finally {
    await load.close();
  }
}

async function measureReplacing(sagas: number): Promise<{ before: number[]; during: number[] }> {
  const load = await openLoad(sagas);
  try {
    let hosts = await startHosts(load);
    const from = Date.now();
    for (const old of [...hosts]) {
      const next = await load.host();
      await load.settled([...hosts, next]);
      hosts = [...hosts.filter((host) => host !== old), next];
      old.process.kill("SIGTERM");
      const { code } = await old.ended;
      if (code !== 0) throw new Error(`a host that was asked to end exited with ${String(code)}`);
      await load.settled(hosts);
    }
    const to = Date.now();
    await until("as long a time passes", () => Date.now() > to + (to - from), 600_000);
    const gaps = (begin: number, end: number) =>
      [...load.turns.values()].map((turns) =>
        longestGap(
          turns.map(({ at }) => at),
          begin,
          end,
        ),
      );
    return { before: gaps(to + 1_000, to + (to - from)), during: gaps(from, to) };
  } finally {
    await load.close();
  }
}

/** Of what ended within the time. */
function longestGap(times: readonly number[], begin: number, end: number): number {
  let longest = 0;
  for (const [at, time] of times.entries())
    if (at > 0 && time >= begin && time <= end) longest = Math.max(longest, time - (times[at - 1] ?? time));
  return longest;
}

async function startHosts(load: Load): Promise<RunningCli[]> {
  const hosts = await Promise.all(Array.from({ length: hostsMax }, () => load.host()));
  await load.settled(hosts);
  const since = Date.now();
  await until(
    "every saga is at work",
    () =>
      Date.now() - since > undisturbedMs / 2 &&
      [...load.turns.values()].every((turns) => (turns.at(-1)?.at ?? 0) > since + undisturbedMs / 4),
  );
  return hosts;
}

async function openLoad(sagas: number): Promise<Load> {
  const bench = await openServer("default");
  const turns = new Map<SagaId, Seen[]>();
  const ended = new AbortController();
  const running: RunningCli[] = [];
  const follow = async () => {
    for await (const message of bench.ports.ledger.follow({ signal: ended.signal })) {
      const { host } = await decodeTurn(bench.ports.blobs, message);
      const saga = sagaOfLedger(message.subject);
      const seen = turns.get(saga) ?? [];
      seen.push({ at: message.storedAt, host });
      turns.set(saga, seen);
    }
  };
  const following = follow();
  const worker = await workerOn(bench.ports, recoveryApp);
  for (let n = 0; n < sagas; n++) {
    const name = noopName(n % 2 === 0 ? "host" : "worker");
    await startSaga(bench.ports, mintSagaId("noop", Date.now(), Math.random()), name, { steps: 1_000_000 });
  }
  return {
    bench,
    turns,
    host: async () => {
      const cli = startCli(["host", "--app", "test/bench/recovery-app.ts", "--server", bench.server.url], {
        env: { LOG_LEVEL: "error" },
      });
      running.push(cli);
      await cli.says("host: NATS");
      return cli;
    },
    settled: (hosts) =>
      until("the partitions are shared", async () => {
        const entries = (await bench.ports.membership.hosts()).map(({ host, data }) => ({
          isOurs: hosts.some(({ process }) => host.includes(`-${process.pid ?? 0}-`)),
          partitions: decodeHostEntry(data)?.partitions ?? [],
        }));
        const held = entries.flatMap(({ partitions }) => partitions);
        return (
          entries.length === hosts.length &&
          entries.every(({ isOurs, partitions }) => isOurs && partitions.length > 0) &&
          new Set(held).size === held.length &&
          held.length === bench.ports.inbox.partitions
        );
      }),
    close: async () => {
      for (const { process } of running) process.kill("SIGKILL");
      await Promise.all(running.map((one) => one.ended));
      await worker.stop(0);
      ended.abort();
      await following;
      await bench.close();
    },
  };
}
