/**
 * Memory spec: how an agent declares its working memory, and how a human may edit one.
 */
import { z } from "zod";
import { type Json, Payload, toJson } from "../../protocol/json.ts";

type Signals = Readonly<Record<string, z.ZodType>>;

/** An agent's memory with its types erased. */
export interface MemorySpec {
  readonly schema: z.ZodType;
  readonly initial: Json;
  /** By the name of a tool or a sub-agent. */
  readonly on: Readonly<Record<string, (memory: never, told: never) => unknown>>;
  /** By the name of a signal. */
  readonly signals: Readonly<Record<string, (memory: never, data: never) => unknown>>;
}

/**
 * An agent's working memory: what it is to know however long it runs. It is a part of the saga's state, and only what
 * is recorded changes it: a success of a tool or a sub-agent (`on`), a signal (`signals`), a human's edit (the signal
 * `memory`, which every agent with a memory has). The model reads it and cannot write it but by its calls.
 *
 * Reducers are pure and run whenever the ledger is folded; each gets a copy that it may change, and returns the whole
 * memory. One that throws, or gives what does not fit the schema (MEMORY_INVALID) or is over 64 Ki characters
 * (TOO_LARGE), changes nothing, and the model is told.
 */
export interface MemoryConfig<S extends Signals, M extends z.ZodType> {
  /** What the memory always fits. Plain JSON in, so that it can be stored and shown. */
  schema: M;
  initial: z.input<M>;
  // A tool's name is no type, so what its reducer is told has none either; the tool's own schemas have read it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
  on?: Readonly<Record<string, (memory: z.infer<M>, told: { input: any; output: any }) => z.input<M>>>;
  signals?: { readonly [K in keyof S & string]?: (memory: z.infer<M>, data: z.infer<S[K]>) => z.input<M> };
}

export const memorySpec = ({
  schema,
  initial,
  on,
  signals,
}: MemoryConfig<Signals, z.ZodType>): MemorySpec => ({
  schema,
  initial: toJson(initial),
  on: on ?? {},
  signals: (signals ?? {}) as MemorySpec["signals"], // Each is given what its own signal's schema has read.
});

/** The signal by which a human edits a memory; every agent that has one declares it. */
export const memorySignal = "memory";

/** What that signal holds: members to change (RFC 7386, null removes one), or the whole memory anew. */
export const MemoryEdit = z.union([
  z.strictObject({ set: z.record(z.string(), Payload) }),
  z.strictObject({ replace: Payload }),
]);
export type MemoryEdit = z.infer<typeof MemoryEdit>;

/** What an agent with a memory declares besides its own signals. */
export type WithMemory<S extends Signals> = S & { readonly [memorySignal]: typeof MemoryEdit };
