/**
 * Drawn filters: filters by chance, sagas that they are asked of, and these in tables. For whoever asks another database the same.
 */
import fc from "fast-check";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { timeText } from "../../services/tables/rows.ts";
import type { Batch } from "../../services/tables/store.ts";

/** The moment that filters are read at. */
export const filteredAt = Date.UTC(2026, 5, 10);

const names = ["hire", "hire_all", `it's "so"`, "a%b_c", "x*"];
/** The sagas, as they are listed. */
export const filteredRows: readonly SagaRow[] = Array.from({ length: 60 }, (_, k) => ({
  ...{ saga: parseSagaId(`s-${k}`), name: names[k % names.length]!, version: (k % 3) + 1, hash: "h" },
  ...{ status: (["running", "completed", "failed", "cancelled"] as const)[k % 4]!, turns: k },
  ...{ startedAt: filteredAt - k * 3_600_000, updatedAt: filteredAt - k * 1_800_000, waitsFor: [] },
  used: { usd: (k % 7) / 4 },
  ...(k % 5 === 0 ? { parent: { saga: parseSagaId(`s-${k + 1}`), intent: "1-0" as never } } : {}),
}));

/** The same with two calls and a text each, as they are written into tables. */
export const filteredBatch: Batch = {
  places: new Map(),
  sagas: filteredRows.map(({ saga, ...row }, k) => ({
    ...{ saga, anew: true, fault: undefined, gone: [], archived: undefined },
    head: { shard: 0, turn: 1, seq: k + 1, hash: "h", archived: false },
    rows: [
      {
        table: "sagas",
        cells: {
          ...{ saga, agent: row.name, version: row.version, status: row.status, turns: row.turns },
          ...{ started: timeText(row.startedAt), updated: timeText(row.updatedAt), cost: row.used?.usd },
          ...{ parent: row.parent?.saga, tokens: k, error: k % 2 === 0 ? "FAILED" : null },
        },
      },
      ...(["charge", "refund"] as const).map((name, place) => ({
        table: "intents" as const,
        cells: {
          ...{ saga, intent: `1-${place}`, kind: "tool", name },
          outcome: (k + place) % 3 === 0 ? "in_doubt" : "succeeded",
        },
      })),
      {
        table: "messages",
        cells: { saga, turn: 1, place: 0, role: "start", text: `number ${k} "quoted" and so` },
      },
    ],
  })),
};

const value = fc.oneof(
  fc.constantFrom(
    ...names,
    "",
    "*",
    "hire*",
    `' or 1=1 --`,
    `"); drop table sagas; --`,
    "and",
    " and ",
    "a\nb",
  ),
  fc.string({ unit: "binary" }),
);
export const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const texts = fc.tuple(fc.constantFrom("name", "agent", "id", "parent"), fc.constantFrom("=", "!="), value);
const words = fc.tuple(
  fc.constant("status"),
  fc.constantFrom("=", "!="),
  fc.constantFrom("running", "completed", "failed", "cancelled"),
);
const orders = fc.constantFrom("=", "!=", "<", "<=", ">", ">=");
const numbers = fc.tuple(
  fc.constantFrom("version", "turns", "cost"),
  orders,
  fc.oneof(
    fc.constantFrom("0.5", "1", "-0", "1e3"),
    fc.nat(60).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  ),
);
const times = fc.tuple(
  fc.constantFrom("started", "changed", "ended"),
  fc.constantFrom("<", "<=", ">", ">="),
  fc.oneof(
    fc.constantFrom("7h", "1d", "2026-06-09", "2026-06-09T12:00Z", "99999w"),
    fc
      .date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true })
      .map((at) => at.toISOString()),
  ),
);
const condition = fc
  .oneof(texts, words, numbers, times)
  .map(([field, op, text]) => `${field}${op}${quoted(text)}`);
/** Any filter of what a row says. */
export const drawnFilter = fc
  .array(condition, { minLength: 1, maxLength: 4 })
  .map((all) => all.join(" and "));
