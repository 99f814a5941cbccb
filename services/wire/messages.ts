/**
 * Messages: bodies and headers of everything that is sent, made and read in one place.
 *
 * MW1 A large part of a body goes to the blob store before the message that names it is published.
 * MW2 A body is parsed by its schema at the door; what does not fit throws BAD_MESSAGE and changes nothing.
 */
import { z } from "zod";
import {
  asForeign,
  contentTypes,
  decode,
  encodeJson,
  encodeMsgpack,
  mayHoldBlob,
  offload,
} from "../../protocol/codec.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { type Headers, headers as names } from "../../protocol/subjects.ts";
import { inflate } from "./blobs.ts";
import type { BlobPort } from "./ports.ts";

/** A body ready to be sent. JSON where a person may read it, MessagePack where the reader asked for it. */
export async function encodeBody(
  blobs: BlobPort,
  value: unknown,
  format: "json" | "msgpack" = "json",
): Promise<{ data: Uint8Array; contentType: string }> {
  const encode = format === "json" ? encodeJson : encodeMsgpack;
  let data = encode(value);
  if (data.length > limits.inlineBytesMax) {
    const smaller = offload(value as Json); // Proof: every body is of a schema in protocol/, which is JSON.
    await Promise.all(smaller.blobs.map((blob) => blobs.put(blob.digest, blob.bytes)));
    data = encode(smaller.value);
  }
  if (data.length > limits.messageBytesMax)
    throw new MeshError(
      "TOO_LARGE",
      `a message of ${data.length} bytes is over the limit of ${limits.messageBytesMax}`,
    );
  return { data, contentType: contentTypes[format] };
}

/** A body as a value, its blobs put back. Throws BAD_MESSAGE or TOO_LARGE. */
export async function decodeBody(
  blobs: Pick<BlobPort, "get">,
  message: { data: Uint8Array; headers: Headers },
): Promise<Json> {
  const value = decode(message.data, message.headers[names.contentType]);
  if (!mayHoldBlob(message.data)) return value;
  const whole = inflate(value, (digest) => blobs.get(digest)).catch((error: unknown) => {
    // MW1: a sender stores a blob before it names it, so the message is at fault here, and no ledger.
    if (!isMeshError(error, "LEDGER_BROKEN")) throw error;
    throw new MeshError("BAD_MESSAGE", `it names a value that is not stored: ${error.message}`, {
      cause: error,
    });
  });
  return asForeign(await whole);
}

/** A body as its schema reads it. */
export async function readBody<S extends z.ZodType>(
  blobs: Pick<BlobPort, "get">,
  message: { subject: string; data: Uint8Array; headers: Headers },
  schema: S,
): Promise<z.infer<S>> {
  const parsed = schema.safeParse(await decodeBody(blobs, message));
  if (!parsed.success)
    throw new MeshError("BAD_MESSAGE", `${message.subject}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Header fields without the absent ones. */
export const makeHeaders = (fields: Readonly<Record<string, string | undefined>>): Headers =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );

/** What repeats of an input are recognised by: the sender's own id, else the transport's, else the message's place. */
export const eventIdOf = ({ headers, seq }: { readonly headers: Headers; readonly seq: number }): string =>
  headers[names.event] ?? headers[names.msgId] ?? `inbox-${seq}`;
