/**
 * Foreign: what stands on a ledger's subject beside its turns, for people who ask what it is and where it came from.
 */
import { chainHash } from "../../protocol/digest.ts";
import type { ForeignDocument, ForeignMessage } from "../../protocol/documents/verify.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { headers as names } from "../../protocol/subjects.ts";
import { type Claim, claimOf, emptyHead, type Foreign, walkFrom } from "../ledger/chain.ts";
import type { StoredMessage } from "../wire/ports.ts";

/** A message, and the hash of its bytes in the chain. */
export interface Hashed {
  readonly message: StoredMessage;
  readonly hash: string;
}

/** A ledger's messages as somebody checks them, told apart as they come, the earliest first. */
export interface TellingApart {
  /** The message with its hash, if it is a turn. */
  take(message: StoredMessage): Hashed | undefined;
  /** What is left: those after the last turn that say they are later ones, and do not chain. */
  end(): readonly Hashed[];
  readonly tombstone: StoredMessage | undefined;
  /** Of what was taken so far; complete after the end. */
  foreign(): { foreign?: ForeignDocument };
}

/** Nothing was taken yet. */
export function tellingApart(saga: SagaId): TellingApart {
  const walk = walkFrom(saga, emptyHead);
  /** Since the last turn. */
  const since: StoredMessage[] = [];
  let tombstone: StoredMessage | undefined;
  const first: ForeignMessage[] = [];
  let count = 0;
  const tell = (messages: readonly StoredMessage[]) => {
    for (const message of messages) {
      count += 1;
      if (first.length < shownMax) first.push(describeForeign({ message, claim: claimOf(message) }));
    }
  };
  return {
    take: (message) => {
      const kind = walk.take(message);
      if (kind === "foreign") {
        since.push(message);
        return undefined;
      }
      if (since.length > 0) tell(since.splice(0));
      if (kind === "turn") return { message, hash: walk.head.hash };
      tombstone = message;
      return undefined;
    },
    end: () => {
      const isTurn = (message: StoredMessage) =>
        tombstone === undefined && isLater(saga, walk.head.turn, message);
      const left = since.splice(0);
      const [turns, others] = [left.filter(isTurn), left.filter((message) => !isTurn(message))];
      tell(others);
      return turns.map((message) => ({ message, hash: chainHash(message.data) }));
    },
    get tombstone() {
      return tombstone;
    },
    foreign: () => (count === 0 ? {} : { foreign: { count, first } }),
  };
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
