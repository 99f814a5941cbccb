/**
 * Latencies: how long calls took lately, of the tables' rows.
 */
import { maxOf } from "../../protocol/extremes.ts";
import type { Where } from "../tables/filter-sql.ts";
import type { Answer } from "../tables/ask.ts";
import { type Cell, timeText } from "../tables/rows.ts";
import type { LatenciesDocument, Latencies } from "./documents.ts";

/** How far back, and by what it is drawn. Milliseconds. */
const spanMs = 3_600_000;
const partMs = 300_000;
/** More would not change a percentile that anybody acts on. */
export const callsMax = 5_000;
const namesMax = 30;

/**
 * Calls that ended lately, the newest first. By the sagas that changed since, of which there is an index. What waited for a person or
 * for the outside tells of these, and not of who performs it.
 */
export const latelyEnded = (now: number): Where => ({
  sql:
    "select kind, name, at, ended, outcome from intents where kind in ('tool', 'model') and ended > ? and coalesce(deferred, 0) = 0 " +
    "and saga in (select saga from sagas where updated > ?) " +
    "and not exists (select 1 from tasks where tasks.saga = intents.saga and tasks.call = intents.intent) order by ended desc",
  values: [timeText(now - spanMs), timeText(now - spanMs)],
});

interface Call {
  readonly name: string;
  readonly ms: number;
  readonly endedAt: number;
  readonly isFailed: boolean;
}

export function latenciesOf({ rows, isCut }: Pick<Answer, "rows" | "isCut">, now: number): LatenciesDocument {
  const of = (kind: string) =>
    latencies(
      rows.flatMap((row) => (row[0] === kind ? [callOf(row)] : [])),
      now,
    );
  return { at: now, isCut, tools: of("tool"), models: of("model") };
}

function callOf([, name, at, ended, outcome]: readonly Cell[]): Call {
  const endedAt = timeOf(ended);
  return {
    ...{ name: String(name ?? ""), endedAt, isFailed: outcome !== "succeeded" },
    ms: Math.max(0, endedAt - timeOf(at)),
  };
}

function latencies(calls: readonly Call[], now: number): Latencies {
  const parts = Array.from({ length: spanMs / partMs }, (): number[] => []);
  for (const { endedAt, ms } of calls) {
    const part = parts.length - 1 - Math.floor(Math.max(0, now - endedAt) / partMs);
    parts[part]?.push(ms);
  }
  const names = [...Map.groupBy(calls, ({ name }) => name)].map(([name, own]) => {
    const times = own.map(({ ms }) => ms).sort((a, b) => a - b);
    return {
      ...{ name, calls: own.length, failed: own.filter(({ isFailed }) => isFailed).length },
      ...{ p50: shareOf(times, 0.5), p95: shareOf(times, 0.95), longest: maxOf(times, 0) },
    };
  });
  return {
    over: parts.map((times) => {
      if (times.length === 0) return {};
      const sorted = times.sort((a, b) => a - b);
      return { p50: shareOf(sorted, 0.5), p95: shareOf(sorted, 0.95) };
    }),
    names: names.sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)).slice(0, namesMax),
  };
}

/** The least time within which at least this share of them ended. */
const shareOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;

/** The tables' times are UTC without a zone. */
export const timeOf = (cell: Cell | undefined): number =>
  Date.parse(`${String(cell ?? "").replace(" ", "T")}Z`);
