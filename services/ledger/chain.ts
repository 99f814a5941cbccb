/**
 * Chain: which of the messages on a ledger's subject are its turns. All others are foreign: whoever may publish there can
 * write them, and nothing of them counts.
 *
 * QC1 A message is the next turn if it names the saga, the number after the head's and the head's hash, and, where the mesh
 *     says whose signatures count, if it counts by that (trust.ts). What else a turn holds is not looked at: a message that
 *     one host took for a turn and another did not would make two ledgers of one.
 * QC2 A tombstone must follow the head in the same way. After its turns were purged nothing stands before it, which
 *     nobody brings about who may only publish: the server wrote beside it what it was stored after. As the first message
 *     it is believed before anything that follows it, so that a copy of the first turn begins nothing anew.
 * QC3 A message that claims a later turn and was stored after one that is gone is no foreign one: a turn was removed.
 *     That is LEDGER_BROKEN. To go on from before it would be to do again what it says was done.
 * QC4 A last message is believed where what it was stored after is the message whose hash it names; if not, the ledger
 *     is read. Usually that costs one read, and only those who look at nothing but the last message pay it.
 * QC5 A message that chains, of which it cannot be said yet whether it counts, ends the reading with SIGNER_UNKNOWN or
 *     TRUST_UNSETTLED: neither it nor what follows it is judged, and nothing is appended.
 */
import { chainHash } from "../../protocol/digest.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import { tombstoneEvent } from "../../protocol/tombstone.ts";
import type { LedgerPort, LoopPort, StoredMessage } from "../wire/ports.ts";
import { membersOf } from "./content.ts";
import { unjudged } from "./trust.ts";

/** Where a ledger stands: what the next turn follows. Sequence 0 and an empty hash before the first. */
export interface Head {
  readonly turn: number;
  readonly seq: number;
  readonly hash: string;
}

export const emptyHead: Head = { turn: 0, seq: 0, hash: "" };

/** What a message says of its own place. */
export interface Claim {
  readonly kind: "turn" | "tombstone";
  readonly saga: string;
  /** Its number; of a tombstone the one after the last turn. */
  readonly turn: number;
  readonly prev: string;
}

/** A message that is no turn, and what it says it is, if anything. */
export interface Foreign {
  readonly message: StoredMessage;
  readonly claim: Claim | undefined;
}

/** A turn's message, and the head that it makes. */
export interface Link {
  readonly message: StoredMessage;
  readonly head: Head;
}

/** A ledger's messages, told apart. */
export interface Chain {
  readonly links: readonly Link[];
  /** What the turns were archived under. Nothing follows it. */
  readonly tombstone?: StoredMessage;
  readonly foreign: readonly Foreign[];
}

/** The messages of a chain that are its saga's: its turns, and the tombstone if there is one. */
export const ownMessages = ({ links, tombstone }: Chain): StoredMessage[] => [
  ...links.map(({ message }) => message),
  ...(tombstone === undefined ? [] : [tombstone]),
];

/** What reading a chain needs. */
export interface ChainSource {
  readonly ledger: Pick<LedgerPort, "last" | "read">;
  /** Given way to between messages. */
  readonly loop?: LoopPort;
  /** Is told how many foreign messages were skipped, each time some are read. */
  readonly met?: ((saga: SagaId, messages: number) => void) | undefined;
}

/** What a message says of its place; undefined for one that says nothing. Of any version, and however deep. */
export function claimOf(message: Pick<StoredMessage, "data" | "headers">): Claim | undefined {
  const { saga, prev, v, turn, turns, type } = membersOf(message) ?? {};
  if (typeof saga !== "string" || typeof prev !== "string" || typeof v !== "number") return undefined;
  if (message.headers[headers.event] === tombstoneEvent)
    return type === "tombstone" && isCount(turns) ? { kind: type, saga, turn: turns + 1, prev } : undefined;
  return isCount(turn) ? { kind: "turn", saga, turn, prev } : undefined;
}

const isCount = (value: Json | undefined): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0;

/** What a message was stored after on its subject, by the server's own word; undefined for one that compared nothing. */
export function storedAfter({ headers: fields }: Pick<StoredMessage, "headers">): number | undefined {
  const told = fields[headers.expectedSeq];
  return told !== undefined && /^\d+$/.test(told) ? Number(told) : undefined;
}

/** Takes a ledger's messages in the order of the stream, and tells of each what it is. */
export interface Walk {
  /** After what was taken. */
  readonly head: Head;
  readonly isArchived: boolean;
  /** Throws SIGNER_UNKNOWN, TRUST_UNSETTLED (QC5). */
  take(message: StoredMessage): "turn" | "tombstone" | "foreign";
}

