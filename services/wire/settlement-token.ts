/**
 * Settlement token: what the outside answers a deferred call with. It names the intent, bare or as a link of the
 * gateway. The server's permissions on the result subject decide who may use a bare one; only the gateway
 * reads a link's signature.
 */
import { MeshError } from "../../protocol/errors.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { decodeLink } from "../../protocol/link.ts";

/** Where the outside answers a call: a URL, or a token. */
export type CallbackUrlOf = (saga: SagaId, intent: IntentId) => string;

export const settlementToken = (saga: SagaId, intent: IntentId): string => `${saga}.${intent}`;

/** Reads a token, or a callback URL that ends in one; its signature is not looked at. Throws BAD_ID. */
export function parseSettlementToken(text: string): { saga: SagaId; intent: IntentId } {
  const [path = ""] = text.split(/[?#]/, 1);
  const token = path.slice(path.lastIndexOf("/") + 1).replace(/^sagamesh:/, "");
  const [saga, intent, ...more] = token.split(".");
  if (saga === undefined || intent === undefined || more.length > 1)
    throw new MeshError("BAD_ID", `"${text}" is not a settlement token`);
  if (more.length === 0) return { saga: parseSagaId(saga), intent: parseIntentId(intent) };
  const link = decodeLink(saga);
  if (link.kind !== "result")
    throw new MeshError("BAD_ID", `the link is for a ${link.kind}, not for a call's result`);
  return { saga: link.saga, intent: link.intent };
}
