/**
 * Run gateway: the composition of the door for answers from outside, as a process and as part of `up`.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MeshError } from "../../protocol/errors.ts";
import { createDoor } from "../gateway/door.ts";
import { createKeys } from "../gateway/keys.ts";
import { type Gateway, startGateway } from "../gateway/server.ts";
import type { Config } from "./config.ts";
import { openGatewayConfig, ownSecret, ownUrl, portFile } from "./gateway-secret.ts";
import { withinMs } from "../nats/within-ms.ts";
import type { Part } from "./health/part.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";
import { graceMs } from "./shutdown.ts";

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
}

const readyWithinMs = 1_000;

/** Opens a listening gateway on a mesh. */
export function gatewayPart(service: Service, gateway: Gateway, secrets: readonly string[]): Part {
  const { ports, clock, chance, log, health } = service;
  const whyNotReady = async () =>
    (await withinMs(readyWithinMs, ports.claims.now())) === undefined
      ? `the NATS server's JetStream gave no answer within ${readyWithinMs} ms`
      : undefined;
  const door = createDoor({ ports, clock, chance, from: "gateway" }, createKeys(secrets));
  const answered = health?.observers.gateway.answered;
  gateway.open({ door, log, whyNotReady, ...(answered === undefined ? {} : { answered }) });
  log.info({ listens: gateway.url }, "gateway serves");
  return { stop: (grace) => gateway.close(grace), whyNotReady };
}

/** Runs a gateway until the signal. Throws USAGE without a secret, and where it cannot listen. */
export async function runGateway(
  options: ServeOptions,
  address: GatewayAddress,
  onReady: (service: Service, listens: string, publicUrl: string) => void,
): Promise<void> {
  const gateway = await startGateway(address);
  try {
    const config = withUrl(options.config, options.config.gateway.url ?? gateway.url);
    const { secrets, url = gateway.url } = await openGatewayConfig(config);
    if (secrets.length === 0)
      throw new MeshError("USAGE", "a gateway on a named server needs a secret", {
        remedy:
          "Set SAGAMESH_GATEWAY_SECRET here and for hosts and workers to the same value, for example of `openssl rand -base64 32`.",
      });
    await serve({ ...options, config }, graceMs, async (service) => {
      const parts = [gatewayPart(service, gateway, secrets)];
      onReady(service, gateway.url, url);
      return parts;
    });
  } finally {
    await gateway.close(0);
  }
}

const withUrl = (config: Config, url: string): Config => ({ ...config, gateway: { ...config.gateway, url } });

/** A gateway beside a host and a worker, for development. */
export interface OwnGateway {
  readonly gateway: Gateway;
  readonly secrets: readonly string[];
  /** What host and worker are told: where the gateway is, and the secret. */
  readonly config: Config;
}

/**
 * Listens on the port named, or on the one of the last time, or on any that is free: links that are out must lead
 * here again. Throws USAGE where the named one is taken.
 */
export async function startOwnGateway(config: Config, port: number | undefined): Promise<OwnGateway> {
  const { folder, secrets: named } = config.gateway;
  const secrets = named.length > 0 ? named : [await ownSecret(folder)];
  const gateway =
    port === undefined ? await startWhereBefore(folder) : await startGateway({ host: "127.0.0.1", port });
  const url = config.gateway.url ?? gateway.url;
  return { gateway, secrets, config: { ...config, gateway: { folder, secrets, url } } };
}

async function startWhereBefore(folder: string): Promise<Gateway> {
  const before = await ownUrl(folder);
  const start = (port: number) => startGateway({ host: "127.0.0.1", port });
  const gateway = await (before === undefined
    ? start(0)
    : start(Number(new URL(before).port)).catch(() => start(0)));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, portFile), `${gateway.port}\n`);
  return gateway;
}
