/**
 * Rebuild: what a mesh cannot forget and has lost, made again from what it still has.
 *
 * KZ1 Every call that is open on a ledger, or stands in WORK, may have begun: it is claimed for nobody, so that its worker is
 *     taken for dead. A `once` ends in doubt, a `probe` is probed. What is only read or recognised by its key has no claim.
 * KZ2 A saga that cannot be read may have such a call: the claims stay closed to workers until it can, or a person says that
 *     they are to be opened without it.
 */
import type { ClaimedCall, RebuildDocument } from "../../protocol/documents/rebuild.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { maxOf } from "../../protocol/extremes.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { streams } from "../../protocol/subjects.ts";
import { type Effect, WorkMessage } from "../../protocol/tool.ts";
import type { TrustDocument } from "../../protocol/trust.ts";
import { readRegistry } from "../client/registry.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { claimsFor, openEffects } from "../ledger/beyond.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { type Many, readMany } from "../ledger/many.ts";
import { isTombstone } from "../ledger/reader.ts";
import { readTrust } from "../ledger/trust.ts";
import { claimStream } from "../nats/identity.ts";
import { createRegistry } from "../nats/registry.ts";
import { emptyLedger, fillClaims, lookAtBroken, lostSagas, openDead, queuedIn } from "../nats/rebuild.ts";
import type { Ledgers } from "../nats/ledgers.ts";
import { eachOf } from "../process/each-of.ts";
import { patiently } from "../wire/patience.ts";
import { readBody } from "../wire/messages.ts";
import { readLedger } from "../views/view.ts";
import type { Config } from "./config.ts";
import { forsake } from "./forsaken.ts";
import { onLedgers } from "./on-ledgers.ts";
import { systemChance, systemClock } from "./system.ts";
import { trustedReader } from "./trusting.ts";

