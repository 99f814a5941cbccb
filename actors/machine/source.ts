/**
 * Source: the time, new ids and chance for the functions of a machine, the same whenever its ledger is folded again.
 *
 * Owns: what they give, and where the fold is that they are called in. Does not own: what names a turn (kernel/fold.ts).
 *
 * TC1 What a call gives follows from its turn alone: the time is the turn's, an id or a number is a digest of the saga, its
 *     beginning, the turn's number, the event, the machine's step in it and the number of the call in the step. So it is
 *     the same after a crash, in a replay and on every host, and two calls of all sagas' have two ids.
 * TC2 A guard that is asked about the same event once more is given the same again.
 * TC3 How digests become ids and numbers is fixed for ever: ledgers hold what they gave.
 * TC4 Outside of a fold they are the process's own clock and chance, so a machine that uses them runs in a plain actor of
 *     XState, too, and a function of it may be tested by itself.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { Event } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";

/** The turn that is folded, and where in it the fold is. */
interface Present {
  readonly at: number;
  readonly name: () => readonly Json[];
  readonly event: readonly Json[];
  step: number;
  calls: number;
}

/** The turn that is being decided. It waits for nothing, so there is one at a time (as in values/draft.ts). */
let present: Present | undefined;

/**
 * Decides a turn event by event: until it returns or throws, calls are given what is recorded. `name` is one that no other
 * turn has. Of an event counts what tells it from another: decided again from an older copy of the ledger, the same event is
 * given the same id, and another event another.
 */
export function eachRecorded<T>(
  { at, events }: { readonly at: number; readonly events: readonly Event[] },
  name: () => readonly Json[],
  decide: (event: Event) => T,
): T[] {
  const outer = present;
  try {
    return events.map((event, k) => {
      present = { at, name, event: [k, event.type, ...idsIn(event)], step: 0, calls: 0 };
      return decide(event);
    });
  } finally {
    present = outer;
  }
}

const idsIn = (event: Event): Json[] => {
  if (event.type === "signal") return [event.id];
  if (event.type === "result" || event.type === "deferred") return [event.intent, event.attempt];
  if (event.type === "task") return [event.intent, event.id];
  return event.type === "timer" ? [event.intent] : [];
};

/** The machine takes its next step. */
export function atStep(): void {
  if (present !== undefined) Object.assign(present, { step: present.step + 1, calls: 0 });
}

/** TC2. Asks once more what the step just taken has asked. */
export function asInStep<T>(ask: () => T): T {
  const calls = present?.calls ?? 0;
  if (present !== undefined) present.calls = 0;
  try {
    return ask();
  } finally {
    if (present !== undefined) present.calls = Math.max(calls, present.calls);
  }
}

/** 64 hexadecimal digits that no other call has; undefined outside of a fold. */
function nextDigits(): string | undefined {
  if (present === undefined) return undefined;
  present.calls += 1;
  const { name, event, step, calls } = present;
  return digestOf(["sagamesh.source", 1, name(), event, step, calls]);
}

/**
 * Milliseconds since 1970, in place of `Date.now()`: when the event came that the machine takes, as its ledger has it. It stands
 * still within a turn, and is the virtual time of a test mesh. In every function of a machine: `context`, `assign`, guards,
 * inputs, delays, `output`. Elsewhere, in a tool's body or a plain actor of XState: the clock.
 *
 * @example
 * assign({ orderedAt: () => new Date(now()).toISOString() })
 */
export const now = (): number => present?.at ?? Date.now(); // eslint-disable-line no-restricted-globals -- TC4

/**
 * A new id, in place of `crypto.randomUUID()`: another at each call, and the same whenever the ledger is folded again. Of the
 * form of a random UUID (version 4), but no secret: who knows the ledger can work it out. Where: see `now`.
 *
 * @example
 * context: ({ input }) => ({ ...input, order: uuid() })
 */
export function uuid(): string {
  const digits = nextDigits();
  if (digits === undefined) return crypto.randomUUID(); // eslint-disable-line no-restricted-globals -- TC4
  const variant = "89ab"[Number.parseInt(digits.slice(16, 17), 16) % 4] ?? "8";
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join("-");
}

/**
 * A number from 0 up to and not 1, in place of `Math.random()`: another at each call, and the same whenever the ledger is
 * folded again. Of 52 bits, spread evenly. No secret, and where: see `uuid`.
 *
 * @example
 * guard: () => random() < 0.1
 */
export function random(): number {
  const digits = nextDigits();
  if (digits === undefined) return Math.random(); // eslint-disable-line no-restricted-properties -- TC4
  return Number.parseInt(digits.slice(0, 13), 16) / 2 ** 52;
}
