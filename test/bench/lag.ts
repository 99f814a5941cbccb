/**
 * Lag: how far the tables of `sagamesh index` are behind ledgers that grow.
 *
 * Method: turns of a recorded shape (the result of a call, and the next call) are appended to real ledgers at a rate, 200 sagas of 20 turns
 * at once, by this process; `sagamesh index` is a process of its own. Forty times a second it is looked at in its file which of the
 * stored turns are in it: the lag is the age of the oldest that is not. Then the file is taken away, and filled once more.
 *
 * It does not measure: hosts beside it, long texts, PostgreSQL, a server on another machine.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import { intentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { ledgerVersion, toStored, type Turn } from "../../protocol/turn.ts";
import { systemClock } from "../../services/runtime/system.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { runCli, startCli } from "../support/cli.ts";
import { openServer } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { workOf } from "./peers/processes.ts";

export interface LagOptions {
  /** Turns a second, of each measurement. */
  readonly rates: readonly number[];
  readonly seconds: number;
}

const [atOnce, turnsOfSaga] = [200, 20];

export async function measureLag({ rates, seconds }: LagOptions): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const rate of rates) rows.push(await measureRate(rate, seconds));
  return {
    title: `How far the tables are behind, ${seconds} s each`,
    rows,
    notes: [
      "lag: the age of the oldest turn that is stored and not in the tables. said: up to when the tables say they are whole, before now.",
      "index µs: processor time of the indexer for each turn. anew: turns a second where the tables are filled from nothing.",
    ],
  };
}

async function measureRate(rate: number, seconds: number): Promise<Record<string, number>> {
  const bench = await openServer("default");
  const folder = mkdtempSync(join(tmpdir(), "sagamesh-lag-"));
  const env = { SAGAMESH_CACHE: folder, LOG_LEVEL: "error" };
  const words = ["index", "--server", bench.server.url, "--data", folder];
  const index = startCli(words, { env });
  try {
    await index.says("Ctrl-C ends it", "stderr");
    await append(bench.ports, parseSagaId("warm"), 1, async () => undefined);
    await systemClock.sleep(1_000);
    const name = readdirSync(join(folder, "index")).find((file) => file.endsWith(".sqlite")) ?? "";
    const lagging = watch(join(folder, "index", name));
    const before = await workOf([index.process.pid ?? 0]);
    const begun = performance.now();
    const lane = async (k: number) => {
      for (let n = 0; performance.now() - begun < seconds * 1_000; n++)
        await append(bench.ports, parseSagaId(`lag-${k}-${n}`), turnsOfSaga, (seq) => {
          lagging.stored(seq);
          const due = begun + ((seq + 0.5) / rate) * 1_000;
          return systemClock.sleep(Math.max(0, due - performance.now()));
        });
    };
    await Promise.all(Array.from({ length: atOnce }, (_, k) => lane(k)));
    const took = (performance.now() - begun) / 1_000;
    const { turns, lags, said } = lagging.end();
    const work = (await workOf([index.process.pid ?? 0])) - before;
    index.process.kill("SIGINT");
    await index.ended;
    rmSync(join(folder, "index"), { recursive: true });
    const again = performance.now();
    await runCli([...words, "--once"], { env });
    return {
      "turns/s": Math.round(turns / took),
      ...{ "lag p50, ms": at(lags, 0.5), "p99, ms": at(lags, 0.99), "most, ms": at(lags, 1) },
      ...{ "said p50, ms": at(said, 0.5), "said most, ms": at(said, 1) },
      "index µs": rounded(work / turns),
      "anew, turns/s": Math.round(turns / ((performance.now() - again) / 1_000)),
    };
  } finally {
    index.process.kill("SIGKILL");
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const at = (values: number[], share: number): number =>
  Math.round(
    values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN,
  );

/** Notes what is stored, and looks into the file. */
function watch(file: string): {
  stored(seq: number): void;
  end(): { readonly turns: number; readonly lags: number[]; readonly said: number[] };
} {
  const waiting: { readonly seq: number; readonly at: number }[] = [];
  const [lags, said]: [number[], number[]] = [[], []];
  let turns = 0;
  let first = 0;
  const db = new DatabaseSync(file, { readOnly: true });
  const place = db.prepare("select max(through) as through from places");
  const fact = db.prepare("select value from facts where name = 'checked'");
  const looking = setInterval(() => {
    const through = Number(place.get()?.["through"] ?? 0);
    while (first < waiting.length && waiting[first]!.seq <= through) first += 1;
    const oldest = waiting[first];
    lags.push(oldest === undefined ? 0 : performance.now() - oldest.at);
    said.push(Date.now() - Number(fact.get()?.["value"] ?? 0));
  }, 25);
  return {
    stored: (seq) => {
      turns += 1;
      waiting.push({ seq, at: performance.now() });
    },
    end: () => {
      clearInterval(looking);
      db.close();
      return { turns, lags, said };
    },
  };
}

async function append(
  ports: Ports,
  saga: SagaId,
  turns: number,
  after: (seq: number) => Promise<void>,
): Promise<void> {
  let [prev, expectedSeq] = ["", 0];
  for (let turn = 1; turn <= turns; turn++) {
    const data = encodeJson(toStored(turnOf(saga, turn, prev)));
    ({ seq: expectedSeq } = await ports.ledger.append(saga, { data, headers: {}, expectedSeq }));
    prev = chainHash(data);
    await after(expectedSeq);
  }
}

/** A saga that calls a tool in each turn and has the result of the one before. */
function turnOf(saga: SagaId, turn: number, prev: string): Turn {
  const start = {
    type: "start" as const,
    definition: { name: "bench", version: 1, hash: "h" },
    input: { order: turn, note: "as usual" },
  };
  const result = {
    ...{ type: "result" as const, intent: intentId(turn - 1, 0), attempt: 1, by: "worker" },
    result: { outcome: "succeeded" as const, output: { receipt: `r-${turn}` } },
  };
  const id = intentId(turn, 0);
  const intent = {
    ...{ kind: "tool" as const, id, name: "charge", key: `${saga}.${id}`, contract: "c", input: { n: turn } },
  };
  const closed = turn === 1 ? [] : [{ intent: intentId(turn - 1, 0), as: "succeeded" as const }];
  return {
    ...{ v: ledgerVersion, saga, turn, at: Date.now(), host: "bench", prev },
    steps: [{ event: turn === 1 ? start : result, intents: [intent], closed }],
  };
}
