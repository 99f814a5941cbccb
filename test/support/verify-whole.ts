/**
 * Verify, whole: the same predicates over a ledger that is in memory at once, in the order in which a reader of the rules would
 * write them down. What the product does turn by turn is held against this.
 */
import type { Growing } from "../../actors/kernel/folding.ts";
import { foldTurn } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { canonicalJson } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { lastMessageOf } from "../../services/ledger/begun.ts";
import type { VerifyOptions } from "../../services/views/verify.ts";
import { assertNotArchived, decodeTurn, type LedgerSource } from "../../services/ledger/reader.ts";
import { inPieces } from "../../services/wire/loop.ts";
import { describeForeign } from "../../services/views/foreign.ts";
import { claimOf, emptyHead, type Foreign, walkFrom } from "../../services/ledger/chain.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { definitionSetBy, traceIdOf, turnHeaders } from "../../services/wire/turn-headers.ts";
import { type Segment, segmentsOf, servedBy } from "../../services/views/segments.ts";
import { createStand, heldAgainst } from "../../services/views/verify-evidence.ts";
import { signatureCheck } from "../../services/views/verify-signatures.ts";

type Signable = Parameters<ReturnType<typeof signatureCheck>["take"]>[0];

type Finding = VerifyDocument["findings"][number];

/**
 * Checks a whole ledger and lists everything found. Throws SAGA_UNKNOWN, SAGA_NOT_BEGUN, SAGA_ARCHIVED, UNAVAILABLE,
 * VERSION_UNSERVED.
 */
export async function verifyLedgerWhole(
  ports: LedgerSource,
  saga: SagaId,
  app?: App,
  options: Omit<VerifyOptions, "app"> = {},
): Promise<VerifyDocument> {
  const last = (await ports.ledger.last(saga)) ?? (await lastMessageOf(ports, saga));
  const messages = await ports.ledger.read(saga, 0, last.seq);
  const { turns, tombstone, foreign } = await toldApart(ports, saga, messages);
  if (tombstone !== undefined) await assertNotArchived(ports.blobs, tombstone);
  if (turns.length === 0) await lastMessageOf(ports, saga); // Nothing but what is foreign: there is no such saga.
  const document = await verifyMessages(ports, saga, turns, { ...options, app });
  if (foreign.length === 0) return document;
  return {
    ...document,
    foreign: { count: foreign.length, first: foreign.slice(0, 20).map(describeForeign) },
  };
}

/** A place in a ledger, and what is known of the one before it. */
interface Place {
  readonly saga: SagaId;
  readonly place: number;
  /** Undefined where the message before is missing. */
  readonly before: { readonly seq: number; readonly hash: string } | undefined;
  /** As the turn leaves it. */
  readonly definition: DefinitionRef | undefined;
}

/** The same of messages at hand. `undefined` is one that could not be had: what follows it is not held against it. */
async function verifyMessages(
  ports: Pick<LedgerSource, "blobs" | "loop">,
  saga: SagaId,
  messages: readonly (StoredMessage | undefined)[],
  { app, foldsWhereServed = false, signatures, evidence, mentions }: VerifyOptions,
): Promise<VerifyDocument> {
  const following = createStand(saga);
  const findings: Finding[] = [];
  const turns: (Turn | undefined)[] = [];
  const signable: Signable[] = [];
  let before: Place["before"] = { seq: 0, hash: "" };
  let definition: DefinitionRef | undefined;
  for (const [index, message] of messages.entries()) {
    const place = index + 1;
    const turn = message && (await readWhole(ports, message, place, findings));
    turns.push(turn);
    if (message !== undefined) signable.push({ place, message, turn });
    if (message !== undefined && turn !== undefined) {
      definition = definitionSetBy(turn) ?? definition;
      findings.push(...checkPlace(turn, message, { saga, place, before, definition }));
    }
    if (message !== undefined && before !== undefined)
      findings.push(...checkOrder(message, place, before.seq));
    before = message && { seq: message.seq, hash: chainHash(message.data) };
    following.take(turn, before?.hash ?? "");
    if (turn !== undefined) mentions?.take(turn);
    await ports.loop?.breathe();
  }
  const doubled = await inPieces(ports.loop, checkInputs(turns));
  const check = signatures && signatureCheck(saga, signatures);
  const signing = check && { findings: signable.flatMap(check.take), signed: check.signed() };
  addAll(findings, doubled);
  addAll(findings, signing?.findings ?? []);
  const folding = await foldedWith({ app, foldsWhereServed, loop: ports.loop }, turns, findings);
  addAll(findings, folding.findings);
  const stand = following.stand(); // VF8
  const beside = await evidence?.(stand);
  if (beside !== undefined) addAll(findings, heldAgainst(stand, beside));
  findings.sort((a, b) => a.turn - b.turn);
  return {
    saga,
    ok: findings.length === 0,
    turns: messages.length,
    ...(before === undefined || before.seq === 0 ? {} : { last: `${messages.length}:${before.hash}` }),
    ...(stand.standing === undefined ? {} : { standing: stand.standing }),
    ...(beside === undefined || beside.compared.length === 0 ? {} : { compared: [...beside.compared] }),
    folded: folding.folded,
    ...(folding.unfolded === undefined ? {} : { unfolded: folding.unfolded }),
    ...(folding.unproven.length === 0 ? {} : { unproven: folding.unproven }),
    ...(signing?.signed === undefined ? {} : { signed: signing.signed }),
    findings,
  };
}

