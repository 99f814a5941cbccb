import { CancelledRow, type SentDocument } from "../../../protocol/documents/stored.ts";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import type { ClientDeps } from "../../client/send.ts";
import { signalSaga } from "../../client/signal.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { ask, askDefaults } from "../../tables/ask.ts";
import { filterHelp, filterOf, sagasWhere } from "../../tables/filter-sql.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { earlyOption } from "../frame/early.ts";
import { table } from "../frame/table.ts";
import { dialectOf, indexUrlOption, tablesUpToNow, withTables } from "./query.ts";

/** Cancelled by one command. */
const sagasMax = 10_000;

/** Asks a saga, or all that a filter means, to undo what it did and end. */
export const cancel = defineCommand({
  name: "cancel",
  summary: "ask a saga to undo what it did and end",
  details:
    "With --query the sagas that it means and that have not ended; they are listed, and cancelled with --yes. Which they are the\n" +
    "tables of `sagamesh query` say, filled up to now. One that cannot be is told, and hides no other; exit code 1 then.",
  positionals: { saga: { help: "the saga's id", optional: true } },
  options: {
    reason: { type: "string", hint: "TEXT", help: "recorded with the cancellation" },
    query: { type: "string", hint: "FILTER", help: `the sagas that are meant: ${filterHelp}` },
    yes: { type: "boolean", help: "with --query: cancel them; without it they are only listed" },
    url: indexUrlOption,
    early: earlyOption,
  },
  examples: [
    `sagamesh cancel hire-41 --reason "the role is filled"`,
    "sagamesh cancel --query 'agent=hire and started<30d' --yes",
  ],
  run: async ({ saga: id, reason, query, yes, url, early }, context) => {
    if ((id === undefined) === (query === undefined))
      throw new MeshError("USAGE", "cancel: SAGA or --query FILTER, one of them");
    if ((yes || url !== undefined) && query === undefined)
      throw new MeshError("USAGE", "cancel: --yes and --url are for --query");
    if (query !== undefined) return cancelMany(withTables(context, url), query, { yes, reason });
    const saga = parseSagaId(id ?? "");
    return withMesh(context, async ({ deps }) => {
      await cancelOne(deps, saga, reason, early);
      const waiting = await waitingOf(deps, saga);
      const document: SentDocument = { saga, sent: "signal", name: "cancel", ...waiting };
      context.output.print(document, () =>
        storedText(`cancel is stored for ${saga}; \`sagamesh tail ${saga}\` shows how it ends`, waiting),
      );
      return 0;
    });
  },
});

const cancelOne = (deps: ClientDeps, saga: SagaId, reason: string | undefined, early = false) =>
  signalSaga(deps, saga, { name: "cancel", data: { reason: reason ?? `cancelled by ${deps.from}` }, early });

/** Those that have not ended, one after the other. */
async function cancelMany(
  context: CommandContext,
  query: string,
  { yes, reason }: { readonly yes: boolean; readonly reason: string | undefined },
): Promise<number> {
  const { output, signal } = context;
  const tests = [...filterOf(query, Date.now()), ...filterOf("status=running", 0)];
  const asked = sagasWhere(tests, "saga, agent", dialectOf(context));
  const at = await tablesUpToNow(context);
  const { rows, isCut } = await ask(at, asked, { ...askDefaults, rowsMax: sagasMax }, signal);
  if (isCut)
    throw new MeshError("USAGE", `cancel: the query means more than ${sagasMax} sagas`, {
      remedy: "Narrow it, for example by its agent or by when they started.",
    });
  const meant = rows.map(([saga, name]) => CancelledRow.parse({ saga, name, sent: "would" }));
  const told = yes ? await withMesh(context, ({ deps }) => cancelAll(deps, meant, reason, signal)) : meant;
  if (output.json) for (const document of told) output.print(document, () => "");
  else output.print(undefined, () => listed(told, yes));
  return told.some(({ sent }) => sent === "refused") ? 1 : 0;
}

async function cancelAll(
  deps: ClientDeps,
  meant: readonly CancelledRow[],
  reason: string | undefined,
  signal: AbortSignal,
): Promise<CancelledRow[]> {
  const told: CancelledRow[] = [];
  for (const one of meant) {
    signal.throwIfAborted();
    const because = await cancelOne(deps, one.saga, reason).then(() => undefined, describeError);
    told.push(because === undefined ? { ...one, sent: "signal" } : { ...one, sent: "refused", because });
  }
  return told;
}

function listed(rows: readonly CancelledRow[], yes: boolean): string {
  if (rows.length === 0) return "no saga is meant";
  const sagas = `${rows.length} saga${rows.length === 1 ? "" : "s"}`;
  const lines = rows.map(({ saga, name, sent, because }) => [saga, name, because ?? sent]);
  return `${table(["SAGA", "AGENT", "CANCELLED"], lines)}\n${yes ? sagas : `${sagas} would be cancelled; --yes does it`}`;
}
