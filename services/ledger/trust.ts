/**
 * Trust: a ledger whose messages tell whether they may be turns by who signed them, as the mesh's document of trust says.
 *
 * QV1 Each message is judged when it is asked, by what this process knows then. What it judges so is never judged otherwise
 *     by what it learns later (services/wire/standing.ts), as long as it appends nothing by old knowledge (QV2).
 * QV2 What appends where such a document stands has read it within a host's time to live. So, that long after something was
 *     announced, nothing is appended by a process that has not heard of it. A message without a signature that will count is
 *     not appended at all.
 * QV3 A document that cannot be read decides nothing: all that was known before holds on, and where nothing was, what is
 *     signed or not is unsettled. It says so, and can be written anew.
 */
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { readSignature } from "../../protocol/signing.ts";
import { headers } from "../../protocol/subjects.ts";
import { mayStillSign, TrustDocument, trustKey } from "../../protocol/trust.ts";
import type { Clock, LedgerPort, RegistryPort, Standing, StoredMessage, TrustPort } from "../wire/ports.ts";
import type { CheckSignature } from "../wire/signing.ts";
import { standingOf } from "../wire/standing.ts";

/** What is stored of trust. */
export interface Trusting {
  /** 0: nothing was ever said. */
  readonly revision: number;
  readonly document: TrustDocument;
  /** Why it cannot be read; then the document is empty. */
  readonly fault?: string;
}

const nobody: TrustDocument = { v: 1, keys: {} };
const nothingSaid: Trusting = { revision: 0, document: nobody };

/** Reads the document. Throws UNAVAILABLE. */
export async function readTrust(registry: Pick<RegistryPort, "read">): Promise<Trusting> {
  const entry = await registry.read(trustKey);
  return entry === undefined ? nothingSaid : trustingOf(entry);
}

/** What an entry of the registry says. */
export function trustingOf({ revision, data }: Pick<Trusting, "revision"> & { data: Uint8Array }): Trusting {
  try {
    return { revision, document: TrustDocument.parse(JSON.parse(Buffer.from(data).toString())) };
  } catch (error) {
    return { revision, document: nobody, fault: describeError(error) };
  }
}

export interface TrustDeps {
  readonly registry: Pick<RegistryPort, "read">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly check: CheckSignature;
}

/** A process's knowledge of trust. It learns when it is told to. */
export interface TrustKeeper extends TrustPort {
  /** Why what is stored cannot be read (QV3). */
  fault(): MeshError | undefined;
  standing(message: Pick<StoredMessage, "subject" | "seq" | "data" | "headers">): Standing;
  /** Throws UNAVAILABLE where it was not heard of for too long, SIGNER_REFUSED for a signature that will not count (QV2). */
  assertAppendable(signature: string | undefined): void;
}

/** Knows nothing before `learn` was called: what is not known to be signed may be a turn until then. */
export function createTrust({ registry, clock, check }: TrustDeps): TrustKeeper {
  let known = nothingSaid;
  let learnedAt = Number.NEGATIVE_INFINITY;
  let hasRead = false;
  const isBlind = () => known.fault !== undefined && !hasRead; // QV3

  const refusal = (publicKey: string | undefined): MeshError | undefined => {
    const { document, fault } = known;
    if (isBlind()) return unreadable(fault);
    if (document.required === undefined || mayStillSign(document, publicKey)) return undefined;
    const signs = publicKey === undefined ? "this process signs nothing" : `${publicKey} is no key for that`;
    return new MeshError("SIGNER_REFUSED", `turns of this mesh must be signed, and ${signs}`);
  };
  return {
    revision: () => known.revision,
    fault: () => (known.fault === undefined ? undefined : unreadable(known.fault)),
    refusal,
    learn: async () => {
      const at = clock.elapsed();
      const next = await readTrust(registry);
      // Of a leader that leads no more; or the bucket was lost, and what it said with it: then nothing is appended (QV2).
      if (next.revision < known.revision) return;
      learnedAt = Math.max(learnedAt, at);
      known = next.fault === undefined ? next : { ...next, document: known.document };
      hasRead ||= next.fault === undefined;
    },
    standing: (message) =>
      isBlind()
        ? { kind: "unsettled", why: `whose signatures count: ${unreadable(known.fault).message}` }
        : standingOf(known.document, message, check),
    assertAppendable: (signature) => {
      if (known.revision === 0) return;
      if (clock.elapsed() - learnedAt > limits.hostTtlMs)
        throw new MeshError("UNAVAILABLE", "it was not heard for too long whose signatures count");
      const error = refusal(signature === undefined ? undefined : readSignature(signature)?.key);
      if (error !== undefined) throw error;
    },
  };
}

const unreadable = (fault: string | undefined): MeshError =>
  new MeshError("TRUST_UNREADABLE", `what the mesh says of whose signatures count cannot be read: ${fault}`);

type Judging = Pick<TrustKeeper, "standing" | "revision">;

const toldBy =
  (trust: Judging) =>
  (message: StoredMessage): StoredMessage =>
    // Where nothing was said by then it counts, whatever is said later (QV1).
    trust.revision() === 0 ? message : { ...message, standing: () => trust.standing(message) };

/** What is read of ledgers, each message with its standing. */
export function withStanding<L extends Pick<LedgerPort, "last" | "first" | "read">>(
  ledger: L,
  trust: Judging,
): L {
  const told = toldBy(trust);
  const toldIfAny = (message: StoredMessage | undefined) => message && told(message);
  return {
    ...ledger,
    last: async (saga) => toldIfAny(await ledger.last(saga)),
    first: async (saga) => toldIfAny(await ledger.first(saga)),
    read: async (...range) => (await ledger.read(...range)).map(told),
  };
}

/** The ledger, each of its messages with its standing, and appending only what will count. */
export function trustedLedger(
  ledger: LedgerPort,
  trust: TrustKeeper,
  clock: Pick<Clock, "sleep">,
): LedgerPort {
  const told = toldBy(trust);
  return {
    ...withStanding(ledger, trust),
    append: async (saga, message) => {
      trust.assertAppendable(message.headers[headers.signature]);
      return ledger.append(saga, message);
    },
    async *since(places) {
      for await (const piece of ledger.since(places)) yield { ...piece, messages: piece.messages.map(told) };
    },
    async *follow(options) {
      for await (const message of ledger.follow(options)) {
        while (trust.standing(message).kind === "unsettled" && !options.signal.aborted)
          await clock.sleep(settlingMs, options.signal).catch(() => undefined); // Aborted: it ends by itself.
        yield told(message);
      }
    },
  };
}

/** Who follows is given what is unsettled once it is settled. */
const settlingMs = 250;

/** Whether something cannot be read until a person says whose a key is: what is sent to its saga is kept until then. */
export const isUnjudged = (error: unknown): boolean =>
  isMeshError(error, "SIGNER_UNKNOWN") || isMeshError(error, "TRUST_UNSETTLED");

/** Why a message that chains cannot be judged now. */
export const unjudged = (what: string, standing: Exclude<Standing, { kind: "counts" }>): MeshError =>
  standing.kind === "unknown"
    ? new MeshError(
        "SIGNER_UNKNOWN",
        `${what} is signed by ${standing.why}, which this mesh was not told of`,
        {
          remedy: `If a host of yours signs with it: \`sagamesh trust add ${standing.why}\`. If not: \`sagamesh trust remove ${standing.why} --yes\`.`,
        },
      )
    : new MeshError(
        "TRUST_UNSETTLED",
        `${what} waits until it is decided ${standing.kind === "unsettled" ? standing.why : ""}`,
      );
