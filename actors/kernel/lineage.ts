/**
 * Lineage: which saga decided which turn of a fork's ledger first, and what follows from that.
 *
 * LI1 Keys of effects, ids of children and notices use the origin's id for the turns that a fork shares with it, and
 *     the fork's own id for its own. So the copied turns fold to exactly what they hold.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Lineage } from "../../protocol/fork.ts";
import { type IntentId, type SagaId, turnOf } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import { recallTool } from "../request/recall.ts";
import type { SagaState } from "../contract/state.ts";

type Forked = Pick<SagaState, "saga" | "turn" | "fork">;

/** Who decided a turn of a ledger. */
export const deciderOf = (saga: SagaId, lineage: Lineage | undefined, turn: number): SagaId =>
  lineage === undefined
    ? saga
    : ([...(lineage.before ?? []), lineage].find((part) => turn <= part.turn)?.saga ?? saga);

/** LI1. Who decides the present turn, or decided the one given. */
export const decider = ({ saga, turn, fork }: Forked, of = turn): SagaId =>
  deciderOf(saga, fork?.lineage, of);

/** What names the present turn among all: neither its time nor what it decides, which may differ when it is decided again. */
export const turnName = (state: Forked & Pick<SagaState, "startedAt">) => (): readonly Json[] => [
  decider(state),
  state.startedAt,
  state.turn,
];

/** Whether another saga decided it than decides now. */
export const isInherited = (state: Forked, intent: IntentId): boolean =>
  decider(state, turnOf(intent)) !== decider(state);

/** A fork's ledger that does not hold all shared turns and `forked` yet: copying goes on before anything else. */
export const isUnfinishedFork = ({ fork, turn }: Pick<SagaState, "fork" | "turn">): boolean =>
  fork !== undefined && turn <= fork.lineage.turn;

/** Whether a fork leaves its origin in this turn; one of its ancestors may have, in a copied one. */
export const leavesIn = ({ turn, before = [] }: Lineage, of: number): boolean =>
  [...before, { turn }].some((part) => part.turn + 1 === of);

/**
 * The first turns of a ledger as a fork has them: under its own id, with its lineage in the start, not chained yet.
 * Throws LEDGER_BROKEN for what is no ledger's beginning.
 */
export function inheritedTurns(
  turns: readonly Turn[],
  saga: SagaId,
  from: Pick<Lineage, "saga" | "turn" | "head" | "order">,
): Turn[] {
  const [first] = turns;
  const [start, ...rest] = first?.steps ?? [];
  if (first === undefined || start?.event.type !== "start")
    throw new MeshError("LEDGER_BROKEN", `the ledger of ${from.saga} does not begin with a start`);
  const fork = { ...from, ...beforeOf(start.event.fork, from.turn) };
  const { traceparent: _, ...event } = start.event; // A fork is a trace of its own (protocol/trace.ts).
  const steps = [{ ...start, event: { ...event, fork } }, ...rest];
  return [{ ...first, steps }, ...turns.slice(1, from.turn)].map((turn) => ({ ...turn, saga }));
}

/** The ancestors of an origin that was forked itself, as far as the shared turns go. */
function beforeOf(origin: Lineage | undefined, turn: number): Pick<Lineage, "before"> {
  if (origin === undefined) return {};
  const all = [...(origin.before ?? []), { saga: origin.saga, turn: origin.turn }];
  // From the first that reaches as far on, none is needed behind it.
  const last = all.findIndex((part) => part.turn >= turn);
  const reached = last === -1 ? all : all.slice(0, last + 1);
  return { before: reached.map((part) => ({ ...part, turn: Math.min(part.turn, turn) })) };
}

/** Whether the outside is not to hear of the intent: its saga's host answers it (services/host/simulate.ts). */
export function isSimulated({ fork }: Pick<SagaState, "fork">, intent: Intent): boolean {
  if (fork?.effects !== "simulated") return false;
  // What only reads the saga's own ledger touches nothing.
  if (intent.kind === "tool") return intent.name !== recallTool.name;
  return intent.kind === "saga" || intent.kind === "signal";
}

/** Why a fork whose effects are forbidden may not do it, or undefined. */
export const forbidden = ({
  fork,
}: Pick<SagaState, "fork">): { readonly code: "EFFECTS_FORBIDDEN"; readonly reason: string } | undefined =>
  fork?.effects === "forbidden"
    ? { code: "EFFECTS_FORBIDDEN", reason: "this is a fork, and its effects are forbidden" }
    : undefined;

/** Whether two forks are one and the same. */
export const isSameFork = (own: Lineage | undefined, other: Lineage | undefined): boolean =>
  own !== undefined && own.saga === other?.saga && own.turn === other.turn && own.order === other.order;
