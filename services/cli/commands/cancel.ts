import { CancelledRow, type SentDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { cancelling, cancelSaga } from "../../bulk/cancel.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { earlyOption } from "../frame/early.ts";
import { table } from "../frame/table.ts";
import { actOn, meantOptions, sagasMeant } from "./meant.ts";
import { indexUrlOption, withTables } from "./query.ts";

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
    ...meantOptions,
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
      await cancelSaga(deps, saga, { reason, early });
      const waiting = await waitingOf(deps, saga);
      const document: SentDocument = { saga, sent: "signal", name: "cancel", ...waiting };
      context.output.print(document, () =>
        storedText(`cancel is stored for ${saga}; \`sagamesh tail ${saga}\` shows how it ends`, waiting),
      );
      return 0;
    });
  },
});

/** Those that have not ended, one after the other. */
async function cancelMany(
  context: CommandContext,
  query: string,
  { yes, reason }: { readonly yes: boolean; readonly reason: string | undefined },
): Promise<number> {
  const { output, signal } = context;
  const meant = await sagasMeant(context, "cancel", query);
  const names = new Map(meant.map(({ saga, name }) => [saga, name]));
  const told = await withMesh(context, async ({ deps }) =>
    (await actOn(cancelling(deps, { reason }), meant, { yes, signal })).map(({ saga, is, because }) =>
      CancelledRow.parse({
        ...{ saga, name: names.get(saga), because },
        sent: is === "done" ? "signal" : is,
      }),
    ),
  );
  if (output.json) for (const document of told) output.print(document, () => "");
  else output.print(undefined, () => listed(told, yes));
  return told.some(({ sent }) => sent === "refused") ? 1 : 0;
}

function listed(rows: readonly CancelledRow[], yes: boolean): string {
  if (rows.length === 0) return "no saga is meant";
  const sagas = `${rows.length} saga${rows.length === 1 ? "" : "s"}`;
  const lines = rows.map(({ saga, name, sent, because }) => [saga, name, because ?? sent]);
  return `${table(["SAGA", "AGENT", "CANCELLED"], lines)}\n${yes ? sagas : `${sagas} would be cancelled; --yes does it`}`;
}
