/**
 * The connection to the server.
 *
 * Owns: connecting, the check of the server, waiting for its JetStream, and how long a lost connection is
 * looked for (for ever). Does not own: streams (open.ts), and running a server (server/embedded.ts).
 *
 * CC1 A server that cannot be reached is reported within seconds, with what to do. Once connected, a lost
 *     server is only reported: the ports answer UNAVAILABLE meanwhile, and work goes on when it is back.
 * CC2 Whatever server the connection moves to is checked as the first one was. One that is too old takes
 *     messages and does not do with them what it should, so the connection is closed rather than used.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect, type NodeConnectionOptions } from "@nats-io/transport-node";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import { rememberUser, toMeshError } from "./errors.ts";
import type { Report } from "./progress.ts";
import { apiLevelFloor, checkServerInfo } from "./server-check.ts";
import { whileStarting } from "./start-up.ts";

const connectTimeoutMs = 5_000;
const reconnectWaitMs = 250;
/** A server that hangs without closing is given up after two of these. */
const pingIntervalMs = 5_000;
const startUpTimeoutMs = 2_000;

export interface ConnectOptions {
  /** One address or several of a cluster: `nats://host:port`, with `user:password@` where needed. */
  readonly servers: string | readonly string[];
  /** Shown by the server's monitoring. */
  readonly name: string;
  readonly report?: Report;
  readonly signal?: AbortSignal;
  /** Credentials, TLS: handed to the client as they are. */
  readonly client?: NodeConnectionOptions;
}

/**
 * Connects, checks the server and waits until its JetStream answers.
 *
 * @throws MeshError UNAVAILABLE, SERVER_TOO_OLD, SERVER_MISCONFIGURED, SERVER_REFUSED; the signal's reason
 */
export async function connectNats(options: ConnectOptions): Promise<NatsConnection> {
  const { report = () => {}, signal } = options;
  signal?.throwIfAborted();
  const nc = await dial(options);
  try {
    checkServer(nc);
    await whileStarting("JetStream", () => jetstreamManager(nc, { timeout: startUpTimeoutMs }), {
      report,
      signal,
    });
  } catch (error) {
    await nc.close();
    throw error;
  }
  void watch(nc, report);
  return nc;
}

/**
 * Connects to whatever server is there, unchecked and unwatched: for looking at it. Throws UNAVAILABLE,
 * SERVER_REFUSED, the signal's reason.
 */
export async function dial({ servers, name, client, signal }: ConnectOptions): Promise<NatsConnection> {
  const addresses = [servers].flat();
  const credentials = credentialsOf(addresses);
  try {
    const dialling = connect({
      ...credentials,
      noAsyncTraces: true,
      timeout: connectTimeoutMs,
      reconnectTimeWait: reconnectWaitMs,
      pingInterval: pingIntervalMs,
      maxPingOut: 2,
      ...client,
      servers: addresses.map(withoutCredentials),
      name,
      maxReconnectAttempts: -1, // CC1
    });
    const nc = await unlessAborted(dialling, signal);
    rememberUser(nc, credentials.user);
    return nc;
  } catch (error) {
    signal?.throwIfAborted();
    const failure = toMeshError(error, addresses.map(redacted).join(", "), credentials.user);
    if (failure.code !== "UNAVAILABLE" && !isNetworkError(error)) throw failure;
    throw new MeshError(
      "UNAVAILABLE",
      `no NATS server at ${addresses.map(redacted).join(", ")}: ${describeError(error)}`,
      {
        cause: error,
        remedy: "Start the server, correct NATS_URL, or unset it to let sagamesh run its own.",
      },
    );
  }
}

/** The client cannot be told to give up. A connection that is made after all is closed. */
async function unlessAborted(
  dialling: Promise<NatsConnection>,
  signal: AbortSignal | undefined,
): Promise<NatsConnection> {
  if (signal === undefined) return dialling;
  let giveUp: (reason: unknown) => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => (giveUp = reject));
  const onAbort = () => {
    dialling.then((nc) => nc.close()).catch(() => undefined);
    giveUp(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([dialling, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The client takes a user only as an option of its own, never from an address. */
function credentialsOf(addresses: readonly string[]): { user?: string; pass?: string } {
  const url = addresses.map(parseUrl).find((parsed) => parsed !== undefined && parsed.username !== "");
  return url === undefined
    ? {}
    : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
}

const parseUrl = (address: string): URL | undefined =>
  address.includes("://") && URL.canParse(address) ? new URL(address) : undefined;
const withoutCredentials = (address: string): string => address.replace(/\/\/[^/@]*@/, "//");
const redacted = (address: string): string => address.replace(/\/\/[^/@]*@/, "//***@");

const isNetworkError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  typeof error.code === "string" &&
  /^(E[A-Z]+|ERR_SOCKET.*)$/.test(error.code);

/**
 * Throws SERVER_MISCONFIGURED, SERVER_TOO_OLD, or UNAVAILABLE if it is gone already. A server of a cluster need have no
 * JetStream itself: what is asked of it the others answer, and one whose disk is full switches its own off.
 */
export function checkServer(nc: NatsConnection): void {
  const { info } = nc;
  if (info === undefined) throw new MeshError("UNAVAILABLE", "the server closed the connection");
  const isHandedOn = info.jetstream !== true && info.cluster !== undefined;
  if (info.jetstream !== true && !isHandedOn)
    throw new MeshError(
      "SERVER_MISCONFIGURED",
      `the NATS server ${info.version} at ${nc.getServer()} runs without JetStream`,
      {
        remedy: "Start it with --jetstream, or with a jetstream block in its configuration.",
      },
    );
  checkServerInfo(isHandedOn ? { ...info, api_lvl: apiLevelFloor } : info);
}

async function watch(nc: NatsConnection, report: Report): Promise<void> {
  for await (const event of nc.status()) {
    if (event.type === "disconnect")
      report(
        `[UNAVAILABLE] lost the NATS server ${event.server}; looking for it. Check that it runs; work goes on when it is back, or in a cluster when the others have elected: 4 to 9 s by the server's timers.`,
      );
    if (event.type === "error") report(`the NATS server says: ${event.error.message}`);
    if (event.type === "reconnect") {
      report(`connected again to the NATS server ${event.server}`);
      try {
        checkServer(nc); // CC2
      } catch (error) {
        if (isMeshError(error, "UNAVAILABLE")) continue; // It is gone again already.
        report(`closing the connection: ${describeError(error)}`);
        await nc.close();
      }
    }
  }
}
