/**
 * Seen: which signals and votes a saga has taken, so that a repeat is known for what it is.
 *
 * SB1 An id is known for at least as long as a repeat can come; after that the door refuses a repeat by its age.
 * SB2 What is older than a few turns is packed: twelve characters of a hash for each id, sorted, not the id and its
 *     time. When is told by the turn alone, so every fold of a ledger packs alike.
 */
import { shortHash } from "../../protocol/digest.ts";
import { assert } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import { limits } from "../../protocol/limits.ts";
import type { SagaState } from "../contract/state.ts";
import { withKey } from "../values/draft.ts";

type Input = Pick<EventOf<"signal">, "type" | "id"> | Pick<EventOf<"task">, "type" | "intent" | "id">;
type Remembered = Pick<SagaState, "seen" | "seenPacks">;

/** 72 bits: among ten million ids, two are told apart but for one chance in 10^14. */
const codeLength = 12;

/**
 * What a repeat of an input is recognised by. A prefix, so that an id such as `__proto__` or `7` is a key like
 * any other, and so that a vote and a signal of one id are two inputs.
 */
const seenKey = (input: Input): string =>
  input.type === "signal" ? `signal:${input.id}` : `task:${input.intent}:${input.id}`;

const codeOf = (key: string): string => shortHash(key, codeLength);

/** Whether the saga has taken this input before. */
export function wasSeen({ seen, seenPacks }: Remembered, input: Input): boolean {
  const key = seenKey(input);
  if (Object.hasOwn(seen, key)) return true;
  if (seenPacks.length === 0) return false;
  const code = codeOf(key);
  return seenPacks.some(({ codes }) => holds(codes, code));
}

/** Binary search; most signals are new, and each is looked for in every pack. */
function holds(codes: string, code: string): boolean {
  let [low, high] = [0, codes.length / codeLength];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareAt(codes, middle * codeLength, code);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** The order of the code at a place of the pack and another one, without a copy of it. */
function compareAt(codes: string, at: number, code: string): number {
  for (let index = 0; index < codeLength; index++) {
    const order = codes.charCodeAt(at + index) - code.charCodeAt(index);
    if (order !== 0) return order;
  }
  return 0;
}

/** `seen` with the input in it, known until then (milliseconds since the epoch). */
export const remember = (seen: Remembered["seen"], input: Input, until: number): Record<string, number> =>
  withKey(seen, seenKey(input), until);

/**
 * Whether an input is taken for the first time, from now on remembered in the state. Two of one id may come in one turn.
 * An id is kept until every host's clock agrees that a repeat would be refused by its age. `at`: the turn's time.
 */
export function isFirst(
  state: { -readonly [K in keyof Remembered]: Remembered[K] },
  event: EventOf<"signal" | "task">,
  at: number,
): boolean {
  if (wasSeen(state, event)) return false;
  const sentAt = event.type === "signal" ? Math.max(event.sentAt, at) : at;
  state.seen = remember(state.seen, event, sentAt + limits.signalHorizonMs + limits.clockSkewMs);
  return true;
}

/** Drops what no repeat can name any more, and packs what has gathered. Called at fixed turns (SB2). */
export function tidySeen(state: Remembered, at: number): Remembered {
  const entries = Object.entries(state.seen).filter(([, until]) => until > at);
  const packs = state.seenPacks.filter(({ until }) => until > at);
  if (entries.length < limits.seenPackMin) return { seen: Object.fromEntries(entries), seenPacks: packs };
  const until = entries.reduce((latest, [, each]) => Math.max(latest, each), 0);
  const codes = entries
    .map(([key]) => codeOf(key))
    .sort() // By code unit, as compareAt.
    .join("");
  assert(codes.length === entries.length * codeLength, "a code has its length");
  return { seen: {}, seenPacks: [...packs, { until, codes }] };
}
