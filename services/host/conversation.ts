/**
 * Conversation: what an agent and its model have said, as a host keeps it: in memory as far as it was needed here, and in
 * segments beside the snapshot.
 *
 * ZC1 A segment saves time only. It is stored before the snapshot that names it by its digest; where one is lost or another's,
 *     the conversation is folded from the first turn.
 * ZC2 There are few of them: a new one takes in those before it that are no longer than itself, so that a conversation of n
 *     messages has about log n, and each message is written about as often.
 * ZC3 What is in memory is kept as it was said (keepSaid of actors/request): a request of a thousand messages is proven by
 *     those that are new.
 */
import { growing, keepSaid } from "../../actors/request/conversation.ts";
import type { ModelMessage } from "../../protocol/model.ts";

/** Messages that are stored together. Its place among all of a conversation, from 1, is its entry's name. */
export interface Segment {
  readonly messages: number;
  readonly digest: string;
}

/** The conversation of a saga in memory. It grows in place. */
export interface Conversation {
  /** What holds all that was said before `since`; undefined where a snapshot names none: then it must be folded. */
  segments: readonly Segment[] | undefined;
  /** What the segments hold, once it was read, or was said here. */
  before: ModelMessage[] | undefined;
  since: ModelMessage[];
  /** Both, once they were asked for: a list that only grows (CV4 of actors/request/conversation.ts). */
  all?: ModelMessage[];
}

/** All that was said; undefined while what was said before `since` is not in memory. */
export function allSaid(conversation: Conversation): readonly ModelMessage[] | undefined {
  const { before, since } = conversation;
  if (before === undefined) return undefined;
  return (conversation.all ??= growing([...before, ...since]));
}

/** More was said. */
export function hear(conversation: Conversation, said: readonly ModelMessage[]): void {
  const { since, all } = conversation;
  const known = since.length;
  keepSaid(since, said);
  if (all !== undefined) for (let k = known; k < since.length; k++) all.push(since[k] as ModelMessage); // Proof: its place.
}

/** Of a saga that was folded from its first turn. */
export const wholeConversation = (messages: ModelMessage[]): Conversation => ({
  segments: [],
  before: [],
  since: messages,
});

/** Of a saga as a snapshot has it. */
export const conversationAfter = (segments: readonly Segment[] | undefined): Conversation => ({
  segments,
  before: undefined,
  since: [],
});

/** A segment that is to be written, and what the snapshot after it names. */
export interface NextSegment {
  readonly place: number;
  readonly messages: readonly ModelMessage[];
  /** Those that stay as they are, before it. */
  readonly kept: readonly Segment[];
  /** How many of `since` it holds. */
  readonly taken: number;
}

/** Whether something was said since, and it is known what was said before. */
export const hasNext = ({ segments, since }: Conversation): boolean =>
  segments !== undefined && since.length > 0;

/** Undefined where there is none. */
export function nextSegment(conversation: Conversation): NextSegment | undefined {
  const { segments, before, since } = conversation;
  if (segments === undefined || !hasNext(conversation)) return undefined;
  let [kept, length] = [segments.length, since.length];
  for (const segment of before === undefined ? [] : segments.toReversed()) {
    if (segment.messages > length) break; // ZC2
    length += segment.messages;
    kept -= 1;
  }
  const earlier = length - since.length;
  const messages = before === undefined ? since : [...before.slice(before.length - earlier), ...since];
  return { place: kept + 1, messages: [...messages], kept: segments.slice(0, kept), taken: since.length };
}

/** The segment is stored: what it holds is no longer `since`. */
export function laidBy(
  conversation: Conversation,
  { messages, kept, taken }: NextSegment,
  digest: string,
): void {
  const moved = conversation.since.splice(0, taken);
  if (conversation.before !== undefined) for (const message of moved) conversation.before.push(message);
  conversation.segments = [...kept, { messages: messages.length, digest }];
}
