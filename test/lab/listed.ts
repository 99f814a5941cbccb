/**
 * Listed: whether who asks by the listing is told what the ledgers say, all through a run.
 *
 * LX1 What is judged stood before the look and stands after it, so nothing that changed meanwhile is.
 * LX2 One look decides nothing: a server that lags, or leads no more, may tell of a time before. What two in a row say is said.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { SagaId } from "../../protocol/ids.ts";
import { listSagas } from "../../services/client/list.ts";
import { openTasks } from "../../services/client/tasks.ts";
import { accountOf } from "../../services/ledger/account-reader.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { viewOfAccount } from "../../services/views/view.ts";
import type { Ports } from "../../services/wire/ports.ts";

/** How a saga stands by its ledger: running or how it ended, and its open tasks. */
export interface Stand {
  readonly status: string;
  readonly tasks: readonly string[];
}

/** What a look by the listing says, in the same words. */
export interface Looked {
  readonly statuses: ReadonlyMap<string, string>;
  readonly tasks: ReadonlySet<string>;
}

/** The watch over one run. */
export interface ListedWatch {
  /** What was said otherwise than it stood (LX2). */
  readonly wrong: ReadonlySet<string>;
  /** How many looks were answered, and how many of them by the rows. */
  counts(): { readonly looks: number; readonly byRows: number };
  stop(): Promise<void>;
}

const everyMs = 3_000;

/** Looks until it is stopped. `read` gives the ledgers as they are. */
export function watchListed(
  ports: Ports,
  read: () => Promise<ReadonlyMap<SagaId, readonly StoredTurn[]>>,
): ListedWatch {
  const over = new AbortController();
  const wrong = new Set<string>();
  let last: ReadonlySet<string> = new Set();
  let [looks, byRows] = [0, 0];
  const lookOnce = async () => {
    const before = standsOf(await read());
    let isByRows = true;
    const told = () => (isByRows = false);
    const tasks = await openTasks(ports, told);
    const rows = await listSagas(ports, {}, Date.now(), told);
    const after = standsOf(await read());
    looks += 1;
    byRows += Number(isByRows);
    const found = new Set(
      misTold(before, after, {
        statuses: new Map(rows.map(({ saga, status }) => [saga, status])),
        tasks: new Set(tasks.map(({ saga, intent }) => `${saga} ${intent}`)),
      }),
    );
    for (const what of found) if (last.has(what)) wrong.add(what);
    last = found;
  };
  const looking = (async () => {
    while (!over.signal.aborted) {
      await lookOnce().catch(() => undefined); // Not answered: nothing was told.
      await delay(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  return {
    wrong,
    counts: () => ({ looks, byRows }),
    stop: async () => {
      over.abort();
      await looking;
    },
  };
}

/** LX1, in words. */
export function misTold(
  before: ReadonlyMap<string, Stand>,
  after: ReadonlyMap<string, Stand>,
  { statuses, tasks }: Looked,
): string[] {
  return [...before].flatMap(([saga, { status, tasks: open }]) => {
    const now = after.get(saga);
    if (now?.status !== status) return [];
    const told = statuses.get(saga);
    const missing = open.filter((task) => now.tasks.includes(task) && !tasks.has(`${saga} ${task}`));
    return [
      ...(told === status ? [] : [`${saga} is ${status} and was listed as ${told ?? "nothing"}`]),
      ...missing.map((task) => `${saga} asks by ${task} and was not listed`),
    ];
  });
}

function standsOf(ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>): Map<string, Stand> {
  const stands = new Map<string, Stand>();
  for (const [saga, turns] of ledgers) {
    if (turns.length === 0) continue;
    const { status, open } = viewOfAccount(accountOf(turns.map(({ turn }) => turn)), {});
    stands.set(saga, {
      status,
      tasks: open.flatMap(({ intent }) => (intent.kind === "task" ? [intent.id] : [])),
    });
  }
  return stands;
}
