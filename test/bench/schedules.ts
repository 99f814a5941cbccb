/**
 * Schedules: many that are due in the same second, twice, a minute apart.
 *
 * Method: so many schedules are made on hosts in processes of their own, `sagamesh host` as a person starts it, and each is to begin a run
 * at the next whole minute that is far enough away and at the one after it; the run ends at once. LEDGER is read then: a run's id tells
 * when it was due, and the server's clock, which is this machine's, when its first turn was stored. With a kill one of the hosts is
 * killed by SIGKILL in the second minute, a moment after it began.
 *
 * It does not measure: schedules due at different moments, runs that last, rules for overlaps, replicas.
 */
import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import { headers, sagaOfLedger, streams } from "../../protocol/subjects.ts";
import { schedulesOf } from "../../services/client/schedules.ts";
import { systemChance, systemClock } from "../../services/runtime/system.ts";
import { startCli } from "../support/cli.ts";
import { type BenchServer, openServer, stateOf, until } from "./bench-mesh.ts";
import { cpuMsOf } from "./cpu-of.ts";
import { type Report, rounded } from "./figures.ts";

export interface SchedulesOptions {
  readonly schedules: readonly number[];
}

const minuteMs = 60_000;
const atOnce = 20;

export async function measureSchedules({ schedules }: SchedulesOptions): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const count of schedules)
    for (const [hosts, isKilled] of [
      [1, false],
      [2, false],
      [2, true],
    ] as const)
      rows.push({
        schedules: count,
        hosts,
        killed: isKilled ? 1 : 0,
        ...(await measureOne(count, hosts, isKilled)),
      });
  return {
    title: "schedules that are due in the same second, twice",
    rows,
    notes: [
      "late: from the moment at which a run is due until its first turn is stored.",
      "cpu: of all hosts, of a schedule, from its making to its second run's end.",
    ],
  };
}

async function measureOne(count: number, hostCount: number, isKilled: boolean) {
  const bench = await openServer("default");
  const app = new URL("../apps/clockwork.ts", import.meta.url).pathname;
  const hosts = Array.from({ length: hostCount }, () =>
    startCli(["host", "--app", app, "--server", bench.server.url, "--json"], { env: { LOG_LEVEL: "error" } }),
  );
  try {
    await Promise.all(hosts.map((host) => host.says('"role"')));
    const first = firstMinute(Date.now() + count * 40 + 20_000);
    const madeFor = performance.now();
    await make(bench, count, first);
    const madeS = (performance.now() - madeFor) / 1_000;
    const armed = first - Date.now();
    if (armed < 0) throw new Error("making them took longer than was reckoned with");
    await systemClock.sleep(first + minuteMs + 100 - Date.now());
    if (isKilled) hosts[0]?.process.kill("SIGKILL");
    await settled(bench);
    const cpuMs = () => hosts.reduce((sum, { process: { pid } }) => sum + cpuMsOf(pid ?? 0), 0);
    return {
      "made a second": rounded(count / madeS),
      ...(await lateness(bench, count, first)),
      "cpu, ms": isKilled ? "-" : rounded(cpuMs() / count),
    };
  } finally {
    for (const host of hosts) host.process.kill("SIGKILL");
    await Promise.all(hosts.map((host) => host.ended));
    await bench.close();
  }
}

/** A whole minute from then on whose next one is of the same hour. */
function firstMinute(from: number): number {
  const minute = Math.ceil(from / minuteMs) * minuteMs;
  return new Date(minute).getUTCMinutes() === 59 ? minute + minuteMs : minute;
}

async function make({ ports }: BenchServer, count: number, first: number): Promise<void> {
  const { create } = schedulesOf({ ports, clock: systemClock, chance: systemChance, from: "bench" });
  const at = new Date(first);
  const cron = `0 ${at.getUTCMinutes()},${at.getUTCMinutes() + 1} ${at.getUTCHours()} * * *`;
  const common = { saga: "tick", input: { lastsMs: 0 }, cron, overlap: "allow" } as const;
  for (let next = 0; next < count; next += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - next) }, (_, k) =>
        create({ ...common, name: `s${next + k}` }),
      ),
    );
}

/** Nothing was stored for five seconds. */
async function settled(bench: BenchServer): Promise<void> {
  let last = { messages: -1, at: performance.now() };
  await until(
    "all is done",
    async () => {
      await systemClock.sleep(250);
      const { messages } = await stateOf(bench, streams.ledger);
      if (messages !== last.messages) last = { messages, at: performance.now() };
      return performance.now() - last.at > 5_000;
    },
    600_000,
  );
}

async function lateness(bench: BenchServer, count: number, first: number) {
  let { messages } = await stateOf(bench, streams.ledger);
  const late: number[][] = [[], []];
  const begun = new Map<string, number>();
  const options = { deliver_policy: DeliverPolicy.All, headers_only: true } as const;
  const consumer = await jetstream(bench.nc).consumers.get(streams.ledger, options);
  for await (const message of await consumer.consume()) {
    const saga = sagaOfLedger(message.subject);
    const [, time] = /^s\d+-\d{8}t(\d{4})00z$/.exec(saga) ?? [];
    if (time !== undefined && message.headers?.get(headers.turn) === "1") {
      const due = time === timeOf(first) ? 0 : time === timeOf(first + minuteMs) ? 1 : undefined;
      if (due === undefined) throw new Error(`${saga} was due at no time that was asked for`);
      begun.set(saga, (begun.get(saga) ?? 0) + 1);
      late[due]?.push(Number(message.timestampNanos / 1_000_000n) - first - due * minuteMs);
    }
    if (--messages === 0) break;
  }
  const at = (due: number, share: number) => {
    const sorted = (late[due] ?? []).toSorted((a, b) => a - b);
    return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN);
  };
  return {
    "p50 late, ms": at(0, 0.5),
    "p99 late, ms": at(0, 0.99),
    "p50 again, ms": at(1, 0.5),
    "p99 again, ms": at(1, 0.99),
    early: late.flat().filter((ms) => ms < 0).length,
    twice: [...begun.values()].filter((times) => times > 1).length,
    lost: 2 * count - begun.size,
  };
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 16).replace(":", "");
