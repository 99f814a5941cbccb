/**
 * Verify: what must hold of any ledger, as predicates over its stored messages.
 *
 * F1 Numbers without a gap, each turn chained to the bytes before it, headers that say what the body says. The
 *    last turn has none behind it: its bytes must be those that its own `traceparent` was made of.
 * F2 Every input that names an intent names one decided before it. An attempt fails once at most, and the same
 *    success is recorded once: a success after a failure, or another success after one that could not be read,
 *    is a correction.
 * F3 Every blob is there and hashes to its name: reading a turn puts them back.
 * F4 With the definition: the fold decides what was recorded, the digests of model requests included.
 */
import { foldTurn } from "../../actors/replay.ts";
import type { SagaState } from "../../actors/state.ts";
import { chainHash, spanOf } from "../../protocol/digest.ts";
import type { VerifyDocument } from "../../protocol/documents.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { canonicalJson } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app.ts";
import { assertNotArchived, decodeTurn, type LedgerSource } from "../ledger-reader.ts";
import type { StoredMessage } from "../ports.ts";
import { servedDefinition } from "./folded.ts";

type Finding = VerifyDocument["findings"][number];

/**
 * Checks a whole ledger and lists everything found. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, UNAVAILABLE,
 * VERSION_UNSERVED.
 */
export async function verifyLedger(ports: LedgerSource, saga: SagaId, app?: App): Promise<VerifyDocument> {
  const last = await ports.ledger.last(saga);
  if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  await assertNotArchived(ports.blobs, last);
  const messages = await ports.ledger.read(saga, 0, last.seq);
  const findings: Finding[] = [];
  const turns: Turn[] = [];
  let before = "";
  for (const [index, message] of messages.entries()) {
    const place = index + 1;
    const turn = await readWhole(ports, message, place, findings);
    if (turn !== undefined) {
      findings.push(...checkPlace(turn, message, { saga, place, before }));
      turns.push(turn);
    }
    before = chainHash(message.data);
  }
  findings.push(...checkInputs(turns));
  const folded = app !== undefined && turns.length === messages.length && findings.length === 0;
  if (folded) findings.push(...checkFold(app, turns));
  return { saga, ok: findings.length === 0, turns: messages.length, folded, findings };
}

/** F3. */
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
    findings.push({ turn: place, code: error.code, what: describeError(error).replace(/^\[\w+\] /, "") });
    return undefined;
  }
}

/** F1. */
function checkPlace(
  turn: Turn,
  message: StoredMessage,
  { saga, place, before }: { saga: SagaId; place: number; before: string },
): Finding[] {
  const findings: Finding[] = [];
  const broken = (what: string) => findings.push({ turn: place, code: "LEDGER_BROKEN", what });
  if (turn.saga !== saga) broken(`it belongs to ${turn.saga}`);
  if (turn.turn !== place) broken(`it has number ${turn.turn}`);
  if (turn.prev !== before)
    broken(
      `it does not follow the turn before it: expected ${before || "nothing"}, got ${turn.prev || "nothing"}`,
    );
  const span = spanOf(chainHash(message.data));
  const trace = message.headers[headers.trace] ?? "nothing";
  if (trace.split("-")[2] !== span)
    broken(`its ${headers.trace} is not of its own bytes: expected span ${span}, got ${trace}`);
  if (message.headers[headers.turn] !== String(turn.turn))
    broken(`its header ${headers.turn} says ${message.headers[headers.turn] ?? "nothing"}`);
  if ((place === 1) !== (turn.steps[0]?.event.type === "start"))
    broken(place === 1 ? "it does not begin with a start" : "it begins with a second start");
  return findings;
}

/** F2. */
function checkInputs(turns: readonly Turn[]): Finding[] {
  const findings: Finding[] = [];
  const decided = new Set<IntentId>();
  const definite = new Set<string>();
  for (const { turn, steps } of turns)
    for (const { event, intents } of steps) {
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
  return findings;
}

/** F4. */
function checkFold(app: App, turns: readonly Turn[]): Finding[] {
  const definition = servedDefinition(app, turns);
  let state: SagaState | undefined;
  for (const turn of turns) {
    try {
      state = foldTurn(definition, state, turn).state;
    } catch (error) {
      const code = isMeshError(error) ? error.code : "INTERNAL";
      return [{ turn: turn.turn, code, what: describeError(error).replace(/^\[\w+\] /, "") }];
    }
  }
  return [];
}