/** VF3. */
async function readWhole(
  ports: Pick<LedgerSource, "blobs">,
  message: StoredMessage,
  place: number,
  findings: Finding[],
): Promise<Turn | undefined> {
  try {
    return await decodeTurn(ports.blobs, message);
  } catch (error) {
    if (!isMeshError(error) || error.retriable) throw error;
    findings.push({ turn: place, code: error.code, what: wordsOf(error) });
    return undefined;
  }
}

const wordsOf = (error: unknown): string => describeError(error).replace(/^\[\w+\] /, "");

/** VF1. */
function checkPlace(turn: Turn, message: StoredMessage, at: Place): Finding[] {
  const { saga, place, before, definition } = at;
  const findings: Finding[] = [];
  const broken = (what: string) => findings.push({ turn: place, code: "LEDGER_BROKEN", what });
  if (turn.saga !== saga) broken(`it belongs to ${turn.saga}`);
  if (turn.turn !== place) broken(`it has number ${turn.turn}`);
  if (before !== undefined && turn.prev !== before.hash)
    broken(
      `it does not follow the turn before it: expected ${before.hash || "nothing"}, got ${turn.prev || "nothing"}`,
    );
  if ((place === 1) !== (turn.steps[0]?.event.type === "start"))
    broken(place === 1 ? "it does not begin with a start" : "it begins with a second start");
  const expected = turnHeaders(turn, chainHash(message.data), { definition, traceId: traceIdOf(saga) });
  for (const [name, value] of Object.entries(expected))
    if (message.headers[name] !== value)
      broken(
        `its header ${name} is not of its bytes: expected ${value}, got ${message.headers[name] ?? "nothing"}`,
      );
  for (const name of Object.keys(message.headers))
    if (!Object.hasOwn(expected, name) && !isTransports(name))
      broken(`it has a header ${name}, which no turn has`);
  return findings;
}

/** Fields that the server, or who speaks to it, writes beside those of a turn; and its signature (VF7). */
const isTransports = (name: string): boolean =>
  name.startsWith("Nats-") || name === headers.contentType || name === headers.signature;

/** VF5. */
function checkOrder({ seq, headers: fields }: StoredMessage, place: number, seqBefore: number): Finding[] {
  const findings: Finding[] = [];
  const broken = (what: string) => findings.push({ turn: place, code: "LEDGER_BROKEN", what });
  if (seq <= seqBefore) broken(`it is stored at ${seq}, and the turn before it at ${seqBefore}`);
  const expected = fields[headers.expectedSeq];
  // Where something foreign stands between, it was stored after that; and that may have been removed.
  if (expected !== undefined && !(Number(expected) >= seqBefore && Number(expected) < seq))
    broken(`it was to be stored after ${expected}, and the turn before it is at ${seqBefore}`);
  return findings;
}

