/**
 * Blobs: large values are put back in the place of their references. The other half, `offload`, is pure and
 * stands in protocol/codec.ts.
 */
import { contentTypes, decodeOwn, isBlobRef } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";

/**
 * The value with its blobs in place. `load` returns a blob's bytes, which are checked here. Throws
 * LEDGER_BROKEN for bytes that do not hash to their name.
 */
export async function inflate(value: Json, load: (digest: string) => Promise<Uint8Array>): Promise<Json> {
  if (typeof value !== "object" || value === null) return value;
  if (isBlobRef(value)) {
    const bytes = await load(value.$blob);
    if (sha256(bytes) !== value.$blob)
      throw new MeshError("LEDGER_BROKEN", `blob ${value.$blob} does not hash to its name`);
    return inflate(decodeOwn(bytes, contentTypes.msgpack), load);
  }
  if (Array.isArray(value)) return Promise.all(value.map((item) => inflate(item, load)));
  const members = await Promise.all(
    Object.entries(value).map(async ([key, member]) => [key, await inflate(member, load)] as const),
  );
  return Object.fromEntries(members);
}
