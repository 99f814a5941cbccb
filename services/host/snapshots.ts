/**
 * Snapshots: a saga's state at rest, in entries of the bucket SNAPSHOT and nowhere else, so that all of them
 * can be thrown away at once and nothing that counts with them.
 *
 * SN1 An entry is an array of its content's SHA-256 and the content, as MessagePack. Where they do not fit, the
 *    entry is as good as absent.
 * SN2 What is too large for a message stands in pieces beside its entry, which says how many. They are written
 *    over by the next one: a blob for each would stay for ever.
 * SN3 A part of the past (actors/kernel/past.ts) and a segment of the conversation (conversation.ts) are stored before the
 *    snapshot that names them.
 */
import { type PastPart, layBy, partOf } from "../../actors/kernel/past.ts";
import { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { stateToJson } from "../../actors/kernel/replay.ts";
import type { Past, SagaState } from "../../actors/contract/state.ts";
import { keepSaid } from "../../actors/request/conversation.ts";
import { contentTypes, decodeOwn, encodeMsgpack } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Head } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { type Conversation, laidBy, nextSegment, type Segment } from "./conversation.ts";

interface SnapshotDeps {
  readonly ports: Pick<Ports, "snapshots">;
  readonly clock: Clock;
}

/** How a state is written here. Another number is no snapshot of this code's, nor of a ledger that it reads. */
const format = 3;

/** What a snapshot holds. */
export interface Snapshot {
  readonly format: number;
  readonly head: Head;
  readonly definition: DefinitionRef;
  readonly state: unknown;
  /** What holds the conversation up to its turn; a snapshot of a saga that goes on names none. */
  readonly said?: readonly Segment[] | undefined;
}

const Sealed = z.object({
  format: z.literal(format),
  head: z.object({ turn: z.int().positive(), seq: z.int().positive(), hash: z.string() }),
  definition: DefinitionRef,
  state: z.unknown(),
  said: z.array(z.object({ messages: z.int().positive(), digest: z.string() })).optional(),
});

/** The newest snapshot as a loader found it, and the ledger since. */
export interface SnapshotAge {
  /** 0: there is none. */
  readonly turn: number;
  readonly bytes: number;
  /** By how many bytes the ledger has grown since. */
  readonly grown: number;
  /** It names what holds the conversation. */
  readonly isWhole: boolean;
}

/** A saga without a snapshot. */
export const noSnapshot: SnapshotAge = { turn: 0, bytes: 0, grown: 0, isWhole: true };

/** What was written, for the state that stays in memory. */
export interface Written {
  readonly bytes: number;
  /** What the snapshot laid by, if anything: the live state may do without it too. */
  readonly laid?: { readonly part: PastPart; readonly digest: string };
}

/** The saga's newest snapshot, or undefined if there is none that can be read. Throws UNAVAILABLE. */
export async function readSnapshot(
  deps: SnapshotDeps,
  saga: SagaId,
): Promise<{ snapshot: Snapshot; bytes: number } | undefined> {
  const content = await readEntry(deps, saga);
  if (content === undefined) return undefined;
  // Who else may write there can seal what they like: what is read of it before it is proven is checked.
  const parsed = Sealed.safeParse(content.value);
  return parsed.success ? { snapshot: parsed.data, bytes: content.bytes } : undefined;
}

/**
 * Writes a snapshot of a turn that is acked, and, of a saga whose conversation is given, what was said since it was last laid by.
 * A lost one costs time only. Throws APP_INVALID, UNAVAILABLE.
 */
export async function writeSnapshot(
  { ports }: SnapshotDeps,
  definition: Definition,
  state: SagaState,
  head: Head,
  conversation?: Conversation,
): Promise<Written> {
  const part = partOf(state);
  const content = part === undefined ? undefined : encodeMsgpack(toJson(part));
  const digest = content === undefined ? "" : sha256(content);
  const rest = part === undefined ? undefined : layBy(state, part, digest);
  const { name, version, hash } = definition;
  const segment = conversation && nextSegment(conversation);
  const said = segment && encodeMsgpack(toJson(segment.messages));
  const saidDigest = said === undefined ? "" : sha256(said);
  const kept = segment?.kept ?? conversation?.segments;
  const own = segment === undefined ? [] : [{ messages: segment.messages.length, digest: saidDigest }];
  const segments = kept && [...kept, ...own];
  // Encoded before anything is awaited: later the state is another one.
  const snapshot = encodeMsgpack({
    format,
    head: toJson(head),
    definition: { name, version, hash },
    state: stateToJson(definition, rest ?? state),
    ...(segments === undefined ? {} : { said: toJson(segments) }),
  });
  if (content !== undefined && rest?.past !== undefined)
    await writeEntry(ports.snapshots, state.saga, content, partName(rest.past.parts)); // SN3
  if (said !== undefined && segment !== undefined)
    await writeEntry(ports.snapshots, state.saga, said, saidName(segment.place)); // SN3
  await writeEntry(ports.snapshots, state.saga, snapshot);
  if (segment !== undefined && conversation !== undefined) laidBy(conversation, segment, saidDigest);
  return { bytes: snapshot.length, ...(part === undefined ? {} : { laid: { part, digest } }) };
}