/** VF2. */
function* checkInputs(turns: readonly (Turn | undefined)[]): Generator<undefined, Finding[]> {
  const findings: Finding[] = [];
  const decided = new Set<IntentId>();
  const definite = new Set<string>();
  for (const [index, one] of turns.entries()) {
    yield;
    const turn = index + 1;
    for (const { event, intents } of one?.steps ?? []) {
      const broken = (what: string) => findings.push({ turn, code: "LEDGER_BROKEN", what });
      if ("intent" in event && !decided.has(event.intent))
        broken(`${event.type} names ${event.intent}, which was not decided before it`);
      if (
        event.type === "result" &&
        (event.result.outcome === "succeeded" || event.result.outcome === "failed")
      ) {
        const { intent, attempt, result } = event;
        const settlement = `${intent}#${attempt} ${result.outcome === "failed" ? "failed" : canonicalJson(result.output)}`;
        if (definite.has(settlement))
          broken(`attempt ${attempt} of ${intent} is recorded as ${result.outcome} twice`);
        definite.add(settlement);
      }
      for (const intent of intents)
        if (intent.kind === "retry") {
          if (!decided.has(intent.id)) broken(`a retry of ${intent.id}, which was not decided before it`);
        } else if (decided.has(intent.id)) broken(`${intent.id} is decided twice`);
        else decided.add(intent.id);
    }
  }
  return findings;
}

/** Who signed, or did not, changes nothing about what was decided. */
const isOfContent = ({ code }: Finding): boolean => code !== "SIGNER_UNTRUSTED";

/** There may be as many as there are turns, more than a call has room for as arguments. */
function addAll(findings: Finding[], more: readonly Finding[]): void {
  for (const finding of more) findings.push(finding);
}

/** VF4, as far as the turns are whole; of a saga that was moved, each part by the definition that decided it (VF6). */
async function foldedWith(
  { app, foldsWhereServed, loop }: VerifyOptions & Pick<LedgerSource, "loop">,
  turns: readonly (Turn | undefined)[],
  found: readonly Finding[],
): Promise<{ findings: Finding[]; folded: boolean; unproven: Segment[]; unfolded?: string }> {
  const folding = { findings: [] as Finding[], folded: false, unproven: [] as Segment[] };
  if (app === undefined) return folding;
  let sound = turns.length;
  for (const finding of found)
    if (isOfContent(finding)) sound = Math.min(sound, Math.max(0, finding.turn - 1));
  const whole = turns.slice(0, sound).filter((turn) => turn !== undefined);
  if (whole.length === 0) return folding;
  try {
    for (const segment of segmentsOf(whole))
      if (segment.to === whole.length || app.definition(segment.definition) !== undefined)
        addAll(folding.findings, await inPieces(loop, checkFold(app, whole, segment)));
      else folding.unproven.push(segment);
  } catch (error) {
    if (!foldsWhereServed || !isMeshError(error, "VERSION_UNSERVED")) throw error;
    return { ...folding, unfolded: wordsOf(error) };
  }
  return { ...folding, folded: whole.length === turns.length || folding.findings.length > 0 };
}

function* checkFold(app: App, turns: readonly Turn[], segment: Segment): Generator<undefined, Finding[]> {
  const definition = servedBy(app, { saga: turns[0]?.saga as SagaId }, segment); // Proof: a segment has turns.
  const growing: Growing = new WeakSet(); // No state between two turns is kept.
  let state: SagaState | undefined;
  for (const turn of turns.slice(0, segment.to)) {
    yield;
    const how = turn.turn < segment.from ? "but for requests" : "strict";
    try {
      state = foldTurn(definition, state, turn, how, growing).state;
    } catch (error) {
      const code = isMeshError(error) ? error.code : "INTERNAL";
      return [{ turn: turn.turn, code, what: wordsOf(error) }];
    }
  }
  return [];
}

/** A whole ledger's messages as somebody checks them. */
interface ToldApart {
  /** With those that say they are later turns and do not chain. */
  readonly turns: readonly StoredMessage[];
  /** How many of those chain; what follows them does not. */
  readonly linked: number;
  readonly tombstone: StoredMessage | undefined;
  readonly foreign: readonly Foreign[];
}

/** Tells all messages of a ledger apart, the earliest first. */
async function toldApart(
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
  const { [headers.saga]: of, [headers.turn]: told } = message.headers;
  const isClaimed = claim?.kind === "turn" && claim.saga === saga && claim.turn > turn;
  return isClaimed || (of === saga && Number(told) > turn);
}
