/**
 * Validator machine: asks in stages, each stage's parts in parallel, until what was said decides.
 *
 * VM1 A stage that is not needed any more is not entered: the cheap is asked first, and no model after a refusal.
 * VM2 Whatever becomes of a part, it is an answer: an error says by its code that this part could not say.
 */
import { type AnyStateMachine, assign, setup } from "xstate";
import type { Json } from "../../protocol/json.ts";
import { type Callable, reasonOf, toActors } from "../machine/callable.ts";

/** How a part ended. */
export type Ended<T> =
  { readonly output: T } | { readonly error: { readonly code: string; readonly reason: string } };

export interface JudgingContext<I> {
  readonly given: I;
  readonly ended: Readonly<Record<string, Ended<unknown>>>;
}

export interface JudgingPart<I> {
  /** Unique in its machine. */
  readonly id: string;
  readonly callable: Callable;
  readonly input: (context: JudgingContext<I>) => unknown;
}

export interface Judging<I> {
  readonly name: string;
  readonly stages: readonly (readonly JudgingPart<I>[])[];
  /** VM1. Whether the stage of this number is still needed. */
  readonly needs: (context: JudgingContext<I>, stage: number) => boolean;
  readonly output: (context: JudgingContext<I>) => unknown;
  /** What decides beside the machine's form, as data: it is part of the definition's hash. */
  readonly identity: Json;
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "";

export function judgingMachine<I>(judging: Judging<I>): AnyStateMachine {
  const { name, stages, needs } = judging;
  const states: Record<string, object> = Object.fromEntries<object>(
    stages.flatMap((parts, k) => [
      [
        `before${k}`,
        {
          always: [
            {
              guard: ({ context }: { context: JudgingContext<I> }) => needs(context, k),
              target: `stage${k}`,
            },
            { target: next(stages, k) },
          ],
        },
      ],
      [
        `stage${k}`,
        {
          type: "parallel" as const,
          states: Object.fromEntries(parts.map((part) => [part.id, asking(part)])),
          onDone: { target: next(stages, k) },
        },
      ],
    ]),
  );
  return setup({
    types: { context: {} as JudgingContext<I>, input: {} as I },
    actors: toActors(Object.fromEntries(stages.flat().map(({ id, callable }) => [id, callable]))) as Record<
      string,
      never
    >,
  }).createMachine({
    id: name,
    meta: { validator: judging.identity },
    initial: stages.length === 0 ? "judged" : "before0",
    context: ({ input }) => ({ given: input, ended: {} }),
    states: { ...states, judged: { type: "final" } },
    output: ({ context }) => judging.output(context),
  });
}

const next = (stages: readonly unknown[], k: number): string =>
  k + 1 < stages.length ? `before${k + 1}` : "judged";

function asking<I>({ id, input }: JudgingPart<I>) {
  const keep = (ended: (event: { output?: unknown; error?: unknown }) => Ended<unknown>) =>
    assign<JudgingContext<I>, { type: string; output?: unknown; error?: unknown }, undefined, never, never>({
      ended: ({ context, event }) => ({ ...context.ended, [id]: ended(event) }),
    });
  return {
    initial: "asked",
    states: {
      asked: {
        invoke: {
          id,
          src: id,
          input: ({ context }: { context: JudgingContext<I> }) => input(context),
          onDone: { target: "told", actions: keep(({ output }) => ({ output })) },
          onError: {
            target: "told",
            actions: keep(({ error }) => ({ error: { code: codeOf(error), reason: reasonOf(error) } })),
          },
        },
      },
      told: { type: "final" as const },
    },
  };
}