/** Every part that a state laid by, oldest first, or undefined if one is lost or another's. Throws UNAVAILABLE. */
export async function readPast(
  deps: SnapshotDeps,
  saga: SagaId,
  past: Past,
): Promise<PastPart[] | undefined> {
  const numbers = Array.from({ length: past.parts }, (_, index) => index + 1);
  const entries = await Promise.all(numbers.map((number) => readEntry(deps, saga, partName(number))));
  const parts: PastPart[] = [];
  let expected = past.digest;
  for (const entry of entries.reverse()) {
    if (entry?.digest !== expected) return undefined;
    const part = entry.value as unknown as PastPart; // Proof: its digest is the one the next part names.
    parts.unshift(part);
    expected = part.prev;
  }
  return expected === "" ? parts : undefined;
}

/** All that the segments hold, in order, or undefined if one is lost or another's. Throws UNAVAILABLE. */
export async function readSaid(
  deps: SnapshotDeps,
  saga: SagaId,
  segments: readonly Segment[],
): Promise<ModelMessage[] | undefined> {
  const entries = await Promise.all(segments.map((_, index) => readEntry(deps, saga, saidName(index + 1))));
  const messages: ModelMessage[] = [];
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.digest !== segments[index]?.digest) return undefined;
    const own = entry.value as unknown as ModelMessage[]; // Proof: its digest is the one that the snapshot names.
    keepSaid(messages, own);
  }
  return messages;
}

/** Some gigabytes: more is no snapshot, and would be asked for piece by piece. */
const piecesMax = 4_096;

interface Content {
  readonly value: Json;
  readonly digest: string;
  readonly bytes: number;
}

const partName = (number: number): string => `past-${number}`;
const saidName = (place: number): string => `said-${place}`;
const pieceName = (name: string | undefined, index: number): string =>
  name === undefined ? `piece-${index}` : `${name}-piece-${index}`;

async function writeEntry(
  snapshots: Ports["snapshots"],
  saga: SagaId,
  content: Uint8Array,
  name?: string,
): Promise<void> {
  const entry = seal(content);
  if (entry.length <= limits.messageBytesMax) return snapshots.put(saga, entry, name);
  const pieces = Math.ceil(content.length / limits.snapshotPieceBytes);
  for (let index = 0; index < pieces; index++) {
    const from = index * limits.snapshotPieceBytes;
    const piece = content.subarray(from, from + limits.snapshotPieceBytes);
    await snapshots.put(saga, piece, pieceName(name, index));
  }
  await snapshots.put(saga, seal(encodeMsgpack({ pieces, digest: sha256(content) })), name);
}

async function readEntry(
  { ports, clock }: SnapshotDeps,
  saga: SagaId,
  name?: string,
): Promise<Content | undefined> {
  const get = (entry?: string) => patiently(clock, () => ports.snapshots.get(saga, entry));
  const entry = unseal(await get(name));
  const cut = entry?.value as { pieces?: unknown; digest?: unknown } | undefined;
  if (typeof cut?.pieces !== "number") return entry;
  if (!(cut.pieces <= piecesMax)) return undefined;
  const pieces = await Promise.all(
    Array.from({ length: cut.pieces }, (_, index) => get(pieceName(name, index))),
  );
  return open(Buffer.concat(pieces.flatMap((piece) => piece ?? [])), cut.digest);
}

/** The first bytes of an entry: an array of two, and a text of 64 characters. */
const frame = [0x92, 0xd9, 64] as const;
const digestEnd = frame.length + 64;

/** SN1. */
const seal = (content: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.from(frame), Buffer.from(sha256(content)), content]);

function unseal(entry: Uint8Array | undefined): Content | undefined {
  if (entry === undefined) return undefined;
  return open(
    entry.subarray(digestEnd),
    Buffer.from(entry.subarray(frame.length, digestEnd)).toString("latin1"),
  );
}

function open(content: Uint8Array, expected: unknown): Content | undefined {
  const digest = sha256(content);
  if (digest !== expected) return undefined;
  try {
    const value = decodeOwn(content, contentTypes.msgpack);
    return { value, digest, bytes: content.length };
  } catch {
    return undefined; // Its digest holds and it does not decode: whoever wrote it, the ledger is there.
  }
}
