/**
 * Verify: what must hold of any ledger, as predicates over its stored messages.
 *
 * A ledger is read some messages at a time, each is checked as it comes, and none is kept: what is held grows by some hundred
 * bytes a turn, whatever the turns hold.
 *
 * VF1 Numbers without a gap, each turn chained to the bytes before it, headers that are those of the bytes. The
 *     last turn has none behind it: its bytes must be those that its own `traceparent` was made of.
 * VF2 Every input that names an intent names one decided before it. An attempt fails once at most, and the same
 *     success is recorded once: a success after a failure, or another success after one that could not be read,
 *     is a correction.
 * VF3 Every blob is there and hashes to its name: reading a turn puts them back.
 * VF4 With the definition: the fold decides what was recorded, the digests of model requests included.
 * VF5 The order of the stream is that of the turns, and what each append expected was the turn before it.
 * VF6 Of a saga that was moved to another definition, what the old one decided is proved by the old one; where that is
 *     not at hand, the document says which turns were not.
 * VF7 A signature, of a turn or of a vote, is of what it stands beside (verify-signatures.ts).
 * VF8 How far it goes is said, and held against what else names its turns (verify-evidence.ts).
 * VF9 What is foreign before the last turn that chains, or says that it is no later one, is told and is no finding: the
 *     ledger is whole without it. What stands after that turn and says that it is a later one is taken for a turn, and is a
 *     finding: either it was forged, or a turn before it was changed or removed.
 */
import { chainHash } from "../../protocol/digest.ts";
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { lastMessageOf } from "../ledger/begun.ts";
import { readPages } from "../ledger/pages.ts";
import { assertNotArchived, decodeTurn, type LedgerSource } from "../ledger/reader.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { definitionSetBy, traceIdOf } from "../wire/turn-headers.ts";
import { type Hashed, tellingApart } from "./foreign.ts";
import { checkOrder, checkPlace, inputCheck, type Place } from "./verify-checks.ts";
import { createStand, type Evidence, heldAgainst, type Mentions, type Stand } from "./verify-evidence.ts";
import { type Folded, ledgerFold, notFolded, wordsOf } from "./verify-fold.ts";
import { signatureCheck, type SignatureOptions } from "./verify-signatures.ts";

type Finding = VerifyDocument["findings"][number];

/** What is checked beside the ledger itself. */
export interface VerifyOptions {
  /** Folds with its definitions. */
  readonly app?: App | undefined;
  /** A saga that the application does not serve is not folded, instead of VERSION_UNSERVED. */
  readonly foldsWhereServed?: boolean;
  /** Without it signatures are not looked at. */
  readonly signatures?: SignatureOptions | undefined;
  /** What was kept of its turns, or is found beside the ledger once it is read (VF8). */
  readonly evidence?: ((stand: Stand) => Evidence | Promise<Evidence>) | undefined;
  /** Is given each turn that can be read, for what it says of other sagas. */
  readonly mentions?: Pick<Mentions, "take"> | undefined;
}

/**
 * Checks a whole ledger and lists everything found. Throws SAGA_UNKNOWN, SAGA_NOT_BEGUN, SAGA_ARCHIVED, UNAVAILABLE,
 * VERSION_UNSERVED.
 */
export async function verifyLedger(
  ports: LedgerSource,
  saga: SagaId,
  app?: App,
  options: Omit<VerifyOptions, "app"> = {},
): Promise<VerifyDocument> {
  const last = (await ports.ledger.last(saga)) ?? (await lastMessageOf(ports, saga));
  let apart = tellingApart(saga);
  const turns = async function* (): AsyncGenerator<readonly Hashed[]> {
    const telling = tellingApart(saga);
    for await (const page of readPages(ports.ledger, saga, 0, last.seq)) {
      for (const message of page) {
        const turn = telling.take(message);
        if (turn !== undefined) yield [turn]; // One by one: each is read while its content is at hand.
        const wait = ports.loop?.breathe();
        if (wait !== undefined) await wait;
      }
    }
    yield telling.end();
    apart = telling;
    if (telling.tombstone !== undefined) await assertNotArchived(ports.blobs, telling.tombstone);
  };
  const document = await verifyTurns(ports, saga, turns, { ...options, app });
  if (document.turns === 0) await lastMessageOf(ports, saga); // Nothing but what is foreign: there is no such saga.
  return { ...document, ...apart.foreign() };
}

/** Messages at hand that are hashed before the loop is given way to. */
const atOnce = 16;

/** The same of messages at hand. `undefined` is one that could not be had: what follows it is not held against it. */
export const verifyMessages = (
  ports: Pick<LedgerSource, "blobs" | "loop">,
  saga: SagaId,
  messages: readonly (StoredMessage | undefined)[],
  options: VerifyOptions,
): Promise<VerifyDocument> =>
  verifyTurns(
    ports,
    saga,
    async function* () {
      for (let from = 0; from < messages.length; from += atOnce)
        yield messages
          .slice(from, from + atOnce)
          .map((message) => message && { message, hash: chainHash(message.data) });
    },
    options,
  );

/** Messages of a ledger some at a time, from the first; each time it is called once more. */
type Reading = () => AsyncIterable<readonly (Hashed | undefined)[]>;

