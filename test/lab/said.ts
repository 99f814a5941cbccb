/**
 * Said: what the mesh says of a fault, and how soon: the logs of hosts and workers, and doctor, which is asked all the time.
 *
 * LS1 What was said before the blow says nothing of it: only words that are new count.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { doctor } from "../support/doctor.ts";

/** Words that were new after the blow. */
export interface Word {
  /** The error's code, else the log's event. */
  readonly word: string;
  /** `host-1`, or `doctor`. */
  readonly by: string;
  readonly afterMs: number;
}

export interface Listening {
  /** From now on words are of the fault. */
  struck(): void;
  /** New words in the order in which they were heard. */
  readonly words: readonly Word[];
  stop(): Promise<void>;
}

const listenEveryMs = 250;
const askEveryMs = 2_500;

/** `logs`: each by the name of its process. */
export function listen(url: string, logs: ReadonlyMap<string, string>): Listening {
  const over = new AbortController();
  const known = new Set<string>();
  const words: Word[] = [];
  let struckAt: number | undefined;
  const hear = (by: string, word: string) => {
    const key = `${by === "doctor" ? by : "log"} ${word}`;
    if (known.has(key)) return;
    known.add(key);
    if (struckAt !== undefined) words.push({ word, by, afterMs: Math.round(performance.now() - struckAt) });
  };
  const repeat = async (everyMs: number, look: () => unknown) => {
    while (!over.signal.aborted) {
      await look();
      await delay(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const read = new Map<string, number>();
  const lines = repeat(listenEveryMs, () => {
    for (const [by, path] of logs) {
      if (!existsSync(path)) continue;
      const text = readFileSync(path, "utf8");
      const from = read.get(by) ?? 0;
      const to = text.lastIndexOf("\n") + 1;
      read.set(by, Math.max(from, to));
      for (const line of text.slice(from, to).split("\n")) {
        const word = wordOf(line);
        if (word !== undefined) hear(by, word);
      }
    }
  });
  const asked = repeat(askEveryMs, async () => {
    const found = await doctor(url).catch(() => undefined); // Not answered: no word.
    for (const { code } of found === undefined ? [] : troubles(found)) hear("doctor", code);
  });
  return {
    struck: () => (struckAt = performance.now()),
    words,
    stop: async () => {
      over.abort();
      await Promise.all([lines, asked]);
    },
  };
}

export const troubles = ({ findings }: DoctorDocument) =>
  findings.filter(({ severity }) => severity !== "fine");

/** Of a tool's own body, which misbehaves at every time, and of clients who speak to what is over. */
const everyday: ReadonlySet<string> = new Set(["tool failed", "TASK_OVER", "SAGA_ENDED", "SAGA_ID_TAKEN"]);

/** A line of pino's, or what a command says with `--json` that does not start. */
interface LogLine {
  readonly error?: { readonly code: string };
  readonly level?: string;
  readonly msg?: string;
  /** What a connection says of its server and streams. */
  readonly detail?: string;
  readonly err?: { readonly code?: string };
}

/** Undefined for what is no warning. A process that cannot start says so in plain text. */
export function wordOf(line: string): string | undefined {
  const code = /\[([A-Z]+(?:_[A-Z]+)+)\]/.exec(line)?.[1];
  if (!line.startsWith("{")) return code;
  try {
    const { error, level, msg, detail, err } = JSON.parse(line) as LogLine;
    if (error !== undefined) return error.code;
    if (!["warn", "error", "fatal"].includes(level ?? "") || everyday.has(msg ?? "")) return undefined;
    const word = code ?? err?.code ?? detail?.split(/[;:.]/)[0] ?? msg ?? "";
    return everyday.has(word) ? undefined : word;
  } catch {
    return undefined; // Half a line of who was killed.
  }
}
