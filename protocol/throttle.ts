/**
 * Throttle: how fast one tool or model may be used over the whole mesh, as all processes share it.
 *
 * TH1 One entry per tool or model, changed by compare-and-set only, so that a permit is given once.
 * TH2 Losing an entry loses a pause and some pacing, never work: calls wait in streams and ledgers.
 */
import { z } from "zod";
import { Name } from "./ids.ts";

/** What can be throttled: one tool, or one model. */
export const ThrottleKind = z.enum(["tool", "model"]);
export type ThrottleKind = z.infer<typeof ThrottleKind>;

/** One tool or model by name. */
export interface Throttled {
  readonly kind: ThrottleKind;
  readonly name: string;
}

/** The entry's key in THROTTLE. */
export const throttleKey = ({ kind, name }: Throttled): string => `${kind}.${name}`;

/** The tool or model of a key; undefined for any other text. */
export function throttledOf(key: string): Throttled | undefined {
  const [kind, name, ...more] = key.split(".");
  const parsed = z.object({ kind: ThrottleKind, name: Name }).safeParse({ kind, name });
  return more.length === 0 && parsed.success ? parsed.data : undefined;
}

/** The bounds that an application gives a tool or a model. Undefined: unbounded. */
export const ThrottleLimits = z.object({
  /** How many may run at once, over all processes. */
  atOnce: z.int().positive().optional(),
  /** How many may begin in a second, over all processes; less than one is fine. */
  perSecond: z.number().positive().max(10_000).optional(),
});
export type ThrottleLimits = z.infer<typeof ThrottleLimits>;

/** The entry, which hosts and workers write and read. All times are the server's, in milliseconds since the epoch. */
export const ThrottleState = z.object({
  v: z.literal(1),
  /** Nothing begins until it is resumed. */
  paused: z.object({ at: z.number(), by: z.string(), reason: z.string().optional() }).optional(),
  /** Nothing begins before: a provider has asked for it. */
  notBefore: z.number().optional(),
  /** When the next may begin, by the rate. */
  nextAt: z.number().optional(),
  /** Calls that run, by process; believed until the time given, so that a dead process's permits come back. */
  held: z.record(z.string(), z.object({ count: z.int().positive(), until: z.number() })).default({}),
  /** Processes that want one of `atOnce` and found none free, the longest waiting first; believed until then. */
  queue: z.array(z.object({ who: z.string(), until: z.number() })).default([]),
});
export type ThrottleState = z.infer<typeof ThrottleState>;

/** One tool or model as it is shown, as far as anything bounds it now. */
export interface ThrottleStanding extends Throttled {
  /** Permits that are held: calls that run, where their number is bounded. */
  readonly held: number;
  /** Processes that found none free. */
  readonly waiting: number;
  /** For how long a provider has asked that nothing begins; absent where none has. Milliseconds. */
  readonly closedMs?: number;
  /** When the next may begin, by the rate; absent where it may now. Milliseconds. */
  readonly nextMs?: number;
  readonly paused?: NonNullable<ThrottleState["paused"]>;
}
