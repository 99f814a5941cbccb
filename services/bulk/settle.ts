/**
 * Settle: what became of many calls that are open outside or in doubt, by one answer for all of them.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { type Finder, type Finding, isSettledAs, settleCall, unsettledCall } from "../client/finding.ts";
import { readRegistry, viewingBy } from "../client/registry.ts";
import type { ClientDeps } from "../client/send.ts";
import { findUnsettled, type FoundCall } from "../client/unsettled.ts";
import { readView } from "../views/view.ts";
import { type BulkAct, type BulkRow, oneByOne } from "./act.ts";

/**
 * Stores what was found of one call, by its ledger as it is now; what is settled so already is left so. Throws INTENT_UNKNOWN,
 * INPUT_INVALID, VOTER_NOT_ASKED, SAGA_UNKNOWN, UNAVAILABLE.
 */
export async function settleFound(
  deps: ClientDeps,
  { saga, intent }: { readonly saga: SagaId; readonly intent: IntentId },
  finding: Finding,
  who: Finder,
): Promise<"vote" | "result" | "already"> {
  const registered = await readRegistry(deps.ports.registry);
  const view = await readView(deps.ports, saga, viewingBy(registered));
  if (isSettledAs(view, intent, finding)) return "already";
  const unsettled = unsettledCall(view, intent, finding);
  return settleCall(deps, registered, { saga, ...unsettled }, finding, who);
}

/** Of sagas of which something is open or in doubt the ledgers are read, and of no others. Without a finding it can only be looked. */
export const settling = (
  deps: ClientDeps,
  { finding, who }: { readonly finding: Finding | undefined; readonly who: Finder },
): BulkAct => ({
  look: async (meant) => {
    const of = meant.filter(({ unsettled }) => unsettled > 0).map(({ saga }) => saga);
    const { found } = await findUnsettled(deps.ports, { of, now: deps.clock.now() });
    const calls = Map.groupBy(found, ({ saga }) => saga);
    const unreadable = new Map(
      found.unreadable.map(({ saga, code, reason }) => [saga, `[${code}] ${reason}`]),
    );
    return meant.flatMap(({ saga, name }): BulkRow[] => {
      const because = unreadable.get(saga);
      if (because !== undefined) return [{ saga, what: name, is: "refused", because }];
      const own = calls.get(saga);
      if (own !== undefined) return own.map(rowOfCall);
      return [{ saga, what: name, is: "kept", because: "no call of it is in doubt, or open outside" }];
    });
  },
  perform: oneByOne(async ({ saga, intent }) => {
    if (finding === undefined || intent === undefined)
      throw new MeshError("USAGE", "a call is settled by what became of it");
    const sent = await settleFound(deps, { saga, intent }, finding, who);
    return sent === "already"
      ? { what: intent, is: "kept", because: "it is settled so already" }
      : { what: `${intent}: a ${sent} is stored`, is: "done" };
  }),
});

const rowOfCall = ({ saga, call, tool, task }: FoundCall): BulkRow => ({
  ...{ saga, intent: call.intent.id, is: "would" },
  what:
    `${tool} ${call.intent.id}, ${call.outcome === "in_doubt" ? "in doubt" : "open outside"}` +
    (task === undefined ? "" : `, about which ${task.to.join(", ") || "anyone"} is asked`),
});
