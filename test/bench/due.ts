/**
 * Due: many timers that come due within one minute.
 *
 * Method: so many sagas start on hosts in processes of their own, each of which waits for its own moment, spread evenly over one minute
 * that begins once all have armed their timers; then it ends. When all have ended, LEDGER is read: how late each saga's last turn was
 * stored, by the server's clock, which is this machine's.
 *
 * It does not measure: timers that came due while no host ran, replicas, a server whose disk is cold.
 */
import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { sagaOfLedger, streams } from "../../protocol/subjects.ts";
import { startCli } from "../support/cli.ts";
import { type BenchServer, openServer, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";

export interface DueOptions {
  readonly timers: number;
  readonly hosts: readonly number[];
}

const overMs = 60_000;
const atOnce = 500;

export async function measureDue({ timers, hosts }: DueOptions): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const count of hosts) rows.push({ hosts: count, timers, ...(await measureOne(timers, count)) });
  return {
    title: `${timers} timers that come due within a minute`,
    rows,
    notes: ["late: from the moment that a saga waits for until its last turn is stored."],
  };
}

async function measureOne(timers: number, count: number): Promise<Record<string, number>> {
  const bench = await openServer("default");
  const app = new URL("due-app.ts", import.meta.url).pathname;
  const hosts = Array.from({ length: count }, () =>
    startCli(["host", "--app", app, "--server", bench.server.url, "--json"], { env: { LOG_LEVEL: "error" } }),
  );
  try {
    await Promise.all(hosts.map((host) => host.says('"role"')));
    // A thousand starts a second are far below what a host does, so that all are armed when the minute begins.
    const firstAt = Date.now() + timers + 20_000;
    const dueAt = (k: number) => firstAt + Math.floor((k * overMs) / timers);
    await arm(bench, timers, dueAt);
    const armedMs = firstAt - Date.now();
    const ended = async () => (await turnsOn(bench)) === 2 * timers;
    const patienceMs = armedMs + overMs + 600_000;
    await until("all have ended", ended, patienceMs).catch(() => undefined); // Those that are lost are counted below.
    return { "armed before, s": rounded(armedMs / 1_000), ...(await lateness(bench, timers, dueAt)) };
  } finally {
    for (const host of hosts) host.process.kill("SIGKILL");
    await Promise.all(hosts.map((host) => host.ended));
    await bench.close();
  }
}

async function arm(bench: BenchServer, timers: number, dueAt: (k: number) => number): Promise<void> {
  for (let next = 0; next < timers; next += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, timers - next) }, (_, index) => next + index);
    await Promise.all(some.map((k) => startSaga(bench.ports, `due-${k}`, "due", { at: dueAt(k) })));
    await until("the hosts keep up", async () => (await turnsOn(bench)) > next - 2 * atOnce, 240_000);
  }
  await until("all are armed", async () => (await turnsOn(bench)) >= timers, 240_000);
}

async function turnsOn({ nc }: BenchServer): Promise<number> {
  const { state } = await (await jetstreamManager(nc)).streams.info(streams.ledger);
  return state.messages;
}

async function lateness({ nc }: BenchServer, timers: number, dueAt: (k: number) => number) {
  const late: number[] = [];
  let turns = await (
    await jetstreamManager(nc)
  ).streams
    .info(streams.ledger)
    .then(({ state }) => state.messages);
  const begun = new Set<string>();
  const consumer = await jetstream(nc).consumers.get(streams.ledger, {
    deliver_policy: DeliverPolicy.All,
    headers_only: true,
  });
  for await (const message of await consumer.consume()) {
    const saga = sagaOfLedger(message.subject);
    if (begun.has(saga))
      late.push(Number(message.timestampNanos / 1_000_000n) - dueAt(Number(saga.slice(4))));
    begun.add(saga);
    if (--turns === 0) break;
  }
  late.sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round(late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? NaN);
  return {
    "p50 late, ms": at(0.5),
    "p99 late, ms": at(0.99),
    "most, ms": at(1),
    early: late.filter((ms) => ms < 0).length,
    lost: timers - late.length,
  };
}
