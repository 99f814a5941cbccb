/**
 * Result: what was observed for an intent. Five outcomes, and `deferred` on the way to one. Workers, hosts, child sagas
 * and the outside report them; hosts record them.
 */
import { z } from "zod";
import { Spending } from "./budget.ts";
import { Payload } from "./json.ts";
import { limits } from "./limits.ts";

/** What a model call cost. Tokens as the provider counts them; money only where the port knows a price. */
export const Usage = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  cacheReadTokens: z.int().nonnegative().optional(),
  cacheWriteTokens: z.int().nonnegative().optional(),
  usd: z.number().nonnegative().optional(),
  /** The provider told no count, or not in time: this one is made of the bytes. */
  estimated: z.literal(true).optional(),
});
export type Usage = z.infer<typeof Usage>;

/**
 * For a model that has stand-ins (services/app/fallback.ts): `asked` is the model that was asked under its name,
 * `passed` those that were passed over with the reason, and `next` the one that the next attempt asks, at once. Without
 * `next` that is the first again, after the usual wait.
 */
export const Route = z.object({
  asked: z.string(),
  passed: z.record(z.string(), z.string()).optional(),
  next: z.string().optional(),
});
export type Route = z.infer<typeof Route>;

const why = { code: z.string(), reason: z.string() };
/** Of a body that threw: the digest of its stack, a text among the blobs. It decides nothing and may be gone. */
const trace = z.string().max(64).optional();

const oneCause = z.object({
  name: z.string().max(limits.causeNameMax),
  message: z.string().max(limits.reasonLengthMax),
  /** As those who threw it say it: `ECONNREFUSED`, 503. */
  code: z.union([z.string().max(limits.causeNameMax), z.number()]).optional(),
});
/** What lay behind what was thrown, as `Error.cause` says it, and behind that in turn, `limits.causeDepthMax` deep. */
export type Cause = z.infer<typeof oneCause> & { readonly cause?: Cause | undefined };
const third = oneCause.extend({ cause: oneCause.optional() });
const second = oneCause.extend({ cause: third.optional() });
/** For people and machines that ask for it. One that cannot be read is left out: it is no reason to refuse a result. */
const cause = oneCause.extend({ cause: second.optional() }).optional().catch(undefined);

/** What a body threw calls itself, where that is not "Error". Read as `cause` is. */
const name = oneCause.shape.name.optional().catch(undefined);

/** What was observed, by its `outcome`. `code` is for programs, `reason` for people. */
export const Result = z.discriminatedUnion("outcome", [
  /** `undoable`: of a saga that ended well and can undo what it did. */
  z.object({ outcome: z.literal("succeeded"), output: Payload, undoable: z.literal(true).optional() }),
  /** No usable result. `retry` false ends the attempts; `retryAfterMs` is how long the outside asks to wait. */
  z.object({
    outcome: z.literal("failed"),
    ...why,
    retry: z.boolean().optional(),
    retryAfterMs: z.number().nonnegative().optional(),
    usage: Usage.optional(),
    route: Route.optional(),
    /** Of a saga that failed or was cancelled: what it could not undo, `<tool> <key>`. */
    standing: z.array(z.string()).optional(),
    trace,
    name,
    cause,
  }),
  z.object({ outcome: z.literal("denied"), ...why }),
  z.object({ outcome: z.literal("in_doubt"), ...why, trace, name, cause }),
  z.object({ outcome: z.literal("cancelled"), ...why, usage: Usage.optional() }),
]);
export type Result = z.infer<typeof Result>;

/** The tool's body left the answer to the outside: it comes later, or `failed` is recorded after `withinMs`. */
export const Deferred = z.object({
  outcome: z.literal("deferred"),
  withinMs: z.int().positive().max(limits.timerMaxMs),
});

/** Body of a message on `saga.<id>.result.<intent>`; `by` is the incarnation that observed it. */
export const ResultMessage = z.intersection(
  z.object({
    attempt: z.int().positive().default(1),
    by: z.string().max(200).default("outside"),
    /** Of a child saga's end. */
    spent: Spending.optional(),
  }),
  z.discriminatedUnion("outcome", [...Result.options, Deferred]),
);
export type ResultMessage = z.infer<typeof ResultMessage>;
