/**
 * Cancel bare: a cancellation decided without the saga's machine, for a saga whose processes die of what they take. One turn:
 * the runtime takes back all that stands, and whoever loads the saga from then on folds it without the machine.
 *
 * CY1 Nothing of the machine runs here (actors/kernel/bare.ts). It is decided once: the same cancellation again is known.
 * CY2 What the saga's host performed may be what kills: how those attempts ended is told by their claims, and nothing of
 *     them is performed again. One that has no claim to tell, for it may be repeated, is in doubt: it is undone by its key.
 */
import { lastTurnOf } from "../ledger/chain.ts";
import { accept } from "../../actors/kernel/accept.ts";
import { type DecidedTurn, decideTurn } from "../../actors/kernel/fold.ts";
import { isUnfinishedFork } from "../../actors/kernel/lineage.ts";
import { presentDefinition } from "../../actors/kernel/replay.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { isOwnWork, type OpenIntent, type SagaState } from "../../actors/contract/state.ts";
import type { MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import { bareStateOf, isBare } from "../ledger/bare-state.ts";
import { emptyHead, type Head, isTombstone, readTurns } from "../ledger/reader.ts";
import { claimsOf } from "../perform/asked.ts";
import { resultOfKilled } from "../perform/killed.ts";
import { patiently } from "../wire/patience.ts";
import { appendTurn } from "./append.ts";
import type { HostDeps } from "./host-deps.ts";
import { encodeTurn, traceIdOf } from "./turn-message.ts";
import { foldInPieces } from "./fold-up.ts";

/** A saga as its ledger tells of it without its machine. */
export interface BareSaga {
  readonly definition: Definition;
  readonly turns: readonly Turn[];
  readonly head: Head;
  readonly state: SagaState;
}

/**
 * Undefined for one that has no ledger here, was archived, whose machine is left out already, or whose definition the
 * application lacks. Throws LEDGER_BROKEN, UNAVAILABLE.
 */
export async function readBare(
  { ports, clock, app, holding }: Pick<HostDeps, "ports" | "clock" | "app" | "holding">,
  saga: SagaId,
): Promise<BareSaga | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined || isTombstone(last)) return undefined;
  const stored = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
  const turns = stored.map(({ turn }) => turn);
  const definition = app.definition(presentDefinition(turns));
  if (definition === undefined || isBare(turns)) return undefined;
  const state = await foldInPieces({ ports, holding }, saga, bareStateOf(definition, turns));
  return isUnfinishedFork(state)
    ? undefined
    : { definition, turns, head: stored.at(-1)?.head ?? emptyHead, state };
}

/** The turn of the cancellation, with what becomes of the attempts that are given. Undefined where it is no news. Pure. */
export function decideBare(
  { definition, state }: BareSaga,
  cancel: EventOf<"signal">,
  results: readonly Event[],
  at: number,
): DecidedTurn | undefined {
  const event = { ...cancel, withoutMachine: true } as const;
  const [first, ...rest] = [event, ...results].map((one) => accept(definition, state, one, at));
  if (first?.type !== "new") return undefined;
  const taken = rest.flatMap((judged) => (judged.type === "new" ? [judged.event] : []));
  return decideTurn(definition, state, { saga: state.saga, at, events: [first.event, ...taken] });
}

/** Decides and appends it (CY1, CY2). False where nothing was appended: another host has the saga, or it is no news. */
export async function cancelBare(
  deps: HostDeps,
  bare: BareSaga,
  cancel: EventOf<"signal">,
  error: MeshError,
): Promise<boolean> {
  const own = ownCalls(deps, bare.state);
  const results = await Promise.all(own.map((open) => resultOfCut(deps, bare.state.saga, open, error)));
  const at = deps.clock.now();
  const decided = decideBare(bare, cancel, results, at);
  if (decided === undefined) return false;
  const from = { definition: bare.definition, traceId: traceIdOf(bare.state.saga) };
  const message = await encodeTurn(deps, from, bare.head, decided, at);
  const { ledger } = deps.ports;
  const appended = await appendTurn({ ledger, clock: deps.clock }, bare.state.saga, message, deps.signal);
  return appended.type === "appended";
}

/** The saga's calls that a host of this application performs itself, and that undo nothing. */
export const ownCalls = ({ placementOf }: Pick<HostDeps, "placementOf">, { open }: SagaState): OpenIntent[] =>
  Object.values(open).filter(
    (one) => one.intent.kind === "tool" && one.intent.undoes === undefined && isOwnWork(one, placementOf),
  );

/** A failure of an attempt that may have got through: where no other attempt follows, the effect is held for in doubt. */
export const maybe = ({ code, message: reason }: MeshError): Result => ({
  ...{ outcome: "failed", code, reason, retry: true },
});

/** CY2. What may be repeated fails where the saga goes on. Here nothing does it again, so it is told that it may have happened. */
async function resultOfCut(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  error: MeshError,
): Promise<EventOf<"result">> {
  const tool = open.intent.kind === "tool" ? deps.app.tools.get(open.intent.contract) : undefined;
  const event = await resultOfOwn(deps, saga, open, error);
  return tool?.effect === "idempotent" ? { ...event, result: maybe(error) } : event;
}

/** How an attempt of the host's own ended, which may be what its processes died of. Nothing of it is performed (CY2). */
export async function resultOfOwn(
  deps: HostDeps,
  saga: SagaId,
  { intent, attempt }: OpenIntent,
  error: MeshError,
): Promise<EventOf<"result">> {
  const tool = intent.kind === "tool" ? deps.app.tools.get(intent.contract) : undefined;
  const result: Result =
    tool === undefined || intent.kind !== "tool"
      ? { outcome: "failed", code: error.code, reason: error.message, retry: false }
      : await resultOfKilled(
          { claims: claimsOf(deps.ports), clock: deps.clock, chance: deps.chance },
          tool,
          { saga, intent: intent.id, attempt, key: intent.key },
          { error, signal: deps.signal },
        );
  return { type: "result", intent: intent.id, attempt, by: deps.incarnation, result };
}
