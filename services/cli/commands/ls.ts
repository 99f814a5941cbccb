import type { SagaRow } from "../../../protocol/documents/saga.ts";
import { describeError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Tombstone } from "../../../protocol/tombstone.ts";
import { inTrees } from "../../views/children.ts";
import { parseQuery, queryHelp } from "../../views/query.ts";
import { steeringOf } from "../../views/steering-view.ts";
import { type IntentView, readLedger, type ViewOptions, viewOf } from "../../views/view.ts";
import { readRegistry, viewingBy } from "../../client/registry.ts";
import { findTombstone } from "../../ledger/reader.ts";
import type { Ports } from "../../wire/ports.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { dateOf, describeFork } from "../telling/describe.ts";
import { briefUse, usedBy } from "../telling/spending.ts";
import { table } from "../frame/table.ts";

/** Ledgers read at a time. */
const concurrencyMax = 8;

/** All sagas. */
export const ls = defineCommand({
  name: "ls",
  summary: "list the sagas",
  details:
    "Reads every ledger. Sub-agents stand below who started them, indented; else the one that changed last comes last.",
  positionals: {},
  options: {
    running: { type: "boolean", help: "only those that have not ended" },
    name: { type: "string", hint: "NAME", help: "only those of this definition" },
    query: { type: "string", hint: "QUERY", help: queryHelp },
  },
  examples: [
    "sagamesh ls --running",
    "sagamesh ls --query 'agent=hire_for_role and status=completed and started>7d'",
  ],
  run: async ({ running, name, query }, context) => {
    const isMeant = query === undefined ? () => true : parseQuery(query, Date.now());
    return withMesh(context, async ({ ports }) => {
      const options = viewingBy(await readRegistry(ports.registry));
      const rows = await readRows(ports, options);
      const shown = rows.filter(
        (row) =>
          (!running || row.status === "running") && (name === undefined || row.name === name) && isMeant(row),
      );
      if (context.output.json) for (const { row } of inTrees(shown)) context.output.print(row, () => "");
      else context.output.print(undefined, () => describe(shown));
      return 0;
    });
  },
});

export async function readRows(ports: Ports, options: ViewOptions): Promise<SagaRow[]> {
  const sagas = (await ports.ledger.list()).values();
  const rows: SagaRow[] = [];
  const readSome = async () => {
    for (const { saga, turns } of sagas) rows.push(await readRow(ports, saga, turns, options));
  };
  await Promise.all(Array.from({ length: concurrencyMax }, readSome));
  return rows.sort((a, b) => a.updatedAt - b.updatedAt || (a.saga < b.saga ? -1 : 1));
}

/** One saga's row; a ledger that cannot be read is a row that says so, and hides no other. */
async function readRow(ports: Ports, saga: SagaId, turns: number, options: ViewOptions): Promise<SagaRow> {
  try {
    const tombstone = await findTombstone(ports, saga);
    if (tombstone !== undefined) return rowOf(tombstone);
    const ledger = (await readLedger(ports, saga)).map(({ turn }) => turn);
    const view = viewOf(ledger, options);
    const { name, version } = view.definition;
    return {
      ...{
        saga,
        name,
        version,
        status: view.status,
        turns: view.turns,
        startedAt: view.startedAt,
        updatedAt: view.updatedAt,
      },
      waitsFor: view.phase === "running" && view.open.length === 0 ? ["signal"] : view.open.map(waitOf),
      ...(view.parent === undefined ? {} : { parent: view.parent }),
      ...(view.migrations?.[0] === undefined ? {} : { startedAs: view.migrations[0].from }),
      ...(view.fork === undefined ? {} : { fork: view.fork }),
      ...steeringOf(ledger),
      used: usedBy(view),
      ...(view.budget === undefined ? {} : { limits: view.budget.limits }),
    };
  } catch (error) {
    return {
      saga,
      name: "?",
      version: 0,
      status: "running",
      turns,
      startedAt: 0,
      updatedAt: 0,
      waitsFor: [],
      fault: describeError(error),
    };
  }
}

function rowOf({ saga, definition, end, turns, startedAt, endedAt, parent, fork, file }: Tombstone): SagaRow {
  const { name, version } = definition;
  return {
    ...{ saga, name, version, status: end.status, turns, startedAt, updatedAt: endedAt, waitsFor: [] },
    ...(parent === undefined ? {} : { parent }),
    ...(fork === undefined ? {} : { fork }),
    archived: file,
  };
}

function waitOf({ intent }: IntentView): string {
  if (intent.kind === "task") return intent.about;
  return "name" in intent ? `${intent.kind} ${intent.name}` : intent.kind;
}

function describe(rows: readonly SagaRow[]): string {
  if (rows.length === 0) return "no sagas";
  return table(
    ["SAGA", "DEFINITION", "STATUS", "TURNS", "USED", "CHANGED", "WAITS FOR", ""],
    inTrees(rows).map(({ row, depth }) => [
      `${"  ".repeat(depth)}${row.saga}`,
      `${row.name}@${row.version}${row.startedAs === undefined ? "" : ` (was @${row.startedAs.version})`}`,
      statusOf(row),
      String(row.turns),
      briefUse(row.used, row.limits),
      dateOf(row.updatedAt),
      row.fault ?? (row.paused === undefined ? row.waitsFor : ["resume", ...row.waitsFor]).join(", "),
      ...(row.fork === undefined ? [] : [describeFork(row.fork)]),
    ]),
  );
}

function statusOf({ status, paused, flags = [], archived, fault }: SagaRow): string {
  if (fault !== undefined) return "unreadable";
  return [
    status,
    ...(paused === undefined ? [] : ["paused"]),
    ...(flags.length === 0 ? [] : ["flagged"]),
    ...(archived === undefined ? [] : ["archived"]),
  ].join(", ");
}
