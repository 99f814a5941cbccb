/**
 * Unsettled: the calls, over all sagas, that a person may still settle.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type AskedCall, parseCallQuery } from "../views/query.ts";
import { rowOfLedger } from "../views/saga-row.ts";
import { readLedger, viewOf } from "../views/view.ts";
import type { Ports } from "../wire/ports.ts";
import type { UnsettledCall } from "./finding.ts";
import { readRegistry, type Registered, viewingBy } from "./registry.ts";
import { tasksIn } from "./tasks.ts";

/** Every call in doubt, and every deferred one that is open, that the query means. Reads every ledger. Throws USAGE. */
export async function findUnsettled(
  ports: Ports,
  query: string,
  now: number,
): Promise<{ registered: Registered; found: (UnsettledCall & { readonly saga: SagaId })[] }> {
  const isMeant = parseCallQuery(query, now);
  const registered = await readRegistry(ports.registry);
  const found: (UnsettledCall & { readonly saga: SagaId })[] = [];
  for (const { saga } of await ports.ledger.list()) {
    const turns = await readLedger(ports, saga).catch((error: unknown) => {
      if (isMeshError(error) && error.code !== "UNAVAILABLE") return []; // Archived, or not to be read: `ls` says so.
      throw error;
    });
    if (turns.length === 0) continue;
    const ledger = turns.map(({ turn }) => turn);
    const view = viewOf(ledger, viewingBy(registered));
    const row = rowOfLedger(ledger, viewingBy(registered));
    const tasks = tasksIn(view);
    for (const call of view.intents) {
      const { intent, outcome } = call;
      const isUnsettled = outcome === "in_doubt" || (outcome === undefined && call.deferred);
      if (intent.kind !== "tool" || !isUnsettled) continue;
      const asked: AskedCall = { tool: intent.name, intent: intent.id, outcome: outcome ?? "open" };
      if (!isMeant({ ...row, call: asked })) continue;
      const task = tasks.find((one) => one.about === "doubt" && one.of === intent.id);
      found.push({ saga, call, tool: intent.name, task });
    }
  }
  return { registered, found };
}
