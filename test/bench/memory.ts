/**
 * Memory: the resident size of a host process, idle and with a thousand running sagas.
 *
 * Method, idle: the command line's own host, 6 s after it serves (memory-idle.ts). Running: a host in a process
 * of its own with the product's flags reports its resident size for some seconds; median and most are shown;
 * each saga has a call open in this host, waits half a second for it, and takes the next step, so all thousand
 * are in memory the whole time and two thousand turns a second make garbage.
 *
 * It does not measure: agents with long conversations in memory, large payloads, what models' packages add.
 */
import { fork } from "node:child_process";
import { mintSagaId } from "../../protocol/ids.ts";
import { openServer, startSaga, until } from "./bench-mesh.ts";
import { median, type Report } from "./figures.ts";
import { measureIdle } from "./memory-idle.ts";
import { noopName } from "./noop-saga.ts";

export interface MemoryOptions {
  readonly sagas: number;
  readonly seconds: number;
}

interface Sample {
  readonly rss: number;
  readonly heapUsed: number;
  readonly resident: number;
}

const toolMs = 500;

export async function measureMemory({ sagas, seconds }: MemoryOptions): Promise<Report> {
  const bench = await openServer("default");
  const script = new URL("memory-host.ts", import.meta.url);
  const idleHosts = await measureIdle(bench.server.url, 3);
  const child = fork(script, [bench.server.url, String(toolMs)], {
    execArgv: ["--conditions=sagamesh-source", "--max-semi-space-size=16"],
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  const samples: Sample[] = [];
  child.on("message", (sample) => samples.push(sample as Sample));
  const collect = async () => {
    samples.length = 0;
    await until("the samples are there", () => samples.length >= seconds * 5, seconds * 10_000);
    return samples.slice();
  };
  try {
    await until("the host reports", () => samples.length > 0);
    const ids = Array.from({ length: sagas }, () => mintSagaId("noop", Date.now(), Math.random()));
    for (const id of ids) await startSaga(bench.ports, id, noopName("host"), { steps: 1_000_000 });
    await until("all sagas run", () => samples.at(-1)?.resident === sagas);
    const running = await collect();
    return {
      title: "Resident size of a host process, MB",
      rows: [
        ...idleHosts.map(({ host, rss }) => ({
          host,
          median: megabytes(median(rss)),
          most: megabytes(Math.max(...rss)),
          "heap used, median": "",
        })),
        rowOf(`${sagas} running sagas`, running),
      ],
      notes: [
        "Goal: with 1,000 running sagas under 250 MB.",
        "Cold: no compile cache. The build is measured where `npm run build` has left one.",
      ],
    };
  } finally {
    child.disconnect();
    await bench.close();
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;

const rowOf = (host: string, samples: readonly Sample[]) => ({
  host,
  median: megabytes(median(samples.map(({ rss }) => rss))),
  most: megabytes(Math.max(...samples.map(({ rss }) => rss))),
  "heap used, median": megabytes(median(samples.map(({ heapUsed }) => heapUsed))),
});
