/**
 * Header blocks: fields of a message to bytes and back.
 *
 * Owns: the text form `NATS/1.0\r\nName: value\r\n…\r\n\r\n`. Does not own: which fields there are.
 *
 * The client's own header class normalises and searches every name on every access; at ten thousand messages
 * a second that was the largest single cost of a host. These two functions do what is needed and no more.
 *
 * HH1 A value is one line. Line breaks become spaces, so no value can add a field of its own.
 * HH2 One value per name; of a repeated one the last counts, because what the server says about a message
 *     stands behind what its sender wrote. Names are kept as they were written.
 */
import type { Msg, MsgHdrs } from "@nats-io/nats-core";
import { type Headers, headers } from "../../protocol/subjects.ts";

/** Fields by which JetStream is told, or tells, about a message. */
export const natsHeaders = {
  msgId: headers.msgId,
  expectedSubjectSeq: headers.expectedSeq,
  schedule: "Nats-Schedule",
  scheduleTarget: "Nats-Schedule-Target",
  ttl: "Nats-TTL",
  pendingMessages: "Nats-Pending-Messages",
  /** In a heartbeat: the last number the consumer gave, and where an unanswered flow control request waits. */
  lastDelivery: "Nats-Last-Consumer",
  stalled: "Nats-Consumer-Stalled",
  kvOperation: "KV-Operation",
} as const;

/** The block for publishing: `fields`, then `more`. */
export const encodeHeaders = (fields: Headers, more: Headers = {}): MsgHdrs => {
  let text = "NATS/1.0\r\n";
  for (const name in fields) text += `${name}: ${oneLine(fields[name]!)}\r\n`;
  for (const name in more) text += `${name}: ${oneLine(more[name]!)}\r\n`;
  const bytes = Buffer.from(`${text}\r\n`);
  // A publish asks its headers for nothing but their bytes.
  return { encode: () => bytes } as unknown as MsgHdrs;
};

const oneLine = (value: string): string => (/[\r\n]/.test(value) ? value.replace(/[\r\n]+/g, " ") : value); // HH1

export interface DecodedHeaders {
  /** 0 for a message; a control message of the server has a status such as 408. */
  readonly status: number;
  readonly description: string;
  readonly fields: Record<string, string>;
}

/** The fields of a message that arrived. */
export const decodeHeaders = (message: Msg): DecodedHeaders => {
  const block = headerBlock(message);
  return block === undefined ? fromLibrary(message) : parseHeaderBlock(block);
};

/** The fields of a header block's text. */
export const parseHeaderBlock = (block: string): DecodedHeaders => {
  const lines = block.split("\r\n");
  const fields: Record<string, string> = {};
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i]!;
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    fields[name] = line.slice(colon + 1).trim(); // HH2
  }
  const first = lines[0]!;
  if (first === preamble) return { status: 0, description: "", fields };
  const status = Number.parseInt(first.slice(preamble.length), 10) || 0;
  return { status, description: first.slice(preamble.length + 4).trim(), fields };
};

const preamble = "NATS/1.0";

/**
 * The block as text, or undefined where it cannot be had. The client hands out `data` as the rest of one
 * buffer whose front holds the block, and its `size()`, which its type leaves out, counts both. What is found
 * there is checked by its first and last bytes, and a client that lays messages out in another way is asked
 * for its own header class instead.
 */
function headerBlock(message: Msg): string | undefined {
  const { data } = message;
  const sized: Msg & { size?(): number } = message;
  if (sized.size === undefined) return undefined;
  const length = sized.size() - message.subject.length - (message.reply?.length ?? 0) - data.length;
  if (length <= 0 || length > data.byteOffset) return undefined;
  const block = Buffer.from(data.buffer, data.byteOffset - length, length).toString();
  return block.startsWith(preamble) && block.endsWith("\r\n\r\n") ? block : undefined;
}

const fromLibrary = (message: Msg): DecodedHeaders => {
  const { headers } = message;
  return {
    status: headers?.code ?? 0,
    description: headers?.description ?? "",
    fields: headers === undefined ? {} : fieldsOf(headers),
  };
};

/** The client's header class as plain fields. */
export const fieldsOf = (headers: MsgHdrs): Record<string, string> =>
  Object.fromEntries([...headers].map(([name, values]) => [name, values.at(-1) ?? ""]));
