/**
 * Settlement token: what the outside answers a deferred call with. It names the intent; who may use it is
 * decided by the server's permissions on the result subject.
 */
import { MeshError } from "../protocol/errors.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId } from "../protocol/ids.ts";

export const settlementToken = (saga: SagaId, intent: IntentId): string => `${saga}.${intent}`;

/** Reads a token, or a callback URL that ends in one. Throws BAD_ID. */
export function parseSettlementToken(text: string): { saga: SagaId; intent: IntentId } {
  const token = text.slice(text.lastIndexOf("/") + 1).replace(/^sagamesh:/, "");
  const [saga, intent, ...more] = token.split(".");
  if (saga === undefined || intent === undefined || more.length > 0)
    throw new MeshError("BAD_ID", `"${text}" is not a settlement token`);
  return { saga: parseSagaId(saga), intent: parseIntentId(intent) };
}
