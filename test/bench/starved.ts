/**
 * Starved: what a host does that gets too little of its machine, and nothing of which dies.
 *
 * Method: `sagamesh host` as a person starts it, with 120 MB of heap, which is stopped and let go again by SIGSTOP and
 * SIGCONT: for a share of the time in turns of a quarter of a second, which is what a machine with a load of twenty
 * leaves of two processors, and harms nothing else on it; or twice for 3.6 s. Its server gets what it wants. What it
 * wrote to SUSPECT is counted by the bucket's stream, its child processes and lapses by its log.
 *
 * It does not measure: hosts that starve one another, a server that starves with them.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { startCli } from "../support/cli.ts";
import { openServer, startSaga, until } from "./bench-mesh.ts";
import type { Report } from "./figures.ts";
import { noopName } from "./noop-saga.ts";

/** One way to starve a host. */
interface Starving {
  readonly what: string;
  readonly sagas: number;
  readonly input: (k: number) => { readonly name: string; readonly input: object };
  /** Disturbs the process until the signal. */
  readonly disturb: (signal: (name: NodeJS.Signals) => void, over: AbortSignal) => Promise<void>;
}

const givenUpAfterMs = 240_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Lets it run for a share of the time. */
const rationed = (share: number): Starving["disturb"] => {
  const turnMs = 250;
  return async (signal, over) => {
    while (!over.aborted) {
      signal("SIGSTOP");
      await pause(turnMs * (1 - share));
      signal("SIGCONT");
      await pause(turnMs * share);
    }
  };
};

const twice: Starving["disturb"] = async (signal) => {
  for (let round = 0; round < 2; round++) {
    signal("SIGSTOP");
    await pause(3_600);
    signal("SIGCONT");
    await pause(6_000);
  }
};

const steps = (count: number) => () => ({ name: noopName("host"), input: { steps: count } });

const ways: readonly Starving[] = [
  {
    what: "500 sagas of 10 steps, a tenth of the machine",
    sagas: 500,
    input: steps(10),
    disturb: rationed(0.1),
  },
  {
    what: "5,000 timers due in 10 s, a tenth of the machine",
    sagas: 5_000,
    input: () => ({ name: "sleeper", input: { waitMs: 10_000 } }),
    disturb: rationed(0.1),
  },
  { what: "2,000 sagas of 5 steps, stopped twice for 3.6 s", sagas: 2_000, input: steps(5), disturb: twice },
];

export async function measureStarved(only?: string): Promise<Report> {
  const rows = [];
  for (const way of ways) if (only === undefined || way.what.includes(only)) rows.push(await measureOne(way));
  return {
    title: "A host that gets too little of its machine",
    rows,
    notes: ["Goal: all end, no mark, no child. Nothing died."],
  };
}

async function measureOne({ what, sagas, input, disturb }: Starving) {
  const bench = await openServer("default");
  const app = new URL("starved-app.ts", import.meta.url).pathname;
  const host = startCli(["host", "--app", app, "--server", bench.server.url, "--json"], {
    env: { NODE_OPTIONS: "--max-old-space-size=120", LOG_LEVEL: "info" },
  });
  let log = "";
  host.process.stderr?.on("data", (text: string) => (log += text));
  const said = (event: string) => log.split(`"msg":"${event}"`).length - 1;
  const ends = await countEnds(bench);
  const over = new AbortController();
  try {
    await host.says('"role"');
    for (let k = 0; k < sagas; k++) {
      const { name, input: of } = input(k);
      await startSaga(bench.ports, mintSagaId("s", Date.now(), Math.random()), name, of);
    }
    const beganAt = performance.now();
    const disturbing = disturb((name) => host.process.kill(name), over.signal);
    await until(
      "all end",
      () => ends.count() >= sagas || host.process.exitCode !== null,
      givenUpAfterMs,
    ).catch(() => undefined);
    const tookMs = performance.now() - beganAt;
    over.abort();
    await disturbing;
    return {
      what,
      ended: `${Math.min(ends.count(), sagas)} of ${sagas}`,
      "after, s": Math.round(tookMs / 1_000),
      lapses: said("host stood still for too long"),
      "writes of marks": await ends.marks(),
      "suspects in children": said("suspect taken in a child process"),
      "children died": said("child process died with a suspect"),
      "told of overload": said("host is overloaded"),
    };
  } finally {
    over.abort();
    host.process.kill("SIGCONT");
    host.process.kill("SIGKILL");
    await host.ended;
    await bench.close();
  }
}

/** Counts the ends on the ledgers as they are written, and what was ever written to SUSPECT. */
async function countEnds({ nc, ports }: Awaited<ReturnType<typeof openServer>>) {
  let count = 0;
  const watching = new AbortController();
  void (async () => {
    for await (const { data } of ports.ledger.follow({ signal: watching.signal }))
      if (Buffer.from(data).includes('"kind":"end"')) count += 1;
  })().catch(() => undefined);
  const lastSeq = async () => {
    const answer = await nc.request("$JS.API.STREAM.INFO.KV_SUSPECT", "");
    return answer.json<{ state: { last_seq: number } }>().state.last_seq;
  };
  return { count: () => count, marks: lastSeq };
}
