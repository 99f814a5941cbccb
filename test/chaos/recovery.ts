/**
 * Recovery: how long sagas stood still after a blow. Pure: ledgers and strikes in, figures out.
 *
 * Counted is, for each saga that had something under way at the moment of the blow, the time to its next turn:
 * after a blow at a host, sagas whose last turn was that host's and that had work of its own open (a model call, a
 * tool in the host); after one at a server, sagas with such work or a call at a worker open. What waits for a person,
 * the outside, a timer or a backoff is not counted: it would not have gone on anyway.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { foldTurn } from "../../actors/kernel/replay.ts";
import {
  isOwnWork,
  type OpenIntent,
  type SagaState,
  isDeferred,
  notBeforeOf,
} from "../../actors/contract/state.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { lengthOf } from "./plan.ts";
import type { Strike } from "./disturber.ts";

export interface Figures {
  readonly sagas: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Recovery {
  readonly after: string;
  readonly blows: number;
  readonly all: Figures;
  /** Of blows that no other at a host or a server overlapped until the saga had gone on. */
  readonly undisturbed: Figures;
}

export interface RecoveryInput {
  readonly ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>;
  readonly strikes: readonly Strike[];
  readonly definitionOf: (hash: string) => Definition | undefined;
  readonly placementOf: (contract: string) => "worker" | "host";
}

/** After a turn: who wrote it, and since when something of a kind could be under way. */
interface Moment {
  readonly at: number;
  readonly host: string;
  /** Earliest time at which open work of the host's own, or any work, may begin; undefined: there is none. */
  readonly own: number | undefined;
  readonly any: number | undefined;
}

const kinds = [
  { after: "host killed", of: "host", deed: "kill" },
  { after: "host stopped", of: "host", deed: "freeze" },
  { after: "server killed", of: "server", deed: "kill" },
  { after: "server stopped", of: "server", deed: "freeze" },
] as const;

export function measureRecovery(input: RecoveryInput): Recovery[] {
  const landed = input.strikes.filter(
    ({ landed: hit, blow: { victim } }) => hit && (victim.kind === "host" || victim.kind === "server"),
  );
  const histories = [...input.ledgers.values()].map((turns) => momentsOf(input, turns));
  return kinds.map(({ after, of, deed }) => {
    const strikes = landed.filter(({ blow }) => blow.victim.kind === of && blow.deed.do === deed);
    const all: number[] = [];
    const undisturbed: number[] = [];
    for (const strike of strikes)
      for (const moments of histories) {
        const took = standstillOf(moments, strike, of);
        if (took === undefined) continue;
        all.push(took);
        if (!landed.some((other) => other !== strike && overlaps(other, strike.at, took)))
          undisturbed.push(took);
      }
    return { after, blows: strikes.length, all: figuresOf(all), undisturbed: figuresOf(undisturbed) };
  });
}

function momentsOf({ definitionOf, placementOf }: RecoveryInput, turns: readonly StoredTurn[]): Moment[] {
  const first = turns[0]?.turn.steps[0]?.event;
  const definition = first?.type === "start" ? definitionOf(first.definition.hash) : undefined;
  if (definition === undefined) return [];
  const moments: Moment[] = [];
  let state: SagaState | undefined;
  for (const { turn, storedAt } of turns) {
    try {
      ({ state } = foldTurn(definition, state, turn));
    } catch {
      return moments; // The oracle says what is wrong with it.
    }
    const open = Object.values(state.open);
    const own = open.filter((one) => isOwnWork(one, placementOf));
    const atWorkers = open.filter(
      (one) => one.intent.kind === "tool" && !isDeferred(one) && !own.includes(one),
    );
    moments.push({
      ...{ at: storedAt, host: turn.host },
      ...{ own: earliest(own), any: earliest([...own, ...atWorkers]) },
    });
  }
  return moments;
}

const earliest = (open: readonly OpenIntent[]): number | undefined =>
  open.length === 0 ? undefined : Math.min(...open.map((one) => notBeforeOf(one) ?? 0));

/** Undefined if the blow did not concern the saga, or it never went on (which the oracle tells). */
function standstillOf(
  moments: readonly Moment[],
  { at, pid }: Strike,
  of: "host" | "server",
): number | undefined {
  const next = moments.findIndex((moment) => moment.at > at);
  const last = next < 1 ? undefined : moments[next - 1];
  if (last === undefined) return undefined;
  const since = of === "server" ? last.any : isOf(last.host, pid) ? last.own : undefined;
  return since === undefined ? undefined : Math.max(0, moments[next]!.at - Math.max(at, since));
}

/** An incarnation holds its process's number. */
const isOf = (incarnation: string, pid: number | undefined): boolean =>
  incarnation.includes(`-${pid ?? ""}-`);

const overlaps = ({ at, blow }: Strike, from: number, forMs: number): boolean =>
  at <= from + forMs && at + lengthOf(blow.deed) + settlingMs >= from;
/** What a blow leaves behind for a while: a lease, an election. */
const settlingMs = 5_000;

function figuresOf(times: readonly number[]): Figures {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { sagas: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1) ?? 0 };
}
