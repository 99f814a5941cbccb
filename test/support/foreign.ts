/**
 * Foreign messages: what somebody else may publish on a ledger's subject, one kind after the other. None of them chains.
 */
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Headers, headers as names } from "../../protocol/subjects.ts";
import { tombstoneEvent } from "../../protocol/tombstone.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";

/** What is written beside each of them: all else on a ledger's subject must be turns. */
export const foreignHeader = "Test-Foreign";

export const isPlanted = ({ headers }: Pick<StoredMessage, "headers">): boolean =>
  headers[foreignHeader] !== undefined;

export interface Planted {
  readonly data: Uint8Array;
  readonly headers: Headers;
}

/** The turns of a ledger, as far as they are there. */
type Present = readonly Pick<StoredMessage, "data" | "headers">[];

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** The headers of a copy: what the server reads itself is not among them. */
const copied = (fields: Headers): Headers =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !name.startsWith("Nats-")));

const elsewhere = "nobody@1#0000000000000000";

/** A turn as it would look, but for what precedes it. */
const forged = (saga: SagaId, turn: number, prev: string): Planted => {
  const event = { type: "signal", name: "cancel", data: null, id: "forged", from: "nobody", sentAt: 1 };
  const data = encodeJson({ v: 3, saga, turn, at: 1, host: "nobody", steps: [{ event }], prev });
  const fields = { [names.saga]: saga, [names.turn]: String(turn), [names.event]: "signal" };
  return { data, headers: { ...fields, [names.definition]: elsewhere, [names.agent]: "nobody" } };
};

const tombstone = (saga: SagaId, turns: number, prev: string): Planted => ({
  data: encodeJson({
    ...{ v: 1, type: "tombstone", saga, archivedAt: 1, by: "nobody", file: "nowhere.jsonl.gz", turns, prev },
    ...{ definition: { name: "nobody", version: 1, hash: "0" }, inputDigest: "", startedAt: 1, endedAt: 1 },
    ...{ end: { status: "completed", standing: [] }, unsettled: {} },
  }),
  headers: { [names.saga]: saga, [names.event]: tombstoneEvent, [names.agent]: "nobody" },
});

/** By name, what is published where these turns stand. */
export const foreignKinds: Readonly<Record<string, (saga: SagaId, turns: Present) => Planted>> = {
  "nothing at all": () => ({ data: bytes(""), headers: {} }),
  "bytes that are no text": () => ({ data: Uint8Array.from([0xff, 0, 0xc1, 0x80]), headers: {} }),
  "a text with a turn's headers": (saga) => ({ data: bytes("hello"), headers: forged(saga, 1, "").headers }),
  "a value that is no turn": (saga) => ({ data: encodeJson({ saga, turn: "1", prev: null }), headers: {} }),
  "a copy of the first turn": (saga, [first]) =>
    first === undefined ? forged(saga, 2, "") : { data: first.data, headers: copied(first.headers) },
  "a copy of the last turn": (saga, turns) => {
    const last = turns.at(-1);
    return last === undefined ? forged(saga, 7, "") : { data: last.data, headers: copied(last.headers) };
  },
  "the next turn of another past": (saga, turns) =>
    forged(saga, turns.length + 1, chainHash(bytes(`another ${turns.length}`))),
  "a turn far ahead": (saga) => forged(saga, 99, chainHash(bytes("far"))),
  "a turn of another saga": (saga, turns) =>
    forged(`${saga}x` as SagaId, turns.length + 1, hashOfLast(turns)),
  "a tombstone that follows nothing": (saga) => tombstone(saga, 3, chainHash(bytes("nothing"))),
  "a tombstone of another length": (saga, turns) => tombstone(saga, turns.length + 2, hashOfLast(turns)),
  "a turn in another format": (saga) => ({
    data: bytes("not MessagePack"),
    headers: { ...forged(saga, 1, "").headers, [names.contentType]: "application/msgpack" },
  }),
};

const hashOfLast = (turns: Present): string => {
  const last = turns.at(-1);
  return last === undefined ? chainHash(bytes("none")) : chainHash(last.data);
};

/** One kind, marked. */
export function plantedOf(kind: string, saga: SagaId, turns: Present): Planted {
  const make = foreignKinds[kind];
  if (make === undefined) throw new Error(`no foreign message is called "${kind}"`);
  const { data, headers } = make(saga, turns);
  return { data, headers: { ...headers, [foreignHeader]: kind } };
}
