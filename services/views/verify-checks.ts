/**
 * Verify checks: what must hold of one message of a ledger, given what stands before it.
 */
import { sha256 } from "../../protocol/digest.ts";
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import type { DefinitionRef, EventOf } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { canonicalJson } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { turnHeaders } from "../wire/turn-headers.ts";

type Finding = VerifyDocument["findings"][number];

/** A place in a ledger, and what is known of the one before it. */
export interface Place {
  readonly saga: SagaId;
  readonly place: number;
  /** Undefined where the message before is missing. */
  readonly before: { readonly seq: number; readonly hash: string } | undefined;
  /** As the turn leaves it. */
  readonly definition: DefinitionRef | undefined;
  /** Of the saga. */
  readonly traceId: string;
}

/** VF1 of verify.ts. `hash` is that of the message. */
export function checkPlace(turn: Turn, message: StoredMessage, hash: string, at: Place): Finding[] {
  const { saga, place, before, definition, traceId } = at;
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
  const expected = turnHeaders(turn, hash, { definition, traceId });
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

/** Fields that the server, or who speaks to it, writes beside those of a turn; and its signature (verify-signatures.ts). */
const isTransports = (name: string): boolean =>
  name.startsWith("Nats-") || name === headers.contentType || name === headers.signature;

/** VF5 of verify.ts. */
export function checkOrder(
  { seq, headers: fields }: StoredMessage,
  place: number,
  seqBefore: number,
): Finding[] {
  const findings: Finding[] = [];
  const broken = (what: string) => findings.push({ turn: place, code: "LEDGER_BROKEN", what });
  if (seq <= seqBefore) broken(`it is stored at ${seq}, and the turn before it at ${seqBefore}`);
  const expected = fields[headers.expectedSeq];
  // Where something foreign stands between, it was stored after that; and that may have been removed.
  if (expected !== undefined && !(Number(expected) >= seqBefore && Number(expected) < seq))
    broken(`it was to be stored after ${expected}, and the turn before it is at ${seqBefore}`);
  return findings;
}

/** Follows what a ledger decides and hears (VF2 of verify.ts). Holds a little for each intent. */
export function inputCheck(): { take(turn: Turn, place: number): Finding[] } {
  const decided = new Set<IntentId>();
  /** How attempts are recorded as ended, a line each. */
  const settled = new Map<IntentId, string>();
  const settle = ({ intent, attempt, result }: EventOf<"result">, broken: (what: string) => void) => {
    const settlement = `#${attempt} ${wordOf(result)}\n`;
    const before = settled.get(intent);
    if (before !== undefined && `\n${before}`.includes(`\n${settlement}`))
      broken(`attempt ${attempt} of ${intent} is recorded as ${result.outcome} twice`);
    else settled.set(intent, (before ?? "") + settlement);
  };
  return {
    take: ({ steps }, place) => {
      const findings: Finding[] = [];
      const broken = (what: string) => findings.push({ turn: place, code: "LEDGER_BROKEN", what });
      for (const { event, intents } of steps) {
        if ("intent" in event && !decided.has(event.intent))
          broken(`${event.type} names ${event.intent}, which was not decided before it`);
        if (event.type === "result" && isDefinite(event.result)) settle(event, broken);
        for (const intent of intents)
          if (intent.kind === "retry") {
            if (!decided.has(intent.id)) broken(`a retry of ${intent.id}, which was not decided before it`);
          } else if (decided.has(intent.id)) broken(`${intent.id} is decided twice`);
          else decided.add(intent.id);
      }
      return findings;
    },
  };
}

const isDefinite = ({ outcome }: Result): boolean => outcome === "succeeded" || outcome === "failed";

/** An output, or what stands for a long one. */
function wordOf(result: Result): string {
  if (result.outcome !== "succeeded") return "failed";
  const text = canonicalJson(result.output);
  return text.length > outputMax ? sha256(Buffer.from(text)) : text;
}

const outputMax = 64;
