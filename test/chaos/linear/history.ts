/**
 * History: who called what of the objects a mesh stands on, when, and when they were told what; lines of JSON that
 * `history.go` reads. Written by each process of a run for itself.
 *
 * HI1 A call is in the file before it is made, and its answer before the caller has it. What a process that was killed
 *     had called and not heard of is a call without an answer.
 * HI2 All processes of a machine read one clock, which only goes on.
 */
import { closeSync, openSync, writeSync } from "node:fs";

/** What is judged by which model: see `models.go`. */
export interface Call {
  readonly object: "ledger" | "claim" | "entry" | "input";
  readonly key: string;
  readonly do: "append" | "publish" | "claim" | "write" | "send" | "read";
  readonly value?: string;
  readonly expected?: number;
  /** Of a reader at the end: all that stands there. */
  readonly stored?: readonly { readonly seq: number; readonly value: string }[];
}

export interface Answer {
  readonly outcome: "done" | "refused" | "nothing" | "unknown";
  readonly seq?: number;
  readonly value?: string;
}

export interface History {
  /** Makes the call; `answerOf` says what came of it. Resolves or throws as `make` does. */
  record<T>(
    call: Call,
    make: () => Promise<T>,
    answerOf: (said: T) => Answer,
    failureOf: (error: unknown) => Answer,
  ): Promise<T>;
  /** A call that has been answered already. */
  note(call: Call, answer: Answer): void;
  close(): void;
}

const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n); // HI2

/** Appends to the file; `name` tells this process's calls from all others'. Not synced: a file outlives its process. */
export function openHistory(path: string, name: string): History {
  const file = openSync(path, "a");
  let calls = 0;
  const write = (line: object) => void writeSync(file, `${JSON.stringify(line)}\n`);
  const begin = (call: Call): string => {
    const id = `${name}-${calls++}`;
    write({ id, at: nowUs(), call });
    return id;
  };
  const end = (id: string, answer: Answer) => write({ id, at: nowUs(), answer });
  return {
    record: async (call, make, answerOf, failureOf) => {
      const id = begin(call); // HI1
      try {
        const said = await make();
        end(id, answerOf(said));
        return said;
      } catch (error) {
        end(id, failureOf(error));
        throw error;
      }
    },
    note: (call, answer) => end(begin(call), answer),
    close: () => closeSync(file),
  };
}
