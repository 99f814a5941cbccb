/**
 * Callback URLs: what a tool is given to hand to the outside.
 */
import type { Log } from "../process/log.ts";
import type { Chance, Clock } from "../wire/ports.ts";
import { type CallbackUrlOf, settlementToken } from "../wire/settlement-token.ts";
import type { Config } from "./config.ts";

/**
 * Signed links of the gateway where there is one, else tokens after the base. What signs is loaded only where it is
 * used.
 */
export async function openCallbackUrls(
  { callbackBase, gateway: { url, secrets } }: Pick<Config, "callbackBase" | "gateway">,
  { clock, chance, log }: { clock: Clock; chance: Chance; log: Log },
): Promise<CallbackUrlOf> {
  if (url !== undefined && secrets.length > 0) {
    const [{ createKeys }, { createLinks }] = await Promise.all([
      import("../gateway/keys.ts"),
      import("../gateway/links.ts"),
    ]);
    return createLinks({ clock, chance }, { publicUrl: url, keys: createKeys(secrets) }).result;
  }
  const level = url === undefined ? "info" : "warn"; // A gateway, and no secret to sign with.
  let isTold = false;
  return (saga, intent) => {
    if (!isTold) log[level]({ gatewayUrl: url }, "callback is a bare token");
    isTold = true;
    return `${callbackBase}${settlementToken(saga, intent)}`;
  };
}
