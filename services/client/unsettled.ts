/**
 * Unsettled: the calls, over all sagas, that a person may still settle.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type Many, manyOf, readMany } from "../ledger/many.ts";
import { type AskedCall, type CallRow, type Meant, parseCallQuery } from "../views/query.ts";
import { rowOfLedger } from "../views/saga-row.ts";
import { readLedger, viewOf, type ViewOptions } from "../views/view.ts";
import type { Ports } from "../wire/ports.ts";
import type { UnsettledCall } from "./finding.ts";
import { readRegistry, type Registered, viewingBy } from "./registry.ts";
import { tasksIn } from "./tasks.ts";

/** A call, and whose it is. */
export type FoundCall = UnsettledCall & { readonly saga: SagaId };

/** Which calls are meant. */
interface Wanted {
  /** As `parseCallQuery` takes it; all unless given. */
  readonly query?: string;
  /** Of these sagas; of all unless given. */
  readonly of?: readonly SagaId[];
  readonly now: number;
}

/**
 * Every call in doubt, and every deferred one that is open, that is meant; beside them the sagas that cannot be read. Reads the ledgers
 * of the sagas that are named, or every one. Throws USAGE, UNAVAILABLE.
 */
export async function findUnsettled(
  ports: Ports,
  { query, of, now }: Wanted,
): Promise<{ registered: Registered; found: Many<FoundCall> }> {
  const isMeant = query === undefined ? () => true : parseCallQuery(query, now);
  const registered = await readRegistry(ports.registry);
  const sagas = of ?? (await ports.ledger.list()).map(({ saga }) => saga);
  const read = await readMany(sagas, async (saga) => {
    const turns = await readLedger(ports, saga).catch((error: unknown) => {
      if (isMeshError(error, "SAGA_ARCHIVED")) return undefined;
      throw error;
    });
    const ledger = turns?.map(({ turn }) => turn);
    return ledger && unsettledIn(saga, ledger, viewingBy(registered), isMeant);
  });
  return { registered, found: manyOf(read.flat(), read.unreadable) };
}

function unsettledIn(
  saga: SagaId,
  ledger: readonly Turn[],
  viewing: ViewOptions,
  isMeant: Meant<CallRow>,
): FoundCall[] {
  const view = viewOf(ledger, viewing);
  const row = rowOfLedger(ledger, viewing);
  const tasks = tasksIn(view);
  return view.intents.flatMap((call) => {
    const { intent, outcome } = call;
    const isUnsettled = outcome === "in_doubt" || (outcome === undefined && call.deferred);
    if (intent.kind !== "tool" || !isUnsettled) return [];
    const asked: AskedCall = { tool: intent.name, intent: intent.id, outcome: outcome ?? "open" };
    if (!isMeant({ ...row, call: asked })) return [];
    const task = tasks.find((one) => one.about === "doubt" && one.of === intent.id);
    return [{ saga, call, tool: intent.name, task }];
  });
}
