/**
 * What the server and its client throw, in sagamesh's codes.
 *
 * Owns: the one translation. Every adapter of this folder lets foreign errors out through `toMeshError` only,
 * and the cause is always kept. Does not own: whether a call is sent again.
 *
 * NE1 Silence, a lost connection and "no responders" are one code, UNAVAILABLE: during an election the server
 *     says either, and the caller can do the same about all of them.
 * NE2 A code of the server that is not in the table is not guessed at: its HTTP-like status decides between
 *     "later" and "never".
 * NE3 A stream that could not write takes nothing more and says so under the code of whatever was asked for; its words tell.
 */
import {
  errors,
  type NatsConnection,
  RequestError,
  type Subscription,
  type SubscriptionOptions,
} from "@nats-io/nats-core";
import { JetStreamApiError, JetStreamError } from "@nats-io/jetstream";
import { describeError, type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";

/** An error as JetStream sends it in an answer. `err_code` is the precise one, `code` resembles HTTP's. */
export interface ServerRefusal {
  readonly err_code?: number;
  readonly code?: number;
  readonly description?: string;
}

const noStreamCode = 10059;
const noPeersCode = 10005;

const codes: Readonly<Record<number, ErrorCode>> = {
  10071: "WRONG_SEQUENCE",
  10164: "WRITE_IN_FLIGHT",
  10158: "DUPLICATE_IN_FLIGHT",
  // The store or an account's limit is full, `discard: new` included.
  10002: "STORAGE_FULL",
  10023: "STORAGE_FULL",
  10028: "STORAGE_FULL",
  10047: "STORAGE_FULL",
  10077: "STORAGE_FULL",
  10122: "STORAGE_FULL",
  10054: "TOO_LARGE",
  10097: "TOO_LARGE",
  10185: "SERVER_TOO_OLD",
  // Streams and consumers that are not as they must be, or belong to another program.
  [noPeersCode]: "SERVER_MISCONFIGURED",
  10039: "SERVER_MISCONFIGURED",
  10058: "SERVER_MISCONFIGURED",
  [noStreamCode]: "SERVER_MISCONFIGURED",
  10065: "SERVER_MISCONFIGURED",
  10074: "SERVER_MISCONFIGURED",
  10076: "SERVER_MISCONFIGURED",
  10099: "SERVER_MISCONFIGURED",
  10100: "SERVER_MISCONFIGURED",
  10148: "SERVER_MISCONFIGURED",
  10166: "SERVER_MISCONFIGURED",
  10174: "SERVER_MISCONFIGURED",
  10188: "SERVER_MISCONFIGURED",
  // Schedules are written by this folder alone, so a bad one is our own fault.
  10189: "INTERNAL",
  10190: "INTERNAL",
  10191: "INTERNAL",
  10192: "INTERNAL",
  10203: "INTERNAL",
  10212: "INTERNAL",
  10223: "INTERNAL",
  // The cluster is electing, starting or flooded.
  10004: "UNAVAILABLE",
  10008: "UNAVAILABLE",
  10009: "UNAVAILABLE",
  10118: "UNAVAILABLE",
  10119: "UNAVAILABLE",
  10163: "UNAVAILABLE",
  10167: "UNAVAILABLE",
  10194: "UNAVAILABLE",
  10195: "UNAVAILABLE",
  10202: "UNAVAILABLE",
};

const raiseAccount =
  "Raise the account's storage (`max_file` in the server's accounts), or move ended sagas out: `sagamesh archive`. What waits then goes on by itself.";

/** What helps, by the limit that is reached; of a disk, storage.ts knows more. */
const remedies: Readonly<Record<number, string>> = {
  10002: raiseAccount,
  10023:
    "The server's own limit is reached: `max_file_store`, or, where that is not set, three quarters of what was free when it started. Set it above what the server holds, or free space, and restart the server.",
  10028: raiseAccount,
  10047: raiseAccount,
  10077: "The stream has a limit of its own: raise or remove its `max_bytes` with `nats stream edit`.",
  10122: raiseAccount,
};

/** What the operating system said of a write: no space, a quota, a file system that was made read-only, a broken disk. */
const failedWrite = /^write |no space left|quota exceeded|read-only file system|input\/output error/i;

const restartServer =
  "Free space on the disk of the server's store, and then restart that nats-server: it takes nothing until then, also with space. " +
  "An embedded one is restarted by the processes that serve on it once there is space. Nothing is lost: what waits is sent again.";

/** Fewer servers of the cluster could take a copy than were asked for. */
export const isWithoutPeers = (error: MeshError): boolean =>
  error.cause instanceof JetStreamApiError && error.cause.code === noPeersCode;

/** The server has no such stream. */
export const isWithoutStream = (error: unknown): boolean =>
  isMeshError(error) && error.cause instanceof JetStreamApiError && error.cause.code === noStreamCode;

/** The server said no, in so many words. `what` names the thing that was asked for. */
export const refusalToMeshError = (refusal: ServerRefusal, what: string, cause?: unknown): MeshError => {
  const hasFailed = failedWrite.test(refusal.description ?? ""); // NE3
  const code = hasFailed
    ? "STORAGE_FULL"
    : (codes[refusal.err_code ?? 0] ?? (isTransient(refusal.code) ? "UNAVAILABLE" : "SERVER_REFUSED")); // NE2
  const said = `${refusal.description ?? "no reason given"} (${refusal.err_code ?? refusal.code ?? "no code"})`;
  const remedy = hasFailed ? restartServer : remedies[refusal.err_code ?? 0];
  return new MeshError(code, `${what}: the server says: ${said}`, {
    cause: cause ?? refusal,
    ...(remedy === undefined ? {} : { remedy }),
  });
};

const isTransient = (status: number | undefined): boolean =>
  status === 408 || status === 429 || status === 503;

/**
 * Anything thrown by the NATS client, as a MeshError; a MeshError stays what it is. `user` is the name under which the
 * connection was asked for, where that is known: who a server refuses, and what it lacks, is told with it.
 */
export const toMeshError = (error: unknown, what: string, user?: string): MeshError => {
  if (isMeshError(error)) return error;
  if (error instanceof JetStreamApiError) return refusalToMeshError(error.apiError(), what, error);
  if (isUnanswered(error)) return unanswered(what, describeError(error), error); // NE1
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError)
    return new MeshError("SERVER_REFUSED", `${what}: ${describeError(error)} for ${named(user)}`, {
      cause: error,
      remedy:
        user === undefined
          ? "The server wants a user: set NATS_URL to nats://USER:PASSWORD@host:4222, or name it so with --server."
          : `Correct the password of "${user}" in NATS_URL (or --server), or add that user to the server's accounts.`,
    });
  if (error instanceof errors.PermissionViolationError)
    return new MeshError("SERVER_REFUSED", `${what}: ${describeError(error)}, for ${named(user)}`, {
      cause: error,
      remedy: `Allow ${named(user)} to ${error.operation === "publish" ? "publish to" : "subscribe to"} "${error.subject}" in the server's permissions, or set NATS_URL to a user who may.`,
    });
  if (error instanceof errors.InvalidArgumentError && error.message.includes("max_payload"))
    return new MeshError("TOO_LARGE", `${what}: the message is over the server's max_payload`, {
      cause: error,
    });
  return new MeshError("SERVER_REFUSED", `${what}: ${describeError(error)}`, { cause: error });
};

