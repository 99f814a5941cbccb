/**
 * Snapshots: a saga's state at rest, in entries of the bucket SNAPSHOT and nowhere else, so that all of them
 * can be thrown away at once and nothing that counts with them.
 *
 * SN1 A part of the past (past-parts.ts) and a segment of the conversation (conversation.ts) are stored before the
 *    snapshot that names them.
 */
import { type PastPart, layBy, partOf, pastWith } from "../../actors/kernel/past.ts";
import { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { stateToJson } from "../../actors/kernel/replay.ts";
import type { Past, SagaState } from "../../actors/contract/state.ts";
import { keepSaid } from "../../actors/request/conversation.ts";
import { encodeMsgpack } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Head } from "../ledger/reader.ts";
import { type Conversation, laidBy, nextSegment, type Segment } from "./conversation.ts";
import { type EntryDeps, readEntry, writeEntry } from "./entries.ts";
import { storePart } from "./past-parts.ts";

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
  readonly laid?: { readonly part: PastPart; readonly past: Past };
}

/** The saga's newest snapshot, or undefined if there is none that can be read. Throws UNAVAILABLE. */
export async function readSnapshot(
  deps: EntryDeps,
  saga: SagaId,
): Promise<{ snapshot: Snapshot; bytes: number } | undefined> {
  const content = await readEntry(deps, saga);
  if (content === undefined) return undefined;
  // Who else may write there can seal what they like: what is read of it before it is proven is checked.
  const parsed = Sealed.safeParse(content.value);
  return parsed.success ? { snapshot: parsed.data, bytes: content.bytes.length } : undefined;
}

/**
 * Writes a snapshot of a turn that is acked, and, of a saga whose conversation is given, what was said since it was last laid by.
 * A lost one costs time only. Throws APP_INVALID, UNAVAILABLE.
 */
export async function writeSnapshot(
  deps: EntryDeps,
  definition: Definition,
  state: SagaState,
  head: Head,
  conversation?: Conversation,
): Promise<Written> {
  const { snapshots } = deps.ports;
  const { saga, past: before } = state;
  // All that is of the state is made before anything is awaited: later it is another one.
  const part = partOf(state);
  const own = part && (toJson(part) as unknown as PastPart); // Proof: a part is JSON.
  const rest = part && layBy(state, part, pastWith(before, part, ""));
  const resting = stateToJson(definition, rest ?? state);
  const { name, version, hash } = definition;
  const segment = conversation && nextSegment(conversation);
  const said = segment && encodeMsgpack(toJson(segment.messages));
  const saidDigest = said === undefined ? "" : sha256(said);
  const kept = segment?.kept ?? conversation?.segments;
  const ownSaid = segment === undefined ? [] : [{ messages: segment.messages.length, digest: saidDigest }];
  const segments = kept && [...kept, ...ownSaid];
  const past = own && (await storePart(deps, before, own)); // SN1
  const snapshot = encodeMsgpack({
    format,
    head: toJson(head),
    definition: { name, version, hash },
    state: past === undefined ? resting : { ...(resting as object), past },
    ...(segments === undefined ? {} : { said: toJson(segments) }),
  });
  if (said !== undefined && segment !== undefined)
    await writeEntry(snapshots, saga, said, saidName(segment.place)); // SN1
  await writeEntry(snapshots, saga, snapshot);
  if (segment !== undefined && conversation !== undefined) laidBy(conversation, segment, saidDigest);
  return { bytes: snapshot.length, ...(part && past && { laid: { part, past } }) };
}

/** All that the segments hold, in order, or undefined if one is lost or another's. Throws UNAVAILABLE. */
export async function readSaid(
  deps: EntryDeps,
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

const saidName = (place: number): string => `said-${place}`;
