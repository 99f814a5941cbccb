import { MeshError } from "../../../protocol/errors.ts";
import type { BulkAct, BulkRow, Meant } from "../../bulk/act.ts";
import { meantIn, meantWhere } from "../../bulk/meant.ts";
import { ask, askDefaults } from "../../tables/ask.ts";
import { filterHelp } from "../../tables/filter-sql.ts";
import type { CommandContext } from "../frame/context.ts";
import { dialectOf, tablesUpToNow } from "./query.ts";

/** Meant by one command. */
const sagasMax = 10_000;

/** The sagas on which a command is to act. */
export const meantOptions = {
  query: { type: "string", hint: "FILTER", help: `the sagas that are meant: ${filterHelp}` },
  yes: { type: "boolean", help: "with --query: do it; without it they are only listed" },
} as const;

/** Those that a filter means, by tables that are filled up to now. Throws USAGE for a filter that is none, and for too many. */
export async function sagasMeant(context: CommandContext, command: string, filter: string): Promise<Meant[]> {
  const asked = meantWhere(filter, Date.now(), dialectOf(context));
  const at = await tablesUpToNow(context);
  const answer = await ask(at, asked, { ...askDefaults, rowsMax: sagasMax }, context.signal);
  if (!answer.isCut) return meantIn(answer);
  throw new MeshError("USAGE", `${command}: the query means more than ${sagasMax} sagas`, {
    remedy: "Narrow it, for example by its agent or by when they started.",
  });
}

/** What would be done, or with `yes` what came of it; what is left as it is is no part of it. */
export async function actOn(
  act: BulkAct,
  meant: readonly Meant[],
  { yes, signal }: { readonly yes: boolean; readonly signal: AbortSignal },
): Promise<BulkRow[]> {
  const would = (await act.look(meant)).filter((row) => row.is !== "kept");
  if (!yes) return would;
  const rows: BulkRow[] = would.filter((row) => row.is === "refused");
  const tell = (row: BulkRow) => void rows.push(row);
  await act.perform(
    would.filter((row) => row.is === "would"),
    tell,
    signal,
  );
  return rows;
}
