/**
 * Storing one message in a stream.
 *
 * Owns: the headers that JetStream acts on, and reading its acknowledgement. Never sends twice.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Headers } from "../../protocol/subjects.ts";
import type { Ack } from "../wire/ports.ts";
import { refusalToMeshError, type ServerRefusal } from "./errors.ts";
import { encodeHeaders, natsHeaders } from "./headers.ts";
import type { Requests } from "./requests.ts";

export interface Storing {
  readonly subject: string;
  /** The stream that must take it; another one answering means that a foreign stream caught the subject. */
  readonly stream: string;
  readonly data: Uint8Array;
  readonly headers?: Headers;
  readonly msgId?: string;
  /** Stored only if the subject's last sequence is this; 0: if there is none. */
  readonly expectedSeq?: number;
  /** Fields for JetStream itself: a schedule, a time to live. */
  readonly control?: Headers;
}

interface PubAck {
  readonly stream?: string;
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: ServerRefusal;
}

/** Stores the message. Throws the codes of LedgerPort.append and InboxPort.publish. */
export const publish = (requests: Requests, message: Storing): Promise<Ack> => {
  const store = () => publishOnce(requests, message);
  return requests.storing === undefined ? store() : requests.storing(message.stream, store);
};

const publishOnce = async (requests: Requests, message: Storing): Promise<Ack> => {
  const control: Record<string, string> = { ...message.control };
  if (message.msgId !== undefined) control[natsHeaders.msgId] = message.msgId;
  if (message.expectedSeq !== undefined)
    control[natsHeaders.expectedSubjectSeq] = String(message.expectedSeq);
  const answer = await requests.one(
    message.subject,
    message.data,
    encodeHeaders(message.headers ?? {}, control),
  );
  return readAck(answer.data, message);
};

function readAck(data: Uint8Array, { subject, stream }: Storing): Ack {
  const ack = parseAck(data, subject);
  if (ack.error !== undefined) throw refusalToMeshError(ack.error, subject);
  if (ack.stream !== stream || ack.seq === undefined)
    throw new MeshError(
      "SERVER_MISCONFIGURED",
      `${subject}: expected stream ${stream} to take it, got ${ack.stream ?? "no stream"}`,
    );
  return { seq: ack.seq, duplicate: ack.duplicate === true };
}

function parseAck(data: Uint8Array, subject: string): PubAck {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as PubAck;
  } catch (error) {
    // A subscriber other than JetStream answered the publish.
    throw isMeshError(error)
      ? error
      : new MeshError("SERVER_MISCONFIGURED", `${subject}: the answer is no acknowledgement`, {
          cause: error,
        });
  }
}
