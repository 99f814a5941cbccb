/**
 * Conversation: a recording as its readers give it, whatever shape it had. Types, and how a fault is told.
 */
import { z } from "zod";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelAnswer } from "../../protocol/model.ts";
import type { RecordedAgent, RecordedFrom } from "../../protocol/documents/recording.ts";

export type RecordedTool = RecordedAgent["tools"][number];

/** A reply, with the ids by which results name its calls. */
export interface Said {
  readonly type: "reply";
  readonly reply: ModelAnswer;
  readonly ids: readonly string[];
  readonly hasUsage: boolean;
  readonly place: number;
  readonly at?: number | undefined;
}

/** A call's result. One that says it is an error is a failure. */
export interface Observed {
  readonly type: "result";
  readonly id: string;
  readonly output: Json;
  readonly isError: boolean;
  readonly place: number;
  readonly at?: number | undefined;
}

/** Words of the user. */
export interface Heard {
  readonly type: "user";
  readonly text: string;
  readonly place: number;
  readonly at?: number | undefined;
}

export type Entry = Said | Observed | Heard;

export interface Conversation {
  readonly from: Omit<RecordedFrom, "notes">;
  readonly model: string;
  readonly instructions: string;
  /** Undefined where the recording names none. */
  readonly tools: readonly RecordedTool[] | undefined;
  /** In the order of the recording, each as it stood there. */
  readonly entries: readonly Entry[];
  /** What its reader left out or assumed. */
  readonly notes: readonly string[];
}

/** A value of a file, and where it stood. */
export interface Place {
  readonly file: string;
  readonly conversation: number;
}

export const faultIn = ({ file, conversation }: Place, what: string, cause?: unknown): MeshError =>
  new MeshError("RECORDING_INVALID", `${file}, conversation ${conversation}: ${what}`, { cause });

/** A part of a recording as its schema reads it. Throws RECORDING_INVALID with the message's number, from 1. */
export function readPart<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: Place,
  message?: number,
): z.infer<S> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw faultIn(at, `${message === undefined ? "" : `message ${message}: `}${z.prettifyError(read.error)}`);
}

/** Collects notes, each kind of them once with how often it holds and where first. */
export function createNotes() {
  const found = new Map<string, { first: number; times: number }>();
  return {
    add: (what: string, message: number) => {
      const known = found.get(what);
      if (known === undefined) found.set(what, { first: message, times: 1 });
      else known.times += 1;
    },
    all: (): string[] =>
      [...found].map(([what, { first, times }]) =>
        first === 0 ? what : `${what} (message ${first}${times === 1 ? "" : ` and ${times - 1} more`})`,
      ),
  };
}
export type Notes = ReturnType<typeof createNotes>;

/** Milliseconds of a time as recordings write it: a date, or seconds or milliseconds since the epoch. */
export function readTime(value: unknown): number | undefined {
  const at =
    typeof value === "number"
      ? value < 1e11
        ? value * 1_000
        : value
      : typeof value === "string"
        ? Date.parse(value)
        : Number.NaN;
  return Number.isFinite(at) && at > 0 ? Math.round(at) : undefined;
}
