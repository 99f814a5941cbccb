/**
 * Lost signals: what sagas have told other sagas and was lost with INBOX after its ack. It is closed on its sender's ledger, so
 * nothing open stands for it, and its receiver knows nothing of it.
 *
 * Owns: finding it, by both ledgers. Does not own: when that is worth it, which is after a loss alone, and telling it again
 * (services/wire/saga-signal.ts).
 *
 * GL1 What was taken stands on its receiver's ledger for good, so it is told again only where that lacks it. Its id, which the
 *     receiver knows for a week, makes it one signal where it was on its way after all.
 * GL2 Nothing is lost of a receiver that has an input in INBOX (it may be this one), that is over, or that has no ledger; nor is what
 *     was set aside as a dead letter.
 */
import { SendInput } from "../../actors/request/between-sagas.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Ports } from "../wire/ports.ts";
import { signalIdOf } from "../wire/saga-signal.ts";
import { accountOf } from "./account-reader.ts";
import { lastTurnOf } from "./chain.ts";
import { type Many, manyOf, type ManyOptions, readMany } from "./many.ts";
import type { OrphanPorts } from "./orphans.ts";
import { emptyHead, isTombstone, readTurns, type StoredTurn } from "./reader.ts";

/** A signal from one saga to another that the other has not taken, and that is nowhere on its way. */
export interface LostSignal {
  readonly from: SagaId;
  readonly intent: IntentOf<"signal">;
  readonly body: Json;
  /** When it was decided, milliseconds since the epoch. */
  readonly at: number;
}

export interface LostSignalOptions extends ManyOptions {
  /** Senders; all unless given. */
  readonly of?: ((saga: SagaId) => boolean) | undefined;
  /** Decided from then on, and before `until`: milliseconds since the epoch by the server's clock. */
  readonly since: number;
  readonly until: number;
}

/** What looking takes: reads alone. */
export type LostSignalPorts = OrphanPorts & { readonly dead: Pick<Ports["dead"], "list"> };

/** Reads whole the ledgers that have gone on since then, and those of receivers. Throws UNAVAILABLE. */
export async function findLostSignals(
  ports: LostSignalPorts,
  { of = () => true, since, until, ...options }: LostSignalOptions,
): Promise<Many<LostSignal>> {
  const { sagas: held } = await ports.inbox.stock(); // Before the ledgers: what is taken meanwhile stands there.
  const there = new Set((await ports.ledger.list()).map(({ saga }) => saga));
  const told = await readMany(
    [...there].filter(of),
    async (from) => toldBy(from, await turnsSince(ports, from, since), { since, until }),
    options,
  );
  const open = told.flat().filter(({ intent: { saga } }) => there.has(saga) && !held.has(saga)); // GL2
  const receivers = [...new Set(open.map(({ intent: { saga } }) => saga))];
  const taken = new Set<string>();
  const read = await readMany(
    receivers,
    async (saga) => {
      const turns = await turnsSince(ports, saga, 0);
      if (turns.length === 0 || accountOf(turns.map(({ turn }) => turn)).end !== undefined) return saga;
      for (const id of turns.flatMap(idsIn)) taken.add(`${saga} ${id}`);
      return undefined;
    },
    options,
  );
  const over = new Set([...read, ...read.unreadable.map(({ saga }) => saga)]);
  const lost = open.filter(
    ({ from, intent }) => !over.has(intent.saga) && !taken.has(`${intent.saga} ${signalIdOf(from, intent)}`),
  );
  const aside = lost.length === 0 ? new Set() : await setAside(ports);
  return manyOf(
    lost.filter(({ from, intent }) => !aside.has(signalIdOf(from, intent))),
    [...told.unreadable, ...read.unreadable],
  );
}

/** None of a saga that has not gone on since, or is archived. */
async function turnsSince(
  ports: LostSignalPorts,
  saga: SagaId,
  since: number,
): Promise<readonly StoredTurn[]> {
  const last = await lastTurnOf(ports, saga);
  if (last === undefined || isTombstone(last) || last.storedAt < since) return [];
  const { ledger, blobs, loop } = ports;
  try {
    return await readTurns(
      { ledger, blobs, ...(loop === undefined ? {} : { loop }) },
      saga,
      emptyHead,
      last.seq,
    );
  } catch (error) {
    if (isMeshError(error, "SAGA_ARCHIVED")) return [];
    throw error;
  }
}

/** Its signals to others, but for those that a fork has of its origin. */
function toldBy(
  from: SagaId,
  turns: readonly StoredTurn[],
  { since, until }: Pick<LostSignalOptions, "since" | "until">,
): LostSignal[] {
  if (turns.length === 0) return [];
  const { intents, fork } = accountOf(turns.map(({ turn }) => turn));
  return [...intents.values()].flatMap(({ intent, input, place: { turn, at } }) => {
    if (intent.kind !== "signal" || at < since || at >= until || turn <= (fork?.turn ?? 0)) return [];
    // What a model sends stands in its reply, as the input of its call (IN2 of protocol/intent.ts).
    const body = intent.call === undefined ? intent.data : SendInput.safeParse(input).data?.data;
    return [{ from, intent, body: body ?? null, at }];
  });
}

const idsIn = ({ turn }: StoredTurn): string[] =>
  turn.steps.flatMap(({ event }) => (event.type === "signal" ? [event.id] : []));

const setAside = async ({ dead }: LostSignalPorts): Promise<ReadonlySet<string>> =>
  new Set((await dead.list()).flatMap(({ headers: fields }) => fields[headers.event] ?? []));