const named = (user: string | undefined): string =>
  user === undefined ? "a connection without a user" : `user "${user}"`;

/** By connection: the user it was asked for as, which the client does not tell. */
const users = new WeakMap<NatsConnection, string>();

/** Remembers as whom a connection was made. */
export function rememberUser(nc: NatsConnection, user: string | undefined): void {
  if (user !== undefined) users.set(nc, user);
}

/** As whom a connection was made; undefined for no user, or one that was given in another way than by an address. */
export const userOf = (nc: NatsConnection): string | undefined => users.get(nc);

/** UNAVAILABLE: it may or may not have happened. */
export const unanswered = (what: string, why: string, cause?: unknown): MeshError =>
  new MeshError("UNAVAILABLE", `${what}: ${why}`, { cause });

const isUnanswered = (error: unknown): boolean =>
  error instanceof errors.TimeoutError ||
  error instanceof errors.NoRespondersError ||
  error instanceof errors.ClosedConnectionError ||
  error instanceof errors.DrainingConnectionError ||
  error instanceof errors.ConnectionError ||
  error instanceof RequestError ||
  error instanceof JetStreamError ||
  // The client's name for "no responders"; its class is not exported.
  (error instanceof Error && error.name === "JetStreamNotEnabled");

/** A subscription. Throws UNAVAILABLE on a connection that is closed. */
export function subscribed(
  nc: NatsConnection,
  subject: string,
  callback: NonNullable<SubscriptionOptions["callback"]>,
): Subscription {
  try {
    return nc.subscribe(subject, { callback });
  } catch (error) {
    throw toMeshError(error, subject);
  }
}

/** Runs a call of the NATS client and lets nothing but MeshErrors out. */
export const translated = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    throw toMeshError(error, what);
  }
};
