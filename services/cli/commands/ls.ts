import { briefDefinition } from "../../../protocol/definition-text.ts";
import { type SagaRow, SagaStatus } from "../../../protocol/documents/saga.ts";
import type { UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import { inTrees } from "../../views/children.ts";
import { parseQuery, queryHelp } from "../../views/query.ts";
import { listSagas } from "../../client/list.ts";
import { assertFilter, type SagaFilter } from "../../client/saga-filter.ts";
import { listPages } from "../../client/listed.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { dateOf, describeFork } from "../telling/describe.ts";
import { countOf } from "./replay-settings.ts";
import { briefUse } from "../telling/spending.ts";
import type { Output } from "../frame/output.ts";
import type { Ports } from "../../wire/ports.ts";
import { table } from "../frame/table.ts";
import { tellUnreadable } from "../frame/unreadable.ts";

/** All sagas. */
export const ls = defineCommand({
  name: "ls",
  summary: "list the sagas",
  details:
    "Sub-agents stand below who started them, indented; else the one that changed last comes last. With --json, --limit or --after they come as they are found, in the order in which it last changed how they stand. Where the listing of sagas is not whole, and with --archived, every ledger is read. Exit code 1 if one cannot be read, whatever the query.",
  positionals: {},
  options: {
    running: { type: "boolean", help: "only those that have not ended" },
    status: {
      type: "string",
      hint: "STATUS",
      help: `only those that stand so: ${SagaStatus.options.join(", ")}`,
    },
    name: { type: "string", hint: "NAME", help: "only those of this definition" },
    query: { type: "string", hint: "QUERY", help: queryHelp },
    limit: { type: "string", hint: "N", help: "at most so many" },
    after: { type: "string", hint: "SAGA", help: "only those behind this one, the last that was shown" },
    archived: { type: "boolean", help: "archived ones too" },
  },
  examples: [
    "sagamesh ls --running",
    "sagamesh ls --status failed --limit 20",
    "sagamesh ls --query 'agent=hire_for_role and status=completed and started>7d'",
  ],
  run: async ({ limit, status, ...words }, context) => {
    const given = {
      ...words,
      status: status as SagaRow["status"] | undefined,
      limit: countOf("limit", limit),
    };
    assertFilter(given);
    if (given.query !== undefined) parseQuery(given.query, Date.now()); // What is wrong with it is told before a server is asked.
    return withMesh(context, async ({ ports, clock }) => {
      const { output } = context;
      if (output.json) return tellUnreadable(output, await printPages(output, ports, given, clock.now()));
      const shown = await listSagas(ports, given, clock.now(), output.note);
      output.print(undefined, () => describe(shown));
      if (shown.length === given.limit) output.note(`more: --after ${shown.at(-1)?.saga}`);
      return tellUnreadable(output, shown.unreadable);
    });
  },
});

/** As they are found. */
async function printPages(
  output: Output,
  ports: Ports,
  filter: SagaFilter,
  now: number,
): Promise<readonly UnreadableSaga[]> {
  const all: UnreadableSaga[] = [];
  for await (const { rows, unreadable } of listPages(ports, filter, now, output.note)) {
    for (const row of rows) output.print(row, () => "");
    all.push(...unreadable);
  }
  return all;
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
      row.fault ?? awaitedBy(row).join(", "),
      ...(row.fork === undefined ? [] : [describeFork(row.fork)]),
    ]),
  );
}

/** What must happen before anything else does comes first. */
const awaitedBy = ({ unserved, parked, paused, waitsFor }: SagaRow): string[] => [
  ...(parked === undefined ? [] : [`${parked.code}, see inspect`]),
  ...(unserved === undefined ? [] : [`a host of ${briefDefinition(unserved)}`]),
  ...(paused === undefined ? [] : ["resume"]),
  ...waitsFor,
];

function statusOf({ status, paused, parked, flags = [], archived, fault }: SagaRow): string {
  if (fault !== undefined) return "unreadable";
  return [
    status,
    ...(paused === undefined ? [] : ["paused"]),
    ...(parked === undefined ? [] : ["parked"]),
    ...(flags.length === 0 ? [] : ["flagged"]),
    ...(archived === undefined ? [] : ["archived"]),
  ].join(", ");
}
