/**
 * Callable: a named contract that a machine may invoke, and its binding into XState's `setup`.
 *
 * Owns: the placeholder logics, the reserved callables and the small helpers a machine's author needs.
 * Does not own: tools, sagas and agents as definitions (define.ts), or what an invocation becomes.
 *
 * CA1 A bound logic is inert: it performs nothing, holds no state and never ends by itself. All it carries
 *     is the contract, so a machine that is run elsewhere by mistake waits instead of acting.
 */
import type { PromiseActorLogic } from "xstate";
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";

/** What a machine may invoke. A `saga` is a definition of any kind, which is started as a child. */
export type CallableKind = "tool" | "saga" | "compensation" | "question" | "model" | "send";

/** What a machine may invoke: its kind, its name and the schemas of what goes in and comes out. */
export interface Callable<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  readonly kind: CallableKind;
  readonly name: string;
  readonly input: I;
  readonly output: O;
}

/** The actor logic a callable is to `setup`: typed input and output, and no behaviour. */
export type ActorOf<C> =
  C extends Callable<infer I, infer O>
    ? PromiseActorLogic<z.infer<O>, z.input<I>> & { readonly callable: C }
    : never;

const waiting = Object.freeze({ status: "active", output: undefined, error: undefined, input: undefined });

/**
 * Callables as the `actors` of `setup`; the keys are what `invoke.src` and `spawnChild` name.
 *
 * @example
 * setup({ actors: toActors({ bookFlight, compensation, confirm: question({ to: ["desk"], answer: z.boolean() }) }) })
 */
export const toActors = <T extends Record<string, Callable>>(
  callables: T,
): { [K in keyof T]: ActorOf<T[K]> } =>
  Object.fromEntries(
    Object.entries(callables).map(([key, callable]) => [
      key,
      // One constant snapshot for all: a snapshot of its own for each start would be garbage that is never read.
      {
        callable,
        transition: <S>(snapshot: S): S => snapshot,
        getInitialSnapshot: () => waiting,
        getPersistedSnapshot: <S>(snapshot: S): S => snapshot,
      },
    ]),
    // Proof: each value has the three members ActorLogic requires and the same key as its callable; the
    // output type is a promise of the one who settles the intent, which parses with `callable.output`.
  ) as never;

/** The contract a logic was bound to by `toActors`, or undefined for a logic of any other origin. */
export function callableOf(logic: unknown): Callable | undefined {
  if (typeof logic !== "object" || logic === null || !("callable" in logic)) return undefined;
  const { callable } = logic;
  if (typeof callable !== "object" || callable === null || !("kind" in callable)) return undefined;
  return callable as Callable; // Proof: only `toActors` writes this member, from a Callable.
}

/** Undoes what the saga did so far, in reverse order of dependency; ends when nothing of the plan is open. */
export const compensation = {
  kind: "compensation",
  name: "compensation",
  input: z.object({ because: z.string() }),
  output: z.object({ undone: z.array(z.string()), standing: z.array(z.string()) }),
} as const satisfies Callable;

/** How people hear of a task, the same for approvals and questions. */
export interface NoticeTerms {
  /** How many different people must say the same; 1 unless given. One who denies is enough to deny. */
  readonly quorum?: number;
  /** Tells them again this often until the deadline, 1 s at least. Needs `notify`. */
  readonly remindEveryMs?: number;
  /**
   * A tool that tells people: called with `input` and the notice of the task (`TaskNotice`) as the member `task`.
   * Tried again as its class allows; a call that fails in the end leaves the task as it is.
   */
  readonly notify?: {
    readonly tool: Callable & { readonly kind: "tool" };
    readonly input?: Readonly<Record<string, unknown>>;
  };
  /**
   * A saga that is asked first, with `input` and the notice as the member `task`. Its output is the answer, or of an
   * approval a `StandInVote`: one vote. If it fails, or says what cannot be taken, the people are told.
   */
  readonly standIn?: {
    readonly saga: Callable & { readonly kind: "saga" };
    readonly input?: Readonly<Record<string, unknown>>;
  };
}

/** Who is asked, and who after them. */
export interface AskTerms extends NoticeTerms {
  /** Names and roles; empty: anyone. */
  readonly to: readonly string[];
  /** A week unless given. */
  readonly withinMs?: number;
  /** The people who are asked when the time is over without an answer. */
  readonly escalate?: AskTerms;
}

const QuestionInput = z.object({ question: z.string() });

/**
 * A question to people. `otherwise` is the answer if none came in time, the last in line included; without it
 * that is an error.
 */
export interface Question<O extends z.ZodType = z.ZodType>
  extends Callable<typeof QuestionInput, O>, AskTerms {
  readonly kind: "question";
  readonly withinMs: number;
  readonly otherwise?: z.input<O>;
}

/** Binds a question to people: who may answer, the schema of the answer, how long to wait (a week), who is next. */
export const question = <O extends z.ZodType>({
  answer,
  ...asking
}: AskTerms & { answer: O; otherwise?: z.input<O> }): Question<O> => ({
  kind: "question",
  name: "question",
  input: QuestionInput,
  output: answer,
  ...asking,
  withinMs: asking.withinMs ?? limits.taskWithinMs,
});

/** Where an agent's machine waits until its budget is raised. The kernel words the question (raise.ts). */
export const raiseSrc = "sagamesh.raise";

const ModelCallInput = z.object({ prompt: z.string() });
const ModelCallOutput = z.object({ text: z.string() });

/** One question to a model and its text. */
export interface ModelCall extends Callable<typeof ModelCallInput, typeof ModelCallOutput> {
  readonly kind: "model";
  readonly model: string;
  readonly instructions: string;
}

/** Binds a single model call without tools; what needs a loop is an agent. `model` names a configured port. */
export const modelCall = (config: { model: string; instructions: string }): ModelCall => ({
  kind: "model",
  name: "modelCall",
  input: ModelCallInput,
  output: ModelCallOutput,
  ...config,
});

/**
 * The events a machine with these signals takes, for the `events` type of `setup`: members of the data stand on the event, as
 * in XState, and all of it under `data`. What the event itself says by `type`, `data`, `at` and `from` is never the data's.
 */
export type SignalEvents<S extends Record<string, z.ZodType>> = {
  [K in keyof S & string]: Flat<
    { type: K; data: z.infer<S[K]>; at: number; from: string } & DataMembers<z.infer<S[K]>>
  >;
}[keyof S & string];

type Flat<T> = { [K in keyof T]: T[K] };

/** Of an object, and of no list; distributes over a union. */
type DataMembers<T> = T extends readonly unknown[]
  ? unknown
  : T extends object
    ? Omit<T, "type" | "data" | "at" | "from">
    : unknown;

/** The reason in the error of an `onError` event, as text for a context or an output. */
export const reasonOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "reason" in error && typeof error.reason === "string"
    ? error.reason
    : describeError(error);