export interface RebuildOptions {
  /** Only say what would be done. */
  readonly isDryRun: boolean;
  /** KZ2. */
  readonly skipsUnreadable: boolean;
  /** Of the ledger: starts and signals that stand in INBOX are left there, and their sagas begin anew. False unless given. */
  readonly beginsAnew?: boolean;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

const progressEvery = 1_000;
/** Claims that are written at a time. */
const atOnce = 32;

/** Rebuilds the claims from the ledgers (KZ1). Throws MESH_INCOMPLETE where the ledger is what is missing, MESH_MIXED. */
export const rebuildClaims = (config: Config, options: RebuildOptions): Promise<RebuildDocument> =>
  onLedgers("sagamesh rebuild", config, options, async ({ context, ...ledgers }) => {
    const { isDryRun, skipsUnreadable, report, signal } = options;
    const broken = await lookAtBroken(context, "claims");
    if (broken.fault === undefined) return { what: "claims", outcome: "whole" };
    const why = `stream ${claimStream} ${broken.fault.what}`;
    // Closed before it is read what is open: what is handed on from then on is claimed by nobody before it is opened.
    const filling = isDryRun
      ? undefined
      : await fillClaims(context, broken, `rebuilt-${systemChance.nonce()}`);
    const source = await trustedReader(ledgers);
    const { ledger, blobs } = source;
    const sagas = (await ledger.list()).map(({ saga }) => saga);
    const effectOf = await effects(createRegistry(context));
    let looked = 0;
    const found: Many<OpenCall[]> = await readMany(
      sagas,
      async (saga) => {
        looked += 1;
        if (looked % progressEvery === 0) report(`looked at ${looked} of ${sagas.length} sagas`);
        return openCallsOf(source, saga);
      },
      { signal },
    );
    const calls = new Map(found.flat().map((call) => [nameOf(call), call]));
    for await (const message of queuedIn(context, streams.work)) {
      signal.throwIfAborted();
      const call = await readCall(blobs, message);
      if (call !== undefined) calls.set(nameOf(call), call);
    }
    const claimed = [...calls.values()].flatMap((call) => {
      const effect = effectOf(call);
      return effect === "read" || effect === "idempotent" ? [] : [{ ...call, effect }];
    });
    const document = {
      what: "claims" as const,
      ...{ why, sagas: sagas.length, calls: claimed.map(told) },
      ...(found.unreadable.length === 0 ? {} : { unreadable: [...found.unreadable] }),
    };
    if (filling === undefined) return { ...document, outcome: "due" };
    const claims = claimed.flatMap((call) => claimsFor({ ...call, from: call.attempt }, call.effect));
    await eachOf(claims, atOnce, (claim) =>
      patiently(systemClock, () => filling.claim(nameOf(claim)), { signal }),
    );
    if (found.unreadable.length > 0 && !skipsUnreadable) return { ...document, outcome: "stopped" }; // KZ2
    await filling.open();
    return { ...document, outcome: "rebuilt" };
  });

/**
 * Begins an empty ledger in place of one that is gone, and sets aside what stands in queues for the sagas of that one
 * (forsaken.ts). Throws SERVER_MISCONFIGURED where one is there, MESH_MIXED.
 */
export const rebuildLedger = (config: Config, options: RebuildOptions): Promise<RebuildDocument> =>
  onLedgers("sagamesh rebuild", config, options, async ({ context, registry }) => {
    const { isDryRun, beginsAnew = false, signal } = options;
    const broken = await lookAtBroken(context, "ledger");
    if (broken.fault === undefined) return { what: "ledger", outcome: "whole" };
    const document = { what: "ledger", why: `stream ${broken.fault.stream} ${broken.fault.what}` } as const;
    const isLost = await lostSagas(context, broken);
    const counted = await forsake(context, { dead: undefined, isLost, beginsAnew, signal });
    if (isDryRun) return { ...document, forsaken: counted, outcome: "due" };
    let forsaken = counted;
    await emptyLedger(context, broken, {
      after: lastPlaceIn((await readTrust(registry)).document),
      empty: async () => {
        const dead = await openDead(context, broken);
        forsaken = await forsake(context, { dead, isLost, beginsAnew, signal });
      },
    });
    return { ...document, forsaken, outcome: "rebuilt" };
  });

/** The last place in the ledger that trust names (XB5 of services/nats/rebuild.ts). */
const lastPlaceIn = ({ required, keys }: TrustDocument): number =>
  maxOf(
    [required, ...Object.values(keys).map(({ withdrawn }) => withdrawn)]
      .flatMap((from) => (from === undefined ? [] : [from, ...Object.values(from.shards ?? {})]))
      .map(({ announced, after = 0 }) => Math.max(announced, after)),
    0,
  );

/** An attempt that is open. */
interface OpenCall extends Omit<ClaimedCall, "effect"> {
  readonly key: string;
  readonly contract: string;
}

const nameOf = ({ key, attempt }: Pick<OpenCall, "key" | "attempt">): string => `${key}.${attempt}`;

async function openCallsOf(ports: Pick<Ledgers, "ledger" | "blobs">, saga: SagaId): Promise<OpenCall[]> {
  const last = await lastTurnOf(ports, saga);
  if (last === undefined || isTombstone(last)) return [];
  const { open } = accountOf((await readLedger(ports, saga)).map(({ turn }) => turn));
  return openEffects({ open }).map(({ intent: { id: intent, key, contract, name: tool }, attempt }) => ({
    ...{ saga, intent, tool, attempt, key, contract },
  }));
}

/** What a message of WORK asks for; one that cannot be read is performed by nobody either. */
async function readCall(
  blobs: Ledgers["blobs"],
  message: Parameters<typeof readBody>[1],
): Promise<OpenCall | undefined> {
  try {
    const { saga, intent, tool, attempt, key, contract } = await readBody(blobs, message, WorkMessage);
    return { saga, intent, tool, attempt, key, contract };
  } catch (error) {
    if (isMeshError(error) && !error.retriable) return undefined;
    throw error;
  }
}

/** The class of each contract that is registered. */
async function effects(
  registry: Parameters<typeof readRegistry>[0],
): Promise<(call: OpenCall) => Effect | undefined> {
  const known = new Map<string, Effect>();
  const { tools } = await readRegistry({ list: () => registry.list().catch(none) });
  for (const { contract, effect } of tools) known.set(contract, effect);
  return ({ contract }) => known.get(contract);
}

/** A registry that is gone names no class: then each call is claimed as if it were of either (KZ1). */
function none(error: unknown): never[] {
  if (isMeshError(error, "SERVER_MISCONFIGURED")) return [];
  throw error;
}

const told = ({
  saga,
  intent,
  tool,
  attempt,
  effect,
}: OpenCall & { readonly effect: Effect | undefined }): ClaimedCall => ({
  ...{ saga, intent, tool, attempt },
  ...(effect === "probe" || effect === "once" ? { effect } : {}),
});
