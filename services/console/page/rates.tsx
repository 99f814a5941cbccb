/** Rates: how much was done and how much waits, as small charts of the looks of this visit, and how long calls took in the last hour. */
import type { Latencies, LatenciesDocument, MeshDocument } from "../documents.ts";
import { count } from "./words.ts";

/** What is drawn of one look. */
export interface Look {
  readonly at: number;
  /** Messages on the ledgers. */
  readonly turns: number;
  readonly waiting: number;
  /** The longest that an input has waited that was never delivered. Milliseconds. */
  readonly lagMs: number;
}

export function lookAt({ at, doctor: { streams, partitions, tools } }: MeshDocument): Look {
  const ledgers = streams.filter(({ name }) => name.startsWith("LEDGER"));
  const queues = [...partitions, ...tools];
  return {
    at,
    turns: ledgers.reduce((sum, { messages }) => sum + messages, 0),
    waiting: queues.reduce((sum, { waiting }) => sum + waiting, 0),
    lagMs: queues.reduce((most, { lagMs = 0 }) => Math.max(most, lagMs), 0),
  };
}

interface RatesProps {
  readonly looks: readonly Look[];
  readonly latencies: LatenciesDocument | undefined;
}

export function Rates({ looks, latencies }: RatesProps) {
  const turns = looks.slice(1).map(({ at, turns: now }, k) => {
    const before = looks[k];
    const seconds = before === undefined ? 0 : (at - before.at) / 1_000;
    return seconds <= 0 ? 0 : Math.max(0, now - (before?.turns ?? now)) / seconds; // An archive takes some away.
  });
  return (
    <div class="rates" role="group" aria-label="rates">
      <Chart title="turns a second" values={turns} digits={1} />
      <Chart title="waiting in queues" values={looks.map(({ waiting }) => waiting)} digits={0} />
      <Chart title="longest lag, ms" values={looks.map(({ lagMs }) => lagMs)} digits={0} />
      <Chart title="p95 of tools, ms" values={latest(latencies?.tools)} digits={0} />
      <Chart title="p95 of models, ms" values={latest(latencies?.models)} digits={0} />
    </div>
  );
}

/** By five minutes. */
const latest = (of: Latencies | undefined) => of?.over.map(({ p95 }) => p95) ?? [];

interface ChartProps {
  readonly title: string;
  /** Undefined where there was nothing: the line passes over it. */
  readonly values: readonly (number | undefined)[];
  readonly digits: number;
}

const width = 240;
const height = 40;

/** A line from the left to the right, as high as its largest value. */
function Chart({ title, values, digits }: ChartProps) {
  const most = values.reduce((largest: number, value = 0) => Math.max(largest, value), 0);
  const now = values.findLast((value) => value !== undefined);
  const step = width / Math.max(1, values.length - 1);
  const points = values.flatMap((value, k) => {
    if (value === undefined) return [];
    const up = (most === 0 ? 0 : value / most) * (height - 4);
    return [`${(k * step).toFixed(1)},${(height - up - 2).toFixed(1)}`];
  });
  // A single value is a short line: nothing leads to it.
  const [only] = points;
  const [x = 0, y = 0] = points.length === 1 ? (only ?? "").split(",").map(Number) : [];
  const line = points.length === 1 ? [`${Math.max(0, x - 6)},${y}`, `${x + 6},${y}`] : points;
  const shown = now === undefined ? "…" : digits === 0 ? count(Math.round(now)) : now.toFixed(digits);
  return (
    <figure>
      <figcaption>
        <strong>{shown}</strong> <span class="muted">{title}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${shown} now, ${most.toFixed(digits)} at most`}
      >
        <polyline points={line.join(" ")} />
      </svg>
    </figure>
  );
}
