/**
 * Making what is missing and refusing what differs.
 *
 * Owns: the comparison of a declaration with what the server says it has. Does not own: the declarations
 * (streams.ts).
 *
 * ND1 What exists is never changed, but for the identity of its mesh that is added to it (make.ts). A server that is too
 *     old takes a configuration, drops what it does not know and says nothing, so what it echoes is compared, field by
 *     field, also where another host created it.
 * ND2 Several hosts may do this at once: creating the same thing twice is no error.
 */
import type { ConsumerConfig, JetStreamManager, StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { isDeepStrictEqual } from "node:util";
import { MeshError } from "../../protocol/errors.ts";
import { toMeshError } from "./errors.ts";
import type { Declared } from "./streams.ts";

/**
 * Creates the stream if it is missing, with the fields of `missing` besides; metadata of both. Returns it as it is now.
 * Throws SERVER_MISCONFIGURED naming the first field that differs from what is declared.
 */
export async function declareStream(
  jsm: JetStreamManager,
  declared: Declared,
  missing: Partial<StreamConfig>,
): Promise<StreamInfo> {
  const what = `stream ${declared.name}`;
  const info = () => jsm.streams.info(declared.name);
  const metadata = { ...missing.metadata, ...declared.metadata };
  const add = () => jsm.streams.add({ ...missing, ...declared, metadata });
  const echoed = (await found(what, info)) ?? (await created(what, add, info));
  assertEchoed(what, declared, echoed.config);
  return echoed;
}

/** A consumer that must be there, its name apart. */
export type DeclaredConsumer = Partial<ConsumerConfig> & { readonly durable_name: string };

/**
 * Creates the consumer if it is missing, and returns its configuration. Throws SERVER_MISCONFIGURED naming the
 * first field of `compared` (by default all that is declared) that differs.
 */
export async function declareConsumer(
  jsm: JetStreamManager,
  stream: string,
  declared: DeclaredConsumer,
  compared: Partial<ConsumerConfig> = declared,
): Promise<ConsumerConfig> {
  const what = `consumer ${declared.durable_name} of ${stream}`;
  const info = async () => (await jsm.consumers.info(stream, declared.durable_name)).config;
  const echoed =
    (await found(what, info)) ??
    (await created(what, async () => (await jsm.consumers.add(stream, declared)).config, info));
  assertEchoed(what, compared, echoed);
  return echoed;
}

/** The answer, or undefined where the server knows no such thing. */
export async function found<T>(what: string, get: () => Promise<T>): Promise<T | undefined> {
  try {
    return await get();
  } catch (error) {
    if (notFoundCodes.has(serverCode(error))) return undefined;
    throw toMeshError(error, what);
  }
}

/** Those of these streams that are there, as the server tells of them. Throws UNAVAILABLE. */
export async function streamsOf(jsm: JetStreamManager, names: readonly string[]): Promise<StreamInfo[]> {
  const all = await Promise.all(names.map((name) => found(`stream ${name}`, () => jsm.streams.info(name))));
  return all.filter((info) => info !== undefined);
}

const notFoundCodes = new Set([10014, 10059]);
const takenCodes = new Set([10013, 10058, 10148]);

const serverCode = (error: unknown): number =>
  error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : 0;

async function created<T>(what: string, create: () => Promise<T>, info: () => Promise<T>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (!takenCodes.has(serverCode(error))) throw toMeshError(error, what);
    const theirs = await found(what, info); // ND2: another host was faster; what it made is compared
    if (theirs === undefined) throw toMeshError(error, what);
    return theirs;
  }
}

/** Throws SERVER_MISCONFIGURED naming the first difference, if there is one. */
export function assertEchoed(what: string, declared: object, echoed: object): void {
  const [first] = differences(declared, echoed);
  if (first === undefined) return;
  const { field, expected, got } = first;
  throw new MeshError("SERVER_MISCONFIGURED", `${what}: ${field}: expected ${expected}, got ${got}`, {
    remedy:
      field === "num_replicas"
        ? `Give every stream as many (\`nats stream edit NAME --replicas ${expected}\`), or leave --replicas out to take the mesh as it is.`
        : `Correct ${what} with the nats CLI, or remove it if it is not sagamesh's; then start again.`,
  });
}

/** A field that is not as declared; both values as JSON. */
export interface Difference {
  readonly field: string;
  readonly expected: string;
  readonly got: string;
}

/**
 * Every declared field that is not echoed as declared. Fields that are not declared may be anything; so may the
 * description, and members of an object that are not declared.
 */
export function* differences(declared: object, echoed: object): Iterable<Difference> {
  for (const [field, expected] of Object.entries(declared)) {
    if (field === "description") continue;
    const got = (echoed as Record<string, unknown>)[field];
    if (!matches(expected, got))
      yield { field, expected: JSON.stringify(expected), got: JSON.stringify(got) ?? "nothing" };
  }
}

/** The server leaves out what is false or zero, and adds members of its own to metadata. */
const matches = (expected: unknown, got: unknown): boolean => {
  if (expected === false || expected === 0) return got === undefined || got === expected;
  if (typeof expected !== "object" || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(expected, got);
  if (typeof got !== "object" || got === null) return false;
  return Object.entries(expected).every(([member, value]) =>
    isDeepStrictEqual(value, (got as Record<string, unknown>)[member]),
  );
};
