/**
 * Simulate: how a call of a fork is answered whose effects are simulated. Nothing outside hears of it.
 *
 * SL1 A call that recurs is answered as the origin's ledger has it (recorded-results.ts); any other by a value that its
 *    schema accepts. `by` says which, so a reader of the ledger sees what was never observed.
 * SL2 No answer of the origin's is given to two calls: what was given before stands in the fork's own ledger, and of
 *    calls that are open beside each other the earlier one comes first.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { noSpending } from "../../actors/kernel/spending.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import type { UndoneChild } from "../../actors/kernel/undo-child.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { answeredIn, simulatedBy } from "../../protocol/fork.ts";
import { type IntentId, placeOf, type SagaId, turnOf } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import { assertNotArchived, emptyHead, readTurns } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Performed } from "../perform/outcome.ts";
import {
  type AskedCall,
  type RecordedCall,
  recordedCalls,
  type Recordings,
  recordings,
} from "../ledger/recorded-results.ts";
import type { HostDeps } from "./host-deps.ts";
import { lastTurnOf } from "../ledger/chain.ts";

/** A fork as its host has it. */
export interface SimulatedSaga {
  readonly definition: Definition;
  readonly state: SagaState;
}

/** Answers one call. Throws UNAVAILABLE. */
export async function simulate(
  deps: Pick<HostDeps, "ports" | "clock">,
  { definition, state }: SimulatedSaga,
  open: OpenIntent,
): Promise<Answered> {
  const { intent } = open;
  if (intent.kind === "signal") return answered(open, { outcome: "succeeded", output: null });
  if (intent.kind === "saga" && intent.undoes !== undefined) {
    const undone: UndoneChild = { standing: [] };
    return answered(open, { outcome: "succeeded", output: toJson(undone) });
  }
  const found = await findRecorded(deps, { definition, state }, open);
  if (found !== undefined) return answered(open, found.corrected?.result ?? found.result, found.intent.id);
  return answered(open, await standIn(definition, open));
}

type Answered = Extract<Performed, { type: "result" }>;

/** A child that never ran has used nothing. */
const answered = ({ intent }: OpenIntent, result: Result, as?: IntentId): Answered => ({
  type: "result",
  result,
  by: simulatedBy(as),
  ...(intent.kind === "saga" ? { spent: noSpending } : {}),
});

async function findRecorded(
  deps: Pick<HostDeps, "ports" | "clock">,
  { definition, state }: SimulatedSaga,
  open: OpenIntent,
): Promise<RecordedCall | undefined> {
  const lineage = state.fork?.lineage;
  const asked = askedOf(open);
  if (lineage === undefined || asked === undefined) return undefined;
  const [own, origin] = await Promise.all([turnsOf(deps, state.saga), turnsOf(deps, lineage.saga)]);
  const recorded = recordedCalls(origin);
  const { tools, sagas } = definition;
  const record = recordings(recorded, (name) => tools.get(name) ?? sagas.get(name));
  const taken = takenBefore(own, open.intent.id);
  // What was decided in the shared turns was the fork's own; only the very call may be answered by itself.
  for (const { intent } of recorded) if (turnOf(intent.id) <= lineage.turn) taken.add(intent.id);
  if (turnOf(open.intent.id) <= lineage.turn) taken.delete(open.intent.id);
  takeForOthers(record, taken, { state, before: open.intent.id });
  return record.find(asked, taken);
}

function askedOf({ intent, input }: OpenIntent): AskedCall | undefined {
  if (intent.kind === "tool") return { kind: "tool", name: intent.name, key: intent.key, input };
  return intent.kind === "saga" ? { kind: "saga", name: intent.name, input } : undefined;
}

/** SL2. Another attempt of the same call has the same answer. */
function takenBefore(own: readonly Turn[], except: IntentId): Set<IntentId> {
  const taken = new Set<IntentId>();
  for (const { steps } of own)
    for (const { event } of steps) {
      const as = event.type === "result" && event.intent !== except ? answeredIn(event.by) : undefined;
      if (as !== undefined) taken.add(as);
    }
  return taken;
}

/** SL2. Earlier calls that are open still. */
function takeForOthers(
  record: Recordings,
  taken: Set<IntentId>,
  { state, before }: { readonly state: SagaState; readonly before: IntentId },
): void {
  const others = Object.values(state.open)
    .filter(({ intent }) => isBefore(intent.id, before))
    .sort((a, b) => (isBefore(a.intent.id, b.intent.id) ? -1 : 1));
  for (const other of others) {
    const asked = askedOf(other);
    const found = asked === undefined ? undefined : record.find(asked, taken);
    if (found !== undefined) taken.add(found.intent.id);
  }
}

const isBefore = (a: IntentId, b: IntentId): boolean =>
  turnOf(a) < turnOf(b) || (turnOf(a) === turnOf(b) && placeOf(a) < placeOf(b));

/** A ledger as it is now; none of an origin that is gone, whose calls are then answered by stand-ins. */
async function turnsOf({ ports, clock }: Pick<HostDeps, "ports" | "clock">, saga: SagaId): Promise<Turn[]> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined) return [];
  try {
    await assertNotArchived(ports.blobs, last);
    const turns = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
    return turns.map(({ turn }) => turn);
  } catch (error) {
    if (!isMeshError(error, "SAGA_ARCHIVED")) throw error;
    return [];
  }
}

/** The generator of samples is loaded when one is needed: few hosts ever do. */
export async function standIn(definition: Definition, { intent }: OpenIntent): Promise<Result> {
  const name = "name" in intent ? intent.name : "";
  const callee = intent.kind === "tool" ? definition.tools.get(name) : definition.sagas.get(name);
  const { sampleOf } = await import("../app/sample.ts");
  try {
    return { outcome: "succeeded", output: callee === undefined ? null : sampleOf(callee.output) };
  } catch (error) {
    const code = isMeshError(error) ? error.code : "SAMPLE_IMPOSSIBLE";
    return { outcome: "failed", code, reason: describeError(error), retry: false };
  }
}
