/**
 * Waiting: the processor time that a client spends for each step of the sagas that it waits for.
 *
 * Method: a host in a process of its own, and this process as the client of 64 sagas at once of 100 no-op steps: in turn
 * with `result()`, and following every turn, which is what `result()` did. The client's own processor time by steps; the first
 * round warms up. Time to start the sagas is in both.
 */
import { fork } from "node:child_process";
import { createClient } from "../../services/client/mesh.ts";
import { silentLog } from "../../services/process/log.ts";
import { systemChance, systemClock } from "../../services/runtime/system.ts";
import { openServer, until } from "./bench-mesh.ts";
import { type Report, spread } from "./figures.ts";
import { noopSaga } from "./noop-saga.ts";

const sagas = 64;
const steps = 100;

export async function measureWaiting({ rounds }: { rounds: number }): Promise<Report> {
  const bench = await openServer("default");
  const child = fork(new URL("memory-host.ts", import.meta.url), [bench.server.url, "0"], {
    execArgv: ["--conditions=sagamesh-source", "--max-semi-space-size=16"],
  });
  let isThere = false;
  child.on("message", () => (isThere = true));
  const deps = {
    ports: bench.ports,
    clock: systemClock,
    chance: systemChance,
    log: silentLog,
    from: "bench",
  };
  const client = createClient(deps, async () => undefined);
  const noop = noopSaga("host", { effect: "read" });
  type Handle = Awaited<
    ReturnType<typeof client.start<typeof noop.input, typeof noop.output, typeof noop.signals>>
  >;
  const ways: Readonly<Record<string, (handle: Handle) => Promise<unknown>>> = {
    "result()": (handle) => handle.result(),
    "every turn": async (handle) => {
      let seen = 0;
      for await (const { turn } of handle.entries()) seen = turn;
      return seen;
    },
  };
  const found = new Map<string, { us: number[]; perSecond: number[] }>();
  try {
    await until("the host serves", () => isThere);
    for (let round = 0; round <= rounds; round++)
      for (const [way, wait] of Object.entries(ways)) {
        const begun = performance.now();
        const before = process.cpuUsage();
        await Promise.all(
          Array.from({ length: sagas }, async () => wait(await client.start(noop, { steps, stays: false }))),
        );
        const { user, system } = process.cpuUsage(before);
        if (round === 0) continue;
        const own = found.get(way) ?? { us: [], perSecond: [] };
        found.set(way, own);
        own.us.push((user + system) / (sagas * steps));
        own.perSecond.push((sagas * steps * 1_000) / (performance.now() - begun));
      }
  } finally {
    child.disconnect();
    await bench.close();
  }
  return {
    title: `A client that waits for ${sagas} sagas of ${steps} steps, ${rounds} rounds`,
    rows: [...found].map(([way, { us, perSecond }]) => ({
      waits: `with ${way}`,
      "µs of its processor a step": spread(us),
      "steps/s": spread(perSecond),
    })),
    notes: ["medians of rounds (least to most)"],
  };
}
