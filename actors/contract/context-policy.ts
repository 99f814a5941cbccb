/**
 * Context policies: how much of its conversation an agent's model is sent.
 *
 * A policy is data and part of the definition's hash. What follows from it is pure: `retention.ts` says where the
 * conversation is cut, `sent.ts` what is sent then.
 */
import { z } from "zod";
import { limits } from "../../protocol/limits.ts";

/** When a summary of what is about to be dropped is asked for, of which model, and in what words. */
export interface SummaryTerms {
  /** After so many messages. */
  readonly everyMessages?: number;
  /** Or once the messages since the last time hold more characters than this, as JSON. */
  readonly overCharacters?: number;
  /** The name of a model port of the application; the agent's own unless given. */
  readonly model?: string;
  /** What the summary is to keep, in place of the standing words. */
  readonly instructions?: string;
}

/** How much of its conversation an agent's model is sent; made by `fullContext`, `windowedContext`, `selectiveContext`. */
export type ContextPolicy =
  | { readonly kind: "full" }
  | { readonly kind: "window"; readonly messages: number }
  | {
      readonly kind: "selective";
      readonly keep: number;
      readonly pin?: readonly string[];
      readonly summarize?: SummaryTerms;
    };

/** One under which a conversation is cut. */
export type CuttingPolicy = Exclude<ContextPolicy, { kind: "full" }>;

/** The whole conversation, always: the default, because nothing is lost and providers' caches like it best. */
export const fullContext = (): ContextPolicy => ({ kind: "full" });

/**
 * The last messages, `messages` at most (4 or more; some more where signals come in a row, with no reply between). Once
 * there are more, all but half of them go at once, so the prefix that a provider has cached holds for many steps.
 * What goes is named by its number; the first message, open calls and the memory stay.
 */
export const windowedContext = (options: { messages: number }): ContextPolicy => ({
  kind: "window",
  ...options,
});

/**
 * The last `keep` messages (2 or more) whole, up to twice as many before the next cut; those before them with
 * their longer tool results replaced by references, which the model may fetch back with `recall`; those before
 * these dropped, or summarised if `summarize` says so. The first message, open calls, the memory, instructions of
 * people and the signals named in `pin` stay: they are the goal and its constraints.
 *
 * A summary is a call of a model, recorded and counted like any other; what it costs is the budget's. If it fails,
 * the messages are dropped without one and the next message says so. A crash in its middle asks for it again; one
 * that is recorded is never asked for again.
 */
export const selectiveContext = (options: {
  keep: number;
  pin?: readonly string[];
  summarize?: SummaryTerms;
}): ContextPolicy => ({ kind: "selective", ...options });

const Summary = z
  .strictObject({
    everyMessages: z.int().min(2).max(limits.keptMessagesMax).optional(),
    overCharacters: z.int().min(1_000).optional(),
    model: z.string().min(1).optional(),
    instructions: z.string().min(1).optional(),
  })
  .refine(
    ({ everyMessages, overCharacters }) => (everyMessages === undefined) !== (overCharacters === undefined),
    "needs either everyMessages or overCharacters",
  );

const Policy = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("full") }),
  z.strictObject({ kind: z.literal("window"), messages: z.int().min(4).max(limits.keptMessagesMax) }),
  z.strictObject({
    kind: z.literal("selective"),
    keep: z.int().min(2).max(limits.keptMessagesMax),
    pin: z.array(z.string()).optional(),
    summarize: Summary.optional(),
  }),
]);

/** What is wrong with a policy, for those who write it in JavaScript too. */
export function contextFaults(agent: string, policy: unknown, signals: readonly string[]): string[] {
  if (policy === undefined) return [];
  const read = Policy.safeParse(policy);
  if (!read.success) return [`${agent}: its context policy: ${z.prettifyError(read.error)}`];
  const pins = read.data.kind === "selective" ? (read.data.pin ?? []) : [];
  return pins
    .filter((name) => !signals.includes(name))
    .map((name) => `${agent}: its context policy pins "${name}", which is none of its signals`);
}

/** The policy if it cuts anything: what sends all is as if there were none. */
export const cuttingPolicy = (policy: ContextPolicy | undefined): CuttingPolicy | undefined =>
  policy === undefined || policy.kind === "full" ? undefined : policy;

/** How many messages stay whole at a cut. */
export const keptOf = (policy: CuttingPolicy): number =>
  policy.kind === "window" ? Math.floor(policy.messages / 2) : policy.keep;

export const summarizeOf = (policy: CuttingPolicy | undefined): SummaryTerms | undefined =>
  policy?.kind === "selective" ? policy.summarize : undefined;
