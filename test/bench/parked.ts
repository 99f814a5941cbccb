/**
 * Parked: what sagas that a host cannot take cost it and the server while they stand.
 *
 * Method: so many sagas sleep; a host whose code decides otherwise than their ledgers say, or one that serves none of them,
 * is all that there is from then on, and a signal for each has come. After four minutes, in which all were tried, what the host
 * spends in so many minutes: processor time, and messages between it and the server, less those of the same host with
 * nothing to stand. At the end a host that can take them comes, and its first turns are timed.
 *
 * It does not measure: what the server spends, sagas with long ledgers (a try folds them), logs.
 */
import { fork } from "node:child_process";
import { parseSagaId } from "../../protocol/ids.ts";
import { type BenchServer, openServer, sendSignal, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import type { Spent } from "./parked-host.ts";

export interface ParkedOptions {
  readonly sagas: number;
  readonly minutes: number;
}

const rightMs = 86_400_000;
const wrongMs = 3_600_000;
/** By then the time between two tries is as long as it gets. */
const settleMs = 240_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function measureParked({ sagas, minutes }: ParkedOptions): Promise<Report> {
  const seconds = minutes * 60;
  const idle = await spentOver(0, 60, "wrong");
  const rows = [];
  for (const what of ["wrong", "other"] as const) {
    const { spent, backMs } = await spentOver(sagas, seconds, what);
    const per = (of: (one: Spent) => number) => rounded(of(spent) / seconds - of(idle.spent) / 60);
    rows.push({
      of: what === "wrong" ? "its code decides otherwise" : "their definition is not served",
      "tries/s": rounded(spent.tried / seconds),
      "messages/s to the server": per(({ sent }) => sent),
      "and from it": per(({ got }) => got),
      "host CPU, ms/s": per(({ cpuMs }) => cpuMs),
      "all go on with the right host after, s": rounded(backMs / 1_000),
    });
  }
  return {
    title: `${sagas} sagas that cannot be taken, over ${minutes} minutes`,
    rows,
    notes: ["Less what the same host spends with nothing that stands. Their ledgers have two turns."],
  };
}

async function spentOver(sagas: number, seconds: number, what: "wrong" | "other") {
  const bench = await openServer("default");
  try {
    await standing(bench, sagas);
    const host = startHost(bench.server.url, wrongMs, what);
    await until("it serves", () => host.latest() !== undefined);
    await sleep(sagas === 0 ? 5_000 : settleMs);
    const before = host.latest()!;
    await sleep(seconds * 1_000);
    const after = host.latest()!;
    const spent = Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Spent]]),
    ) as unknown as Spent;
    const right = startHost(bench.server.url, rightMs, "right");
    await until("it serves", () => right.latest() !== undefined);
    const from = performance.now();
    host.stop();
    await until("all go on", () => right.latest()!.turns >= sagas, 120_000);
    const backMs = performance.now() - from;
    right.stop();
    return { spent, backMs };
  } finally {
    await bench.close();
  }
}

/** They sleep without a snapshot, else nothing of them is decided again, and a signal waits for each. */
async function standing(bench: BenchServer, sagas: number): Promise<void> {
  const ids = Array.from({ length: sagas }, (_, n) => parseSagaId(`z-${n}`));
  const first = startHost(bench.server.url, rightMs, "right");
  for (const id of ids) await startSaga(bench.ports, id, "sleeper", null);
  for (const id of ids) await sendSignal(bench.ports, id, "go", {});
  await until("they sleep", () => (first.latest()?.turns ?? 0) >= 2 * sagas, 120_000);
  await sleep(3_000);
  first.stop();
  await first.ended;
  for (const id of ids) await bench.ports.snapshots.drop(id);
  for (const id of ids) await sendSignal(bench.ports, id, "note", {});
}

function startHost(url: string, delayMs: number, what: string) {
  let latest: Spent | undefined;
  const child = fork(new URL("parked-host.ts", import.meta.url), [url, String(delayMs), what], {
    execArgv: ["--conditions=sagamesh-source"],
  });
  child.on("message", (message) => (latest = message as Spent));
  return {
    latest: () => latest,
    stop: () => void child.send("stop"),
    ended: new Promise<void>((resolve) => child.once("exit", () => resolve())),
  };
}
