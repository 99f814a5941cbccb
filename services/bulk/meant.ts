/**
 * Meant: the sagas that a filter means, as the tables have them.
 */
import { parseSagaId } from "../../protocol/ids.ts";
import type { Answer } from "../tables/ask.ts";
import { type Dialect, filterOf, sagasWhere, type Where } from "../tables/filter-sql.ts";
import type { Meant } from "./act.ts";

/** The question to the tables. Throws USAGE with the condition that is wrong. */
export const meantWhere = (filter: string, now: number, dialect: Dialect): Where =>
  sagasWhere(
    filterOf(filter, now),
    "saga, agent, status, coalesce(in_doubt, 0) + coalesce(open, 0)",
    dialect,
  );

/** What they answer it. */
export const meantIn = ({ rows }: Pick<Answer, "rows">): Meant[] =>
  rows.map(([saga, name, status, unsettled]) => ({
    saga: parseSagaId(String(saga)),
    ...{ name: String(name ?? ""), status: String(status ?? ""), unsettled: Number(unsettled ?? 0) },
  }));
