/**
 * Dead letters: looking at them, sending one again, throwing one away.
 *
 * CX1 A letter that is sent again has a new Msg-Id, or the server would take it for a repeat, and its old event
 *     id, by which the saga knows whether it has it already.
 * CX2 It is taken away only after it is stored where it belongs: after a crash in between it can be sent once
 *     more, and the saga takes it once.
 */
import { MeshError } from "../../protocol/errors.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { askedFor } from "../../protocol/start.ts";
import { type Headers, headers, parseInboxSubject, parseWorkSubject } from "../../protocol/subjects.ts";
import { readLetterHeaders, withoutServerFields } from "../wire/dead-letter.ts";
import { patiently } from "../wire/patience.ts";
import type { Chance, Clock, Ports, StoredMessage } from "../wire/ports.ts";
import { readStanding, storeStart } from "../wire/start.ts";

export interface Letter {
  readonly seq: number;
  readonly source: "inbox" | "work";
  /** Where the message was sent. */
  readonly subject: string;
  readonly code: string;
  readonly reason: string;
  /** The server's time of setting it aside, milliseconds since the epoch. */
  readonly at: number;
  /** Those of the message itself. */
  readonly headers: Headers;
  readonly data: Uint8Array;
}

export interface DeadDeps {
  readonly ports: Pick<Ports, "dead" | "inbox" | "work" | "blobs">;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** All letters, the oldest first. */
export async function readLetters({ ports, clock }: DeadDeps): Promise<Letter[]> {
  return (await patiently(clock, () => ports.dead.list())).map(toLetter);
}

/** Throws LETTER_UNKNOWN. */
export async function readLetter({ ports, clock }: DeadDeps, seq: number): Promise<Letter> {
  const stored = await patiently(clock, () => ports.dead.get(seq));
  if (stored === undefined) throw new MeshError("LETTER_UNKNOWN", `there is no dead letter ${seq}`);
  return toLetter(stored);
}

/**
 * Sends a letter's message again, as it was, and takes the letter away (CX1, CX2). Throws LETTER_UNKNOWN, and SAGA_ID_TAKEN
 * for a start while another of its saga is stored.
 */
export async function retryLetter(deps: DeadDeps, letter: Letter): Promise<void> {
  const { ports, clock, chance } = deps;
  const { subject, data, source } = letter;
  const message = { data, headers: letter.headers, msgId: `retry:${letter.seq}:${chance.nonce()}` };
  const start = source === "inbox" ? await startIn(deps, letter) : undefined;
  if (start === undefined)
    await patiently(clock, () =>
      source === "inbox"
        ? ports.inbox.publish({ ...message, subject })
        : ports.work.publish(parseWorkSubject(subject), message),
    );
  else {
    const stored = await patiently(clock, () => storeStart(ports, { ...message, ...start }));
    if (stored === "taken") throw new MeshError("SAGA_ID_TAKEN", `another start of ${start.saga} is stored`);
  }
  await dropLetter(deps, letter);
}

/** The start that a letter is; undefined for any other input, and for a start that no host can read. */
async function startIn({ ports, clock }: DeadDeps, letter: Letter) {
  const isStart = letter.subject.split(".").length === 3 && letter.subject.endsWith(".start");
  const body = isStart ? await patiently(clock, () => readStanding(ports, letter)) : undefined;
  return body && { saga: parseSagaId(letter.subject.split(".")[1] ?? ""), as: askedFor(body) };
}

/** Takes a letter away for good; what it says is lost. */
export const dropLetter = ({ ports, clock }: DeadDeps, { seq }: Letter): Promise<void> =>
  patiently(clock, () => ports.dead.remove(seq));

/** The saga that it was meant for; undefined of what names none. */
export const sagaOfLetter = ({ headers: fields, subject }: Letter): string | undefined =>
  fields[headers.saga] ?? (subject.startsWith("saga.") ? subject.split(".")[1] : undefined);

function toLetter({ seq, subject, data, storedAt, headers: fields }: StoredMessage): Letter {
  const { code, reason, origin } = readLetterHeaders(fields);
  const { [headers.reason]: _reason, [headers.origin]: _origin, ...own } = fields;
  return {
    seq,
    source: subject.split(".")[1] === "work" ? "work" : "inbox",
    subject: subjectOf(origin),
    code,
    reason,
    at: storedAt,
    headers: withoutServerFields(own),
    data,
  };
}

/** As it was sent: the inbox stores `saga.<id>.…` under a partition. What is no input's subject is left as it is. */
function subjectOf(stored: string): string {
  if (!stored.startsWith("inbox.")) return stored;
  try {
    parseInboxSubject(stored);
  } catch {
    return stored;
  }
  return `saga.${stored.split(".").slice(2).join(".")}`;
}