async function verifyTurns(
  ports: Pick<LedgerSource, "blobs" | "loop">,
  saga: SagaId,
  read: Reading,
  { app, foldsWhereServed = false, signatures, evidence, mentions }: VerifyOptions,
): Promise<VerifyDocument> {
  const check = turnCheck(saga, signatures);
  const fold = app && ledgerFold(app, saga, foldsWhereServed);
  for await (const page of read())
    for (const one of page) {
      const turn = await check.take(ports, one);
      if (turn !== undefined) mentions?.take(turn);
      if (turn !== undefined && check.turns <= check.sound) fold?.take(turn);
      const wait = ports.loop?.breathe();
      if (wait !== undefined) await wait;
    }
  const folded = (await fold?.end(check.turns, () => wholeTurns(ports, read, check.sound))) ?? notFolded;
  const stand = check.stand(); // VF8
  const beside = await evidence?.(stand);
  return documentOf(check, folded, stand, beside);
}

function documentOf(
  check: TurnCheck,
  folded: Folded,
  stand: Stand,
  beside: Evidence | undefined,
): VerifyDocument {
  const findings = [
    ...check.findings(),
    ...folded.findings,
    ...(beside === undefined ? [] : heldAgainst(stand, beside)),
  ].sort((a, b) => a.turn - b.turn);
  const { saga, standing } = stand;
  const signed = check.signed();
  return {
    saga,
    ok: findings.length === 0,
    turns: check.turns,
    ...(check.lastHash === undefined ? {} : { last: `${check.turns}:${check.lastHash}` }),
    ...(standing === undefined ? {} : { standing }),
    ...(beside === undefined || beside.compared.length === 0 ? {} : { compared: [...beside.compared] }),
    folded: folded.folded,
    ...(folded.unfolded === undefined ? {} : { unfolded: folded.unfolded }),
    ...(folded.unproven.length === 0 ? {} : { unproven: [...folded.unproven] }),
    ...(signed === undefined ? {} : { signed }),
    findings,
  };
}

/** What is found of a ledger's turns without folding them. */
interface TurnCheck {
  /** The turn, if it can be read. */
  take(ports: Pick<LedgerSource, "blobs">, one: Hashed | undefined): Promise<Turn | undefined>;
  /** Taken so far, whole or not. */
  readonly turns: number;
  /** Up to here nothing is wrong with what was decided: as far as it is worth folding. */
  readonly sound: number;
  /** Of the last one; undefined where it is missing, or there is none. */
  readonly lastHash: string | undefined;
  stand(): Stand;
  signed(): VerifyDocument["signed"];
  findings(): readonly Finding[];
}

function turnCheck(saga: SagaId, signatures: SignatureOptions | undefined): TurnCheck {
  const following = createStand(saga);
  const traceId = traceIdOf(saga);
  const inputs = inputCheck();
  const signing = signatures && signatureCheck(saga, signatures);
  const findings: Finding[] = [];
  let [place, sound] = [0, Number.POSITIVE_INFINITY];
  let before: Place["before"] = { seq: 0, hash: "" };
  let definition: DefinitionRef | undefined;
  const found = (more: readonly Finding[]) => {
    for (const finding of more) {
      findings.push(finding);
      if (isOfContent(finding)) sound = Math.min(sound, place - 1);
    }
  };
  return {
    take: async (ports, one) => {
      place += 1;
      const { message, hash } = one ?? {};
      const turn = message && (await readWhole(ports, message, place, found));
      if (message !== undefined && hash !== undefined && turn !== undefined) {
        definition = definitionSetBy(turn) ?? definition;
        found(checkPlace(turn, message, hash, { saga, place, before, definition, traceId }));
      }
      if (message !== undefined && before !== undefined) found(checkOrder(message, place, before.seq));
      if (turn !== undefined) found(inputs.take(turn, place));
      if (message !== undefined) found(signing?.take({ place, message, turn }) ?? []);
      before = message && { seq: message.seq, hash: hash ?? "" };
      following.take(turn, hash ?? "");
      return turn;
    },
    get turns() {
      return place;
    },
    get sound() {
      return sound;
    },
    get lastHash() {
      return before?.hash === "" ? undefined : before?.hash;
    },
    stand: () => following.stand(),
    signed: () => signing?.signed(),
    findings: () => findings,
  };
}

/** VF3. */
async function readWhole(
  ports: Pick<LedgerSource, "blobs">,
  message: StoredMessage,
  place: number,
  found: (findings: readonly Finding[]) => void,
): Promise<Turn | undefined> {
  try {
    return await decodeTurn(ports.blobs, message);
  } catch (error) {
    if (!isMeshError(error) || error.retriable) throw error;
    found([{ turn: place, code: error.code, what: wordsOf(error) }]);
    return undefined;
  }
}

/** Who signed, or did not, changes nothing about what was decided. */
const isOfContent = ({ code }: Finding): boolean => code !== "SIGNER_UNTRUSTED";

/** The turns once more, as far as they were found sound. */
async function* wholeTurns(
  ports: Pick<LedgerSource, "blobs" | "loop">,
  read: Reading,
  sound: number,
): AsyncGenerator<readonly Turn[]> {
  let place = 0;
  for await (const page of read()) {
    const turns: Turn[] = [];
    for (const one of page) {
      place += 1;
      if (place > sound) break;
      if (one !== undefined) turns.push(await decodeTurn(ports.blobs, one.message));
      const wait = ports.loop?.breathe();
      if (wait !== undefined) await wait;
    }
    yield turns;
    if (place > sound) return;
  }
}
