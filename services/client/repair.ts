/**
 * Repair: takes what is no turn off a ledger's subject.
 *
 * QE1 The server removes nothing from the middle of a ledger or from its end, so that no turn can be taken from there. What
 *     is foreign is removed with all that stands before the place where the turns begin anew: they are written again,
 *     byte for byte, after everything, and only when they are read back whole is what stands before them purged.
 * QE2 Each is appended by compare-and-set after the one before it: between two of them stands nothing else. If a host
 *     appends a turn meanwhile, or somebody something foreign, it is begun again from what is there then.
 * QE3 Until the purge the turns are those that stood there, and their copies foreign; after it the copies are the turns. A
 *     host appends after the last of them in both cases, for its turn names the same hash. So it may die anywhere, and run
 *     again, or twice at once.
 * QE4 Nothing is removed while anything is kept (services/ledger/removable.ts): it could not be kept.
 * QE5 A turn from before turns had to be signed, or by a key since withdrawn, is signed anew beside its unchanged bytes: who
 *     repairs vouches that it stood there. Before the purge the copies are judged by what is said of signatures by then.
 */
import type { RepairDocument, RepairMessage } from "../../protocol/documents/repair.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { readSignature } from "../../protocol/signing.ts";
import { type Headers, headers as names } from "../../protocol/subjects.ts";
import { lastMessageOf } from "../ledger/begun.ts";
import { chainOf, emptyHead, ownMessages } from "../ledger/chain.ts";
import { unreadableOf } from "../ledger/many.ts";
import { turnsOf } from "../ledger/reader.ts";
import { type Judged, removableOf, type Sorted } from "../ledger/removable.ts";
import { describeForeign } from "../views/foreign.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports, StoredMessage } from "../wire/ports.ts";
import { type Signer, signTurn } from "../wire/signing.ts";

export interface RepairDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "inbox" | "loop" | "trust">;
  readonly clock: Clock;
  /** Signs what is written again and whose own signature, or none, does not count for what is stored now (QE5). */
  readonly signer?: Signer | undefined;
}

export interface RepairOptions {
  /** Removes what may be removed; without it that is only told. */
  readonly isMeant: boolean;
  /** Sequences to remove that would be kept because a host may have written them. Never a turn that chains. */
  readonly named?: ReadonlySet<number> | undefined;
}

/** How often it is begun again where the ledger moves meanwhile (QE2). What is left then is told as `would`. */
const roundsMax = 5;
/** How many of the messages are shown. */
const shownMax = 20;

/**
 * Repairs one saga's ledger, or says what that would do. A ledger that is broken otherwise is a member of the document.
 * Throws SAGA_UNKNOWN and SAGA_NOT_BEGUN where nothing at all is stored, USAGE where a turn or the tombstone is named,
 * STORAGE_FULL, UNAVAILABLE.
 */
export async function repairSaga(
  deps: RepairDeps,
  saga: SagaId,
  { isMeant, named = new Set() }: RepairOptions,
): Promise<RepairDocument> {
  let sorted = await sort(deps, saga, named);
  if (sorted === undefined) {
    await patiently(deps.clock, () => lastMessageOf(deps.ports, saga)); // Says why there is none.
    sorted = removableOf(saga, []);
  }
  const own = sorted.own.find(({ seq }) => named.has(seq));
  if (own !== undefined)
    throw new MeshError(
      "USAGE",
      `at ${own.seq} stands a turn of ${saga}, or its tombstone: neither is removed`,
    );
  const gone = new Map<number, Judged>();
  let rewritten = 0;
  const most = isMeant ? roundsMax : 0;
  for (let rounds = 0; rounds < most && isRemovable(sorted); rounds++) {
    const { judged } = sorted;
    const written = await removeForeign(deps, saga, sorted);
    rewritten += written ?? 0;
    if (written !== undefined) for (const one of judged) gone.set(one.foreign.message.seq, one);
    sorted = (await sort(deps, saga, named)) ?? removableOf(saga, []);
  }
  return documentOf(
    saga,
    sorted,
    { gone: [...gone.values()], rewritten },
    await brokenOf(deps, sorted, saga),
  );
}

/** QE4. */
const isRemovable = ({ judged }: Sorted): boolean =>
  judged.length > 0 && judged.every(({ kept }) => kept === undefined);

/** Undefined where nothing is stored. */
async function sort(
  { ports, clock }: RepairDeps,
  saga: SagaId,
  named: ReadonlySet<number>,
): Promise<Sorted | undefined> {
  return patiently(clock, async () => {
    const last = await ports.ledger.last(saga);
    return last && removableOf(saga, await readWhole(ports, saga, 0, last.seq), named);
  });
}

async function readWhole(
  { ledger }: RepairDeps["ports"],
  saga: SagaId,
  afterSeq: number,
  throughSeq: number,
): Promise<StoredMessage[]> {
  const messages = await ledger.read(saga, afterSeq, throughSeq);
  if (messages.at(-1)?.seq === throughSeq) return messages;
  throw new MeshError("UNAVAILABLE", `the ledger of ${saga} cannot be read up to ${throughSeq}`);
}

