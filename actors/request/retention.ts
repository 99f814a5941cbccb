/**
 * Retention: where an agent's conversation is cut, followed message by message without the messages.
 *
 * RN1 Where it is cut follows from the policy and from the roles and lengths of what was said, and stays until the
 *     next cut: between two cuts each request begins with the one before it.
 * RN2 A cut is made before an assistant's message that follows a user's: a call and the message that answers it are
 *     sent together or not at all.
 * RN3 The size follows the policy, never the conversation's length.
 */
import { z } from "zod";
import type { ModelMessage } from "../../protocol/model.ts";
import { type CuttingPolicy, keptOf, summarizeOf } from "../contract/context-policy.ts";

/** What a request leaves out. */
export const Cut = z.object({
  /** So many messages are not sent; the head stands for them (sent.ts). */
  from: z.int(),
  /** From this message on they are sent whole; from `from` until here with references for longer results. */
  whole: z.int(),
  /** Stands for the first `through` messages. */
  summary: z.object({ text: z.string(), through: z.int() }).optional(),
  /** Why what was dropped last has no summary, as a code. */
  unsummarized: z.string().optional(),
});
export type Cut = Readonly<z.infer<typeof Cut>>;

export interface Retention {
  /** Messages said. */
  readonly count: number;
  /** Their characters as JSON; followed only where the policy asks for it. */
  readonly characters: number;
  /** The same at `cut.whole`. */
  readonly charactersBefore: number;
  readonly cut: Cut;
  /** Where a cut may be made (RN2): a message's place and the characters before it, oldest first. */
  readonly marks: readonly (readonly [place: number, characters: number])[];
  readonly afterUser: boolean;
}

export const emptyRetention: Retention = {
  count: 0,
  characters: 0,
  charactersBefore: 0,
  cut: { from: 0, whole: 0 },
  marks: [],
  afterUser: false,
};

/** After one more message. */
export function said(policy: CuttingPolicy, retention: Retention, message: ModelMessage): Retention {
  const { count, characters, marks, afterUser } = retention;
  const isMark = message.role === "assistant" && afterUser;
  const length = summarizeOf(policy)?.overCharacters === undefined ? 0 : JSON.stringify(message).length;
  const next: Retention = {
    ...retention,
    count: count + 1,
    characters: characters + length,
    afterUser: message.role === "user",
  };
  // RN3. Of the marks that leave enough messages whole, only the latest can ever be chosen.
  const all = isMark ? [...marks, [count, characters] as const] : marks;
  const enough = all.findLastIndex(([place]) => place <= next.count - keptOf(policy));
  return { ...next, marks: all.slice(Math.max(0, enough)) };
}

/** The cut that is due, or undefined. */
export function dueCut(policy: CuttingPolicy, retention: Retention): Cut | undefined {
  if (!isDue(policy, retention)) return undefined;
  const { count, cut, marks } = retention;
  const place = marks.findLast(([mark]) => mark <= count - keptOf(policy))?.[0];
  const stride = strideMin(policy);
  const leftMax = Math.max(keptOf(policy) + 1, roomOf(policy) - stride);
  if (place === undefined || place - cut.whole < stride || count - place > leftMax) return undefined;
  const { unsummarized: _past, ...rest } = cut;
  return policy.kind === "window"
    ? { ...rest, from: place, whole: place }
    : { ...rest, from: cut.whole, whole: place };
}

/** How many messages may follow `whole` until a cut is due. */
function roomOf(policy: CuttingPolicy): number {
  if (policy.kind === "window") return policy.messages;
  return policy.keep + (policy.summarize?.everyMessages ?? policy.keep);
}

/**
 * A cut goes at least so far, and leaves at least so much room until the next. Where signals come one upon another
 * there is seldom a place for one, and small cuts in a row would leave nothing of a prefix.
 */
function strideMin(policy: CuttingPolicy): number {
  if (policy.kind === "window") return Math.max(2, Math.ceil(policy.messages / 4));
  const { keep, summarize } = policy;
  if (summarize?.overCharacters !== undefined) return keep; // However long its messages: each may cost a summary.
  return Math.max(2, Math.ceil((summarize?.everyMessages ?? keep) / 2));
}

function isDue(policy: CuttingPolicy, { count, cut, characters, charactersBefore }: Retention): boolean {
  const bound = summarizeOf(policy)?.overCharacters;
  return bound === undefined ? count - cut.whole > roomOf(policy) : characters - charactersBefore > bound;
}

/** Makes a cut. */
export function cutAt(retention: Retention, cut: Cut): Retention {
  const marks = retention.marks.filter(([place]) => place > cut.whole);
  const charactersBefore = retention.marks.find(([place]) => place === cut.whole)?.[1];
  return { ...retention, cut, marks, charactersBefore: charactersBefore ?? retention.charactersBefore };
}

/** Whether a summary is to be made before a cut: of the messages that it drops. */
export const isSummarized = (policy: CuttingPolicy, before: Cut, after: Cut): boolean =>
  summarizeOf(policy) !== undefined && after.from > before.from;
