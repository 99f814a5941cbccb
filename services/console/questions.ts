/**
 * Questions: what is asked of all sagas at once, by a filter or as sums, from the tables (services/tables) and never by reading all
 * ledgers.
 *
 * XQ1 What a person wrote is a value beside a statement, never a part of it.
 */
import type { Amounts } from "../../protocol/budget.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import type { Meant } from "../bulk/act.ts";
import { meantIn, meantWhere } from "../bulk/meant.ts";
import { readRegistry } from "../client/registry.ts";
import type { ClientDeps } from "../client/send.ts";
import type { Answer } from "../tables/ask.ts";
import { type Dialect, filterOf, type SagaOrder, sagasWhere, type Where } from "../tables/filter-sql.ts";
import type { Cell } from "../tables/rows.ts";
import type { CostDocument, FoundDocument, LatenciesDocument, NearBudget, Spent } from "./documents.ts";
import { callsMax, latelyEnded, latenciesOf, timeOf } from "./latencies.ts";
import type { SagaTeller } from "./saga.ts";

/** The tables of a mesh, filled up to now when they are asked. */
export interface Tables {
  readonly dialect: Dialect;
  /**
   * Answers all of these at one time. Throws USAGE, QUERY_TOO_LONG, INDEX_UNUSABLE, and UNAVAILABLE while they are filled the first
   * time, or their database does not answer.
   */
  ask(questions: readonly Where[], rowsMax: number): Promise<readonly Answer[]>;
}

export interface Asking {
  /** The sagas that a filter means, the last change first, or the dearest. Throws USAGE with the condition that is wrong. */
  find(filter: string, order?: SagaOrder): Promise<FoundDocument>;
  /** What was spent in the last so many days, today among them. */
  cost(days: number): Promise<CostDocument>;
  /** How long calls of tools and models took in the last hour. */
  latencies(): Promise<LatenciesDocument>;
  /** The sagas that a filter means, for who is to act on them; `isCut`: it means more. Throws USAGE with the condition that is wrong. */
  meant(filter: string): Promise<{ readonly meant: readonly Meant[]; readonly isCut: boolean }>;
}

const foundMax = 500;
/** Days of a year, and more agents, models and dear sagas that go on than anybody reads. */
const groupsMax = 400;
const nearMax = 20;
/** A budget that is used so far is about to end. */
const nearShare = 0.8;
const dayMs = 86_400_000;

export function createAsking(deps: ClientDeps, teller: SagaTeller, tables: Tables): Asking {
  const { clock } = deps;
  return {
    find: async (filter, order) => {
      const at = clock.now();
      const shown = "saga, agent, version, status, updated, turns, cost, coalesce(error, '')";
      const meant = sagasWhere(filterOf(filter, at), shown, tables.dialect, order);
      const [found] = await tables.ask([meant], foundMax);
      return {
        at,
        isCut: found?.isCut === true,
        rows: rowsOf(found).map(([saga, name, version, status, updated, turns, cost, error]) => ({
          ...{ saga: text(saga), name: text(name), version: number(version), status: text(status) },
          ...{ updatedAt: timeOf(updated), turns: number(turns), usd: number(cost), error: text(error) },
        })),
      };
    },
    cost: async (days) => {
      const at = clock.now();
      const since = new Date(at - (days - 1) * dayMs).toISOString().slice(0, 10);
      const asked = (["day", "agent", "model"] as const).map((column) => spentBy(column, since));
      const [perDay, agents, models, running] = await tables.ask([...asked, runningSagas], groupsMax);
      const near = await nearTheirEnd(deps, teller, rowsOf(running));
      return {
        ...{ at, since },
        days: spentIn(perDay).reverse(),
        agents: spentIn(agents),
        models: spentIn(models),
        near,
      };
    },
    latencies: async () => {
      const at = clock.now();
      const [lately = { rows: [], isCut: false }] = await tables.ask([latelyEnded(at)], callsMax);
      return latenciesOf(lately, at);
    },
    meant: async (filter) => {
      const asked = meantWhere(filter, clock.now(), tables.dialect);
      const [found = { rows: [], isCut: false }] = await tables.ask([asked], foundMax);
      return { meant: meantIn(found), isCut: found.isCut };
    },
  };
}

/** XQ1. What a fork has from its origin was paid once. */
function spentBy(column: "day" | "agent" | "model", since: string): Where {
  const tokens = "input_tokens + cache_read_tokens + cache_write_tokens + output_tokens";
  const order = column === "day" ? "1 desc" : "2 desc, 3 desc, 1"; // What cost the same stays in its place.
  return {
    sql:
      `select coalesce(${column}, ''), sum(coalesce(usd, 0)), sum(${tokens}), count(*) from spending ` +
      `where coalesce(inherited, 0) = 0 and day >= ? group by 1 order by ${order}`,
    values: [since],
  };
}

const spentIn = (answer: Answer | undefined): Spent[] =>
  rowsOf(answer).map(([name, usd, tokens, calls]) => ({
    ...{ name: text(name), usd: number(usd), tokens: number(tokens), calls: number(calls) },
  }));

const rowsOf = (answer: Answer | undefined): Answer["rows"] => answer?.rows ?? [];

/** The dearest of those that go on. */
const runningSagas: Where = {
  sql:
    "select saga, hash, cost, tokens, model_calls, tool_calls, children from sagas " +
    "where status = 'running' order by cost desc",
  values: [],
};

/**
 * Sagas that go on and have used most of a limit. Which they may be the tables say, by what definitions declare; what holds, raises
 * among it, the ledgers of those few.
 */
async function nearTheirEnd(
  { ports }: ClientDeps,
  teller: SagaTeller,
  rows: Answer["rows"],
): Promise<NearBudget[]> {
  const { definitions } = await readRegistry(ports.registry);
  const budgets = new Map(definitions.map(({ hash, budget }) => [hash, budget]));
  const likely = rows
    .map(([saga, hash, usd, tokens, steps, toolCalls, children]) => ({
      saga: text(saga),
      share: shareOf(budgets.get(text(hash)), { usd, tokens, steps, toolCalls, children }),
    }))
    .filter(({ share }) => share >= nearShare)
    .sort((a, b) => b.share - a.share)
    .slice(0, nearMax);
  const read = await Promise.all(
    likely.map(async ({ saga }) => {
      const document = await teller.saga(parseSagaId(saga)).catch(() => undefined); // Its own page says why.
      const limits = limitsOf(document?.budget);
      return limits
        .filter(({ used, most }) => used >= nearShare * most)
        .map((one): NearBudget => ({ saga, ...one }));
    }),
  );
  return read.flat().sort((a, b) => b.used / b.most - a.used / a.most);
}

function shareOf(budget: Amounts | undefined, used: Readonly<Record<string, Cell | undefined>>): number {
  return maxOf(
    Object.entries(budget ?? {}).map(([name, most]) =>
      typeof most === "number" && most > 0 ? number(used[name]) / most : 0,
    ),
    0,
  );
}

const limitsOf = (
  budget: { readonly limits: object; readonly used: object } | undefined,
): { limit: string; used: number; most: number }[] =>
  Object.entries(budget?.limits ?? {}).flatMap(([limit, most]) => {
    const used = (budget?.used as Readonly<Record<string, unknown>> | undefined)?.[limit];
    return typeof most === "number" && typeof used === "number" && most > 0 ? [{ limit, used, most }] : [];
  });

const text = (cell: Cell | undefined): string => String(cell ?? "");
const number = (cell: Cell | undefined): number => Number(cell ?? 0);
