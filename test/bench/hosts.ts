/**
 * Hosts: what several hosts do beside one, of work that a host's bound on effects in flight limits.
 *
 * Method: `sagamesh host --effects-max N` as a person starts it, one, two or four of them on a fresh server, and sagas that take
 * step after step, the tool of each of which waits for 250 ms and computes nothing. Once every partition is taken up and
 * every saga is at work, turns are counted on LEDGER for some seconds. Rounds are interleaved, ratios taken round by round.
 *
 * It does not measure: hosts whose loops compute, which need a processor each; a server beyond its limit (limit.ts).
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { takingHosts } from "../../services/deployments/served.ts";
import { startCli } from "../support/cli.ts";
import { type BenchServer, openServer, startSaga, until } from "./bench-mesh.ts";
import { median, type Report, rounded, spread } from "./figures.ts";
import { noopName } from "./noop-saga.ts";

export interface HostsOptions {
  readonly rounds: number;
  readonly sagas: number;
  /** Effects that each host has in flight at most. */
  readonly effectsMax: number;
}

const startsAtOnce = 64;
const windowMs = 15_000;
const readyWithinMs = 240_000;

export async function measureHosts(options: HostsOptions): Promise<Report> {
  const { rounds, sagas, effectsMax } = options;
  const counts = [1, 2, 4];
  const found = counts.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [k, count] of counts.entries()) found[k]?.push(await stepsPerSecond(count, options));
  return {
    title: `${sagas} sagas whose tool waits, over hosts of ${effectsMax} effects at once, ${rounds} rounds`,
    rows: counts.map((hosts, k) => ({
      hosts,
      "steps/s": rounded(median(found[k] ?? [])),
      "of half as many": spread(
        (found[k] ?? []).map((steps, round) => steps / (found[k - 1]?.[round] ?? steps)),
      ),
    })),
    notes: [
      "of half as many: steps per second as a part of those of the row before, median of rounds (least to most). Goal: 1.8.",
    ],
  };
}

async function stepsPerSecond(count: number, { sagas, effectsMax }: HostsOptions): Promise<number> {
  const bench = await openServer("default");
  const app = new URL("hosts-app.ts", import.meta.url).pathname;
  const words = ["host", "--app", app, "--server", bench.server.url, "--effects-max", String(effectsMax)];
  const hosts = Array.from({ length: count }, () => startCli([...words, "--json"]));
  try {
    await Promise.all(hosts.map((host) => host.says('"role"')));
    await until("each host has its share", () => isShared(bench, count), readyWithinMs);
    const before = await turnsOn(bench);
    const input = { steps: 1_000_000, stays: false };
    for (let from = 0; from < sagas; from += startsAtOnce) {
      const ids = Array.from({ length: Math.min(startsAtOnce, sagas - from) }, () =>
        mintSagaId("s", Date.now(), Math.random()),
      );
      await Promise.all(ids.map((saga) => startSaga(bench.ports, saga, noopName("host"), input)));
    }
    await until("all are at work", async () => (await turnsOn(bench)) - before > 3 * sagas, readyWithinMs);
    const [from, fromMs] = [await turnsOn(bench), performance.now()];
    await new Promise((resolve) => setTimeout(resolve, windowMs));
    const turns = (await turnsOn(bench)) - from;
    return (1_000 * turns) / (performance.now() - fromMs);
  } finally {
    for (const host of hosts) host.process.kill("SIGKILL");
    await Promise.all(hosts.map((host) => host.ended));
    await bench.close();
  }
}

async function isShared({ ports }: BenchServer, count: number): Promise<boolean> {
  const held = (await takingHosts(ports.membership)).map(({ partitions }) => partitions.length);
  return held.length === count && held.every((own) => own === ports.inbox.partitions / count);
}

async function turnsOn({ nc }: BenchServer): Promise<number> {
  const answer = await nc.request("$JS.API.STREAM.INFO.LEDGER", "");
  return answer.json<{ state: { last_seq: number } }>().state.last_seq;
}
