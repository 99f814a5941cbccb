/** Tell foreign: that somebody else publishes on ledgers, for the people who operate the mesh. */
import type { SagaId } from "../../protocol/ids.ts";
import type { ChainSource } from "../ledger/chain.ts";
import type { Log } from "../process/log.ts";
import type { Observer } from "./host-deps.ts";

/** Sagas remembered as told of; beyond, one is told of again. */
const rememberedMax = 1_000;

/** Counts each time, and says it once for each saga. */
export function tellForeign(log: Log, observe: Pick<Observer, "foreign">): NonNullable<ChainSource["met"]> {
  const told = new Set<SagaId>();
  return (saga, messages) => {
    observe.foreign(messages);
    if (told.has(saga)) return;
    if (told.size >= rememberedMax) told.clear();
    told.add(saga);
    log.warn({ sagaId: saga, messages }, "messages on a ledger are no turns");
  };
}