/** A walk that begins after `after`. `seen`: sequences between that were looked at before. */
export function walkFrom(saga: SagaId, after: Head, seen?: ReadonlySet<number>): Walk {
  let head = after;
  let isArchived = false;
  let isFirst = true;
  return {
    get head() {
      return head;
    },
    get isArchived() {
      return isArchived;
    },
    take: (message) => {
      const claim = isArchived ? undefined : claimOf(message);
      const isLeft = isFirst && claim?.kind === "tombstone" && isOrphan(saga, head, { message, claim }, seen); // QC2
      isFirst = false;
      if (claim === undefined || !(isLeft || follows(claim, saga, head))) return "foreign";
      if (!countsAs(claim, message)) return "foreign";
      if (claim.kind === "tombstone") isArchived = true;
      else head = { turn: claim.turn, seq: message.seq, hash: chainHash(message.data) };
      return claim.kind;
    },
  };
}

/** Whether a ledger whose first message this is has begun: it is a first turn, or a tombstone whose turns were purged. Throws (QC5). */
export const beginsChain = (saga: SagaId, first: StoredMessage): boolean =>
  walkFrom(saga, emptyHead).take(first) !== "foreign";

/** Throws what it cannot judge (QC5). */
function countsAs({ kind, saga, turn }: Claim, { standing }: StoredMessage): boolean {
  const now = standing?.() ?? { kind: "counts" };
  if (now.kind === "counts" || now.kind === "foreign") return now.kind === "counts";
  throw unjudged(`${kind === "turn" ? `turn ${turn}` : "the tombstone"} of ${saga}`, now);
}

const follows = (claim: Claim, saga: SagaId, head: Pick<Head, "turn" | "hash">): boolean =>
  claim.saga === saga && claim.turn === head.turn + 1 && claim.prev === head.hash;

/**
 * A saga's messages after `after`, told apart. `seen`: sequences between that were looked at before. Throws LEDGER_BROKEN
 * for a turn that was removed (QC3).
 */
export function chainOf(
  saga: SagaId,
  after: Head,
  messages: readonly StoredMessage[],
  seen?: ReadonlySet<number>,
): Chain {
  const sorting = sortFrom(saga, after, seen);
  for (const message of messages) sorting.take(message);
  return wholeOf(sorting.end());
}

/** The same of a whole ledger, and in place of the throw what is wrong with it: for those who repair. */
export function chainOrGap(saga: SagaId, messages: readonly StoredMessage[]): ChainOrGap {
  const sorting = sortFrom(saga, emptyHead);
  for (const message of messages) sorting.take(message);
  return sorting.end();
}

/** A chain, and why it cannot be gone on with. */
export type ChainOrGap = Chain & { readonly gap?: MeshError };

function wholeOf({ gap, ...chain }: ChainOrGap): Chain {
  if (gap !== undefined) throw gap;
  return chain;
}

/** Tells a ledger's messages apart one after the other, and keeps of them only what may tell that a turn is gone. */
export interface Sorting extends Pick<Walk, "head" | "take"> {
  /** What is wrong with all that was taken (QC3). */
  gap(): MeshError | undefined;
}

/** A sorting that begins after `after`. `seen`: sequences between that were looked at before. */
export function sortingFrom(saga: SagaId, after: Head, seen?: ReadonlySet<number>): Sorting {
  const walk = walkFrom(saga, after, seen);
  /** Since the last turn: what is foreign, and where all of it was stored. */
  let foreign: Foreign[] = [];
  const stored = new Set(seen);
  return {
    get head() {
      return walk.head;
    },
    take: (message) => {
      const kind = walk.take(message);
      if (kind === "turn") {
        if (foreign.length > 0) foreign = [];
        if (stored.size > 0) stored.clear();
      } else {
        foreign.push({ message, claim: claimOf(message) });
        stored.add(message.seq);
      }
      return kind;
    },
    gap: () => {
      if (walk.isArchived) return undefined;
      const orphan = foreign.find((one) => isOrphan(saga, walk.head, one, stored));
      return orphan && goneBefore(saga, walk.head, orphan);
    },
  };
}

function sortFrom(
  saga: SagaId,
  after: Head,
  seen?: ReadonlySet<number>,
): { take(message: StoredMessage): void; end(): ChainOrGap } {
  const sorting = sortingFrom(saga, after, seen);
  const links: Link[] = [];
  const foreign: Foreign[] = [];
  let tombstone: StoredMessage | undefined;
  return {
    take: (message) => {
      const kind = sorting.take(message);
      if (kind === "turn") links.push({ message, head: sorting.head });
      else if (kind === "tombstone") tombstone = message;
      else foreign.push({ message, claim: claimOf(message) });
    },
    end: () => {
      const gap = sorting.gap();
      return {
        ...{ links, foreign },
        ...(tombstone === undefined ? {} : { tombstone }),
        ...(gap === undefined ? {} : { gap }),
      };
    },
  };
}