/** How many turns were written again for it (QE1). Undefined where the ledger moved meanwhile: nothing is removed (QE2). */
async function removeForeign(
  deps: RepairDeps,
  saga: SagaId,
  { own, judged }: Sorted,
): Promise<number | undefined> {
  const { ports, clock } = deps;
  const lastForeign = judged.at(-1)?.foreign.message.seq ?? 0;
  const first = own[0]?.seq ?? lastForeign + 1;
  const isBefore = first > lastForeign;
  const copies = isBefore ? undefined : await writeAgain(deps, saga, own, lastForeign);
  if (!isBefore && copies === undefined) return undefined;
  await patiently(clock, () => ports.ledger.purgeBefore(saga, copies ?? first));
  return isBefore ? 0 : own.length;
}

/** The sequence of the first copy; undefined where something else came between. Throws STORAGE_FULL, UNAVAILABLE. */
async function writeAgain(
  { ports, clock, signer }: RepairDeps,
  saga: SagaId,
  own: readonly StoredMessage[],
  lastForeign: number,
): Promise<number | undefined> {
  let first: number | undefined;
  const anew = (headers: Headers, data: Uint8Array): Headers =>
    signer === undefined || ports.trust?.refusal(keyOf(headers)) === undefined
      ? {}
      : { [names.signature]: signTurn(signer, data) }; // QE5
  let last = Math.max(lastForeign, own.at(-1)?.seq ?? 0);
  try {
    for (const { data, headers } of own) {
      const message = {
        data,
        headers: { ...withoutServers(headers), ...anew(headers, data) },
        expectedSeq: last,
      };
      last = (await patiently(clock, () => ports.ledger.append(saga, message))).seq;
      first ??= last;
      await ports.loop.breathe();
    }
  } catch (error) {
    if (isMeshError(error, "WRONG_SEQUENCE")) return undefined; // QE2; or the answer to an append was lost.
    throw error;
  }
  const from = first ?? 0;
  await patiently(clock, async () => ports.trust?.learn()); // QE5
  const read = await patiently(clock, () => readWhole(ports, saga, from - 1, last));
  return areTurns(saga, read, own) ? from : undefined;
}

const keyOf = ({ [names.signature]: written }: Headers): string | undefined =>
  written === undefined ? undefined : readSignature(written)?.key;

/** What the server wrote beside a message it writes anew. */
const withoutServers = (headers: StoredMessage["headers"]): StoredMessage["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("Nats-")));

/** QE1: whether these alone are a ledger, and the one that stood there. */
function areTurns(saga: SagaId, copies: readonly StoredMessage[], own: readonly StoredMessage[]): boolean {
  const read = ownMessages(chainOf(saga, emptyHead, copies));
  return read.length === own.length && read.every((copy, index) => isSame(copy, own[index]));
}

const isSame = (copy: StoredMessage, original: StoredMessage | undefined): boolean =>
  original !== undefined &&
  Buffer.compare(copy.data, original.data) === 0 &&
  JSON.stringify(unsigned(copy.headers)) === JSON.stringify(unsigned(original.headers));

const unsigned = (fields: Headers): Headers =>
  Object.fromEntries(Object.entries(withoutServers(fields)).filter(([name]) => name !== names.signature));

/** What the turns themselves lack: one that is gone, a blob, a turn of another format. */
async function brokenOf(
  { ports }: RepairDeps,
  { gap, own, isArchived }: Sorted,
  saga: SagaId,
): Promise<RepairDocument["broken"]> {
  let error: unknown = gap;
  try {
    if (gap === undefined && !isArchived) await turnsOf(ports, chainOf(saga, emptyHead, own).links);
  } catch (caught) {
    if (isMeshError(caught, "UNAVAILABLE")) throw caught;
    error = caught;
  }
  if (error === undefined) return undefined;
  const { code, reason } = unreadableOf(saga, error);
  return { code, what: reason, remedy: isMeshError(error) ? error.remedy : "" };
}

function documentOf(
  saga: SagaId,
  { own, isArchived, judged }: Sorted,
  { gone, rewritten }: { readonly gone: readonly Judged[]; readonly rewritten: number },
  broken: RepairDocument["broken"],
): RepairDocument {
  const isKept = judged.some(({ kept }) => kept !== undefined); // QE4
  const told = [
    ...gone.map((one) => messageOf(one, "removed")),
    ...judged.map((one) =>
      isKept ? messageOf({ kept: "another is kept", ...one }, "kept") : messageOf(one, "would"),
    ),
  ];
  const count = (fate: RepairMessage["fate"]) => told.filter((one) => one.fate === fate).length;
  return {
    ...{ saga, turns: own.length - (isArchived ? 1 : 0), archived: isArchived },
    ...{ would: count("would"), removed: count("removed"), kept: count("kept"), rewritten },
    first: told.slice(0, shownMax),
    ...(broken === undefined ? {} : { broken }),
  };
}

const messageOf = ({ foreign, kept }: Judged, fate: RepairMessage["fate"]): RepairMessage => ({
  ...describeForeign(foreign),
  fate,
  ...(kept === undefined ? {} : { because: kept }),
});
