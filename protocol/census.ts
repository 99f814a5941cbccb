/**
 * Census: how much each stream of a mesh held when somebody last looked. It is kept in buckets beside the streams that it
 * counts, so that what is gone is known by what remains.
 *
 * YC1 A count only rises while its stream is of one generation: what was seen once is not forgotten for a stream that has
 *     lost it since.
 */
import { z } from "zod";

/** A stream as it was counted. */
export const Counted = z.object({
  /** The sequence of its last message; a purge does not lower it. */
  lastSeq: z.int().nonnegative(),
  /** As many as stood then. */
  messages: z.int().nonnegative(),
  /** Raised each time the stream is made anew by a person's word. */
  generation: z.int().positive(),
});
export type Counted = z.infer<typeof Counted>;

/** The entry `censusKey`. Times are milliseconds since the epoch, by the server's clock where it told one. */
export const Census = z.object({
  mesh: z.string(),
  at: z.number(),
  partitions: z.int().positive(),
  streams: z.record(z.string(), Counted),
});
export type Census = z.infer<typeof Census>;

/** Its key in each bucket that keeps it. */
export const censusKey = "mesh.census";

/** What is kept next: what was counted now, and of each stream at least what was known of the same generation (YC1). */
export function countedOn(before: Census | undefined, now: Census): Census {
  if (before?.mesh !== now.mesh) return now;
  const streams = { ...before.streams };
  for (const [name, counted] of Object.entries(now.streams)) {
    const known = streams[name];
    if (known === undefined || isAtLeast(counted, known)) streams[name] = counted;
  }
  return { ...now, streams };
}

/** Whether a stream has all that was counted of it, as far as a count can tell. */
export const isAtLeast = (
  now: Pick<Counted, "generation" | "lastSeq">,
  before: Pick<Counted, "generation" | "lastSeq">,
): boolean =>
  now.generation > before.generation ||
  (now.generation === before.generation && now.lastSeq >= before.lastSeq);
