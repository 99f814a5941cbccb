/**
 * Behind: a host finds that a saga's ledger ends before a turn that is known of elsewhere, by its own memory or by a snapshot.
 *
 * BH1 What may have begun is claimed for nobody before the saga goes on, so what is decided again is in doubt where it is
 *     `once`, and probed where it is `probe`. Claims are apart from the ledger, and these are made after it was set back: what
 *     was put back cannot take them along.
 * BH2 It is done again wherever it was cut off: a claim that is there stays whose it is, and only then is the snapshot taken
 *     away that knew of it.
 * BH3 What is open on the ledger is handed on again: its message may have been taken and acked in the turns that are lost.
 */
import { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Account } from "../ledger/account.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { beyondName, type BeyondNote, callsBeyond, callsKnownIn, claimsFor } from "../ledger/beyond.ts";
import { type Head, readTurns } from "../ledger/reader.ts";
import { emptyHead, type Link } from "../ledger/chain.ts";
import type { Log } from "../process/log.ts";
import { eachOf } from "../process/each-of.ts";
import { publishNudge } from "../wire/nudge.ts";
import { isTransient, patiently } from "../wire/patience.ts";
import type { Clock, LoopPort, Ports } from "../wire/ports.ts";
import { readPast } from "./past-parts.ts";

/** What is known of a saga beyond its ledger. */
export interface KnownBeyond {
  readonly head: Pick<Head, "turn" | "hash">;
  /** Live, or as a snapshot holds it, which anybody may have written who may write there. */
  readonly state: unknown;
  /** Undefined where it is not at hand: then a call's class is not known. */
  readonly definition: Definition | undefined;
  /** Who knows, in words. */
  readonly by: string;
}

/** What taking note takes. */
export interface BehindDeps {
  readonly ports: Pick<Ports, "ledger" | "claims" | "snapshots" | "blobs" | "inbox"> & {
    readonly loop?: LoopPort;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** What a state says of what it laid by; of one that anybody may have written no more than a saga ever has. */
const LaidBy = z.object({
  past: z
    .object({ parts: z.int().positive().max(10_000), digest: z.string(), holdsDoubts: z.boolean() })
    .optional(),
});

/** Claims that are written at a time. */
const atOnce = 16;

/** Takes note of what is known beyond the ledger (BH1), and forgets the saga's snapshots. Throws UNAVAILABLE; then nothing went on. */
export async function noteBeyond(deps: BehindDeps, saga: SagaId, known: KnownBeyond): Promise<BeyondNote> {
  const { ports, clock, log } = deps;
  const account = await readAccount(deps, saga);
  const { past } = LaidBy.safeParse(known.state).data ?? {};
  const parts = past === undefined ? [] : ((await readPast(deps, saga, past)) ?? []);
  const calls = callsBeyond([known.state, ...parts].flatMap(callsKnownIn), account);
  const effectOf = (tool: string) => known.definition?.tools.get(tool)?.effect;
  const claims = calls.flatMap((call) => claimsFor(call, effectOf(call.tool)));
  const holder = `beyond-${known.head.hash.slice(0, 24)}`;
  await eachOf(claims, atOnce, ({ key, attempt }) =>
    patiently(clock, () => ports.claims.create(key, attempt, holder)),
  );
  const note: BeyondNote = {
    ...{ turn: known.head.turn, hash: known.head.hash, endsWith: account?.turns ?? 0, by: known.by },
    at: await patiently(clock, () => ports.claims.now()),
    calls: calls.map(({ intent, tool, key, attempt }) => ({ intent, tool, key, attempt })),
  };
  await patiently(clock, () => ports.snapshots.drop(saga)); // BH2
  await patiently(clock, () => ports.snapshots.put(saga, Buffer.from(JSON.stringify(note)), beyondName));
  if (account !== undefined) await patiently(clock, () => publishNudge(ports, saga, openCalls(account))); // BH3
  const error = new MeshError(
    "LEDGER_BEHIND",
    `the ledger of ${saga} ends with turn ${note.endsWith}, and ${known.by} has turn ${note.turn}`,
  );
  const intents = calls.slice(0, 10).map(({ intent, tool }) => `${intent} ${tool}`);
  log.error({ err: error, sagaId: saga, intents }, "ledger behind what is known of it");
  return note;
}

/** The calls of tools that are handed on again; of one that waits for an answer from outside it is the limit that is armed again. */
export const openCalls = ({ open }: Account): IntentId[] =>
  [...open.values()].flatMap(({ intent }) => (intent.kind === "tool" ? [intent.id] : []));

/** Undefined where there is none, or it cannot be read. Throws UNAVAILABLE. */
async function readAccount({ ports, clock }: BehindDeps, saga: SagaId): Promise<Account | undefined> {
  try {
    const last = await patiently(clock, () => ports.ledger.last(saga));
    if (last === undefined) return undefined;
    const turns = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
    return turns.length === 0 ? undefined : accountOf(turns.map(({ turn }) => turn));
  } catch (error) {
    if (!isMeshError(error) || isTransient(error)) throw error;
    return undefined;
  }
}

/** Whether a ledger lacks a turn that it had. */
export const isBeyond = ({ turn, hash }: Pick<Head, "turn" | "hash">, links: readonly Link[]): boolean =>
  links[turn - 1]?.head.hash !== hash;

/** Whether a deposed leader can be why it lacks that turn: it lacks what came last, and has nothing in its place. */
export const mayBeDeposed = ({ turn }: Pick<Head, "turn">, links: readonly Link[]): boolean =>
  turn > links.length;

/** Asks `look` again until it says that nothing is missing, as long as it may be a deposed leader that lacks it (JR2 of refused.ts). */
export async function outlastDeposed(clock: Clock, look: () => Promise<boolean>): Promise<boolean> {
  const until = clock.elapsed() + limits.deposedMsMax;
  for (;;) {
    const isMissing = await look();
    if (!isMissing || clock.elapsed() >= until) return isMissing;
    await clock.sleep(lookAgainMs);
  }
}

const lookAgainMs = 1_000;
