/**
 * Foreign: what stands on a ledger's subject beside its turns, for people who ask what it is and where it came from.
 */
import type { ForeignDocument, ForeignMessage } from "../../protocol/documents/verify.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { headers as names } from "../../protocol/subjects.ts";
import { type Claim, claimOf, emptyHead, type Foreign, walkFrom } from "../ledger/chain.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import type { StoredMessage } from "../wire/ports.ts";

/** A whole ledger's messages as somebody checks them. */
export interface ToldApart {
  /** With those that say they are later turns and do not chain. */
  readonly turns: readonly StoredMessage[];
  /** How many of those chain; what follows them does not. */
  readonly linked: number;
  readonly tombstone: StoredMessage | undefined;
  readonly foreign: readonly Foreign[];
}

/** Tells all messages of a ledger apart, the earliest first. */
export async function toldApart(
  { loop }: Pick<LedgerSource, "loop">,
  saga: SagaId,
  messages: readonly StoredMessage[],
): Promise<ToldApart> {
  const walk = walkFrom(saga, emptyHead);
  const kinds: ReturnType<typeof walk.take>[] = [];
  for (const message of messages) {
    kinds.push(walk.take(message));
    await loop?.breathe();
  }
  const end = kinds.findLastIndex((kind) => kind !== "foreign");
  const turns: StoredMessage[] = [];
  const foreign: Foreign[] = [];
  let tombstone: StoredMessage | undefined;
  for (const [index, message] of messages.entries())
    if (kinds[index] === "tombstone") tombstone = message;
    else if (kinds[index] === "turn") turns.push(message);
    else if (index > end && tombstone === undefined && isLater(saga, walk.head.turn, message))
      turns.push(message);
    else foreign.push({ message, claim: claimOf(message) });
  return { turns, linked: walk.head.turn, tombstone, foreign };
}

/** By its bytes or by what stands beside them: either may have been changed. */
function isLater(saga: SagaId, turn: number, message: StoredMessage): boolean {
  if (message.standing?.().kind === "foreign") return false; // By who signed it, or did not: no host of the mesh.
  const claim = claimOf(message);
  const { [names.saga]: of, [names.turn]: told } = message.headers;
  const isClaimed = claim?.kind === "turn" && claim.saga === saga && claim.turn > turn;
  return isClaimed || (of === saga && Number(told) > turn);
}

/** How many of the first are shown where there are many. */
const shownMax = 20;

/** As the member of a document; nothing where there are none. */
export const foreignDocument = (foreign: readonly Foreign[]): { foreign?: ForeignDocument } =>
  foreign.length === 0
    ? {}
    : { foreign: { count: foreign.length, first: foreign.slice(0, shownMax).map(describeForeign) } };

/** One of them, for a reader. */
export function describeForeign({ message, claim }: Foreign): ForeignMessage {
  const { seq, storedAt, data, headers } = message;
  return {
    seq,
    at: storedAt,
    bytes: data.length,
    why: unsignedWhy(message) ?? whyOf(message, claim),
    begins: beginOf(data),
    headers,
  };
}

function unsignedWhy({ standing }: StoredMessage): string | undefined {
  const now = standing?.();
  return now?.kind === "foreign" ? now.why : undefined;
}

function whyOf(message: StoredMessage, claim: Claim | undefined): string {
  if (claim === undefined) return message.data.length === 0 ? "it is empty" : "it is no turn of any ledger";
  const what = claim.kind === "tombstone" ? "a tombstone" : `turn ${claim.turn}`;
  return `it says that it is ${what} of ${claim.saga} after ${claim.prev === "" ? "nothing" : claim.prev}, and does not follow there`;
}

const beginMax = 60;

/** One line: whoever reads it reads what a stranger wrote. */
const beginOf = (data: Uint8Array): string =>
  JSON.stringify(
    Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, beginMax)).toString("latin1"),
  )
    .slice(1, -1)
    .replaceAll(/[^ -~]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