/** Whether a message that claims a later place was stored after one that is no longer there. */
function isOrphan(
  saga: SagaId,
  head: Head,
  { message, claim }: Foreign,
  stored?: ReadonlySet<number>,
): boolean {
  if (claim?.saga !== saga || claim.turn <= head.turn) return false;
  const before = storedAfter(message) ?? 0;
  return before > head.seq && !(stored?.has(before) ?? false);
}

const goneBefore = (saga: SagaId, head: Head, { message, claim }: Foreign): MeshError =>
  new MeshError(
    "LEDGER_BROKEN",
    `turn ${head.turn + 1} of ${saga} is gone: at ${message.seq} stands turn ${claim?.turn ?? 0}, which was stored after ${storedAfter(message) ?? 0}, and nothing is there`,
  );

/** All of a ledger after `after`, through a sequence. Throws UNAVAILABLE where it could not be read so far, LEDGER_BROKEN. */
export async function readChain(
  source: ChainSource,
  saga: SagaId,
  after: Head,
  throughSeq: number,
): Promise<Chain> {
  const messages = await source.ledger.read(saga, after.seq, throughSeq);
  const readTo = messages.at(-1)?.seq ?? after.seq;
  if (readTo !== throughSeq)
    throw new MeshError("UNAVAILABLE", `the ledger of ${saga} was read up to ${readTo}, not ${throughSeq}`);
  const sorting = sortFrom(saga, after);
  for (const message of messages) {
    sorting.take(message);
    await source.loop?.breathe();
  }
  const chain = wholeOf(sorting.end());
  if (chain.foreign.length > 0) source.met?.(saga, chain.foreign.length);
  return chain;
}

/**
 * The message of a saga's last turn, or its tombstone; undefined where no turn is stored, whatever else is (QC4). Throws
 * UNAVAILABLE, LEDGER_BROKEN.
 */
export async function lastTurnOf(source: ChainSource, saga: SagaId): Promise<StoredMessage | undefined> {
  for (let looks = 1; ; looks++) {
    const last = await source.ledger.last(saga);
    if (last === undefined || (await isBelieved(source, saga, last))) return last;
    try {
      const { links, tombstone } = await readChain(source, saga, emptyHead, last.seq);
      return tombstone ?? links.at(-1)?.message;
    } catch (error) {
      // Archived between the two looks: there is another last message by now.
      if (!isMeshError(error, "UNAVAILABLE") || looks >= looksMax) throw error;
    }
  }
}

const looksMax = 3;

/** Whether a message may be a turn by who signed it, and that is certain. */
export const countsNow = ({ standing }: StoredMessage): boolean =>
  (standing?.().kind ?? "counts") === "counts";

/** Whether a turn or a tombstone follows a head that was read, or the head stands there no longer. Throws UNAVAILABLE. */
export async function isFollowed(source: ChainSource, saga: SagaId, head: Head): Promise<boolean> {
  const last = await source.ledger.last(saga);
  if (last === undefined || last.seq <= head.seq) return last?.seq !== head.seq;
  try {
    const { links, tombstone } = await readChain(source, saga, head, last.seq);
    if (links.length > 0 || tombstone !== undefined) return true;
    if (head.seq === 0) return false;
    const [own] = await source.ledger.read(saga, head.seq - 1, head.seq);
    return own === undefined || chainHash(own.data) !== head.hash; // It is gone: what follows may be another chain.
  } catch (error) {
    if (isMeshError(error, "LEDGER_BROKEN")) return true;
    throw error;
  }
}

async function isBelieved(source: ChainSource, saga: SagaId, last: StoredMessage): Promise<boolean> {
  const claim = claimOf(last);
  const before = storedAfter(last);
  if (claim?.saga !== saga || before === undefined || !countsNow(last)) return false;
  if (before === 0) return follows(claim, saga, emptyHead);
  const [former] = await source.ledger.read(saga, before - 1, before);
  if (former === undefined || !countsNow(former)) return false;
  const its = claimOf(former);
  const head = {
    turn: its?.kind === "turn" && its.saga === saga ? its.turn : 0,
    hash: chainHash(former.data),
  };
  return head.turn > 0 && follows(claim, saga, head);
}
