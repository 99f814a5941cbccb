/**
 * Links for an application: URLs of the gateway that it sends to people and programs outside.
 */
import { MeshError } from "../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { type Duration, msOf } from "../../protocol/duration.ts";
import { createKeys } from "../gateway/keys.ts";
import { createLinks } from "../gateway/links.ts";
import { type Config, type GatewayConfig, readConfig } from "./config.ts";
import { openGatewayConfig, ownUrl } from "./gateway-secret.ts";
import { systemChance, systemClock } from "./system.ts";

/** Where the gateway is, what its links are signed with, and how long they are good. */
export interface GatewayLinksOptions {
  /** The gateway's public URL; SAGAMESH_GATEWAY_URL unless given. */
  readonly url?: string;
  /** What links are signed with; the first of SAGAMESH_GATEWAY_SECRET unless given. */
  readonly secret?: string;
  /** How long a link is good; a week unless given. */
  readonly within?: Duration;
}

/** Each call makes another link, which can be used once. */
export interface GatewayLinks {
  /** A link that sends a signal; with `data` it says this and nothing else. Throws BAD_ID. */
  signal(saga: { readonly id: string } | string, name: string, data?: unknown): string;
  /** A link that approves, in the name of `by`, who speaks in the role `as` if one is given. Throws BAD_ID. */
  approve(task: { readonly saga: string; readonly intent: string }, by: string, as?: string): string;
  deny(task: { readonly saga: string; readonly intent: string }, by: string, as?: string): string;
}

/**
 * Makes links of the gateway. Nothing is stored: a link is what it says and its signature. Throws USAGE where no
 * gateway or no secret is named.
 */
export function gatewayLinks(options: GatewayLinksOptions = {}): GatewayLinks {
  const { gateway } = readConfig();
  const secrets = options.secret === undefined ? gateway.secrets : [options.secret];
  return linksOf({ ...gateway, secrets, url: options.url ?? gateway.url }, options.within);
}

/** As `gatewayLinks`, with the secret of an embedded server and the gateway of `up` where they are not named. */
export async function openGatewayLinks(
  { gateway, servers }: Pick<Config, "gateway" | "servers">,
  within?: Duration,
): Promise<GatewayLinks> {
  const url = gateway.url ?? (servers === undefined ? await ownUrl(gateway.folder) : undefined);
  return linksOf(await openGatewayConfig({ servers, gateway: { ...gateway, url } }), within);
}

function linksOf({ url, secrets }: GatewayConfig, within: Duration = "7d"): GatewayLinks {
  if (url === undefined || secrets.length === 0)
    throw new MeshError(
      "USAGE",
      `there is no gateway's ${url === undefined ? "URL" : "secret"} to make links with`,
      {
        remedy: "Set SAGAMESH_GATEWAY_URL and SAGAMESH_GATEWAY_SECRET as the gateway has them.",
      },
    );
  const links = createLinks(
    { clock: systemClock, chance: systemChance },
    { publicUrl: url, keys: createKeys(secrets) },
  );
  const withinMs = msOf(within);
  const vote = (
    task: { saga: string; intent: string },
    said: "approve" | "deny",
    voter: { by: string; as?: string },
  ) =>
    links.task(
      { saga: parseSagaId(task.saga), intent: parseIntentId(task.intent), vote: said, ...voter },
      withinMs,
    );
  const voterOf = (by: string, as?: string) => (as === undefined ? { by } : { by, as });
  return {
    signal: (saga, name, data) => {
      const to = { saga: parseSagaId(typeof saga === "string" ? saga : saga.id), name };
      return links.signal(data === undefined ? to : { ...to, data: toJson(data) satisfies Json }, withinMs);
    },
    approve: (task, by, as) => vote(task, "approve", voterOf(by, as)),
    deny: (task, by, as) => vote(task, "deny", voterOf(by, as)),
  };
}
