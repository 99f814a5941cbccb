import { briefDefinition } from "../../../protocol/definition-text.ts";
import type { SagaRow } from "../../../protocol/documents/saga.ts";
import { inTrees } from "../../views/children.ts";
import { parseQuery, queryHelp } from "../../views/query.ts";
import { listSagas } from "../../client/list.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { dateOf, describeFork } from "../telling/describe.ts";
import { briefUse } from "../telling/spending.ts";
import { table } from "../frame/table.ts";
import { tellUnreadable } from "../frame/unreadable.ts";

/** All sagas. */
export const ls = defineCommand({
  name: "ls",
  summary: "list the sagas",
  details:
    "Reads every ledger. Sub-agents stand below who started them, indented; else the one that changed last comes last. Exit code 1 if one cannot be read, whatever the query.",
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
    if (query !== undefined) parseQuery(query, Date.now()); // What is wrong with it is told before a server is asked.
    return withMesh(context, async ({ ports, clock }) => {
      const shown = await listSagas(ports, { running, name, query }, clock.now());
      const { output } = context;
      if (output.json) for (const { row } of inTrees(shown)) output.print(row, () => "");
      else output.print(undefined, () => describe(shown));
      return tellUnreadable(output, shown.unreadable);
    });
  },
});

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
