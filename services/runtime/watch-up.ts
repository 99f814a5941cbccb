/**
 * Watch up: `up --watch`. The application is served by a process of its own, which is replaced when one of its files
 * changes: a process that has loaded a file never loads it anew.
 *
 * UW1 The next one is loaded before the one before ends: what cannot be loaded replaces nothing.
 * UW2 The server stays: it is this process's, which loads no application.
 */
import { type ChildProcess, fork } from "node:child_process";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { systemClock } from "./system.ts";
import type { Config } from "./config.ts";
import { type FromGeneration, generationVariable, type ToGeneration } from "./generation.ts";
import { openClientMesh } from "./mesh.ts";
import { aborted } from "./serve.ts";

/** What watching takes. */
export interface WatchOptions {
  readonly config: Config;
  readonly appFile: string;
  /** The words of the command line that a generation is started with. */
  readonly words: readonly string[];
  readonly signal: AbortSignal;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
}

const lookMs = 300;
/** A generation drains for two seconds; one that does not end is ended. */
const endsWithinMs = 15_000;

/** Serves the application as its files are, until the signal. Throws what opening a server throws. */
export async function watchUp(options: WatchOptions): Promise<void> {
  const { config, appFile, signal, report } = options;
  const mesh = await openClientMesh({
    servers: config.servers,
    dataDir: config.serverDir,
    replicas: config.replicas,
    shards: config.shards,
    name: `sagamesh watch ${process.pid}`,
    ...{ report, signal },
  });
  let serving: Process | undefined;
  try {
    const files = new Files(appFile);
    while (!signal.aborted) {
      await files.read();
      serving = await replace(options, serving, files);
      await files.changed(signal);
      if (!signal.aborted) report(`${files.names()} changed`);
    }
  } finally {
    await serving?.end();
    await mesh.close();
  }
}

/** The process that serves from now on: the next one, or the one before where that cannot be loaded (UW1). */
async function replace(
  { appFile, words, signal, report }: WatchOptions,
  before: Process | undefined,
  files: Files,
): Promise<Process | undefined> {
  const next = startGeneration(words);
  const said = await Promise.race([next.said, aborted(signal)]);
  if (said === undefined) {
    await next.end();
    return before;
  }
  files.add(said.files);
  if (said.type === "broken") {
    await next.ended;
    const goesOn = before?.isOver() === false ? "the one before goes on" : "waits for a change";
    report(`${appFile} is not served: ${said.why}; ${goesOn}`);
    return before;
  }
  await before?.end();
  next.tell({ type: "serve" });
  void next.ended.then((how) => {
    if (!next.isAsked())
      report(`${appFile} is served no more: its process ended (${how}); waits for a change`);
  });
  return next;
}

/** A process that serves, or is about to. */
interface Process {
  /** The first that it says; of one that ends before, why it is broken. */
  readonly said: Promise<FromGeneration>;
  readonly ended: Promise<string>;
  isOver(): boolean;
  /** Whether it was asked to end. */
  isAsked(): boolean;
  tell(message: ToGeneration): void;
  end(): Promise<void>;
}

function startGeneration(words: readonly string[]): Process {
  // In a group of its own: Ctrl-C in a terminal is for this process, which then ends it.
  const child: ChildProcess = fork(process.argv[1] ?? "", words, {
    env: { ...process.env, [generationVariable]: "1" },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    detached: true,
  });
  let over = false;
  let asked = false;
  const ended = new Promise<string>((resolveEnded) => {
    const end = (how: string) => {
      over = true;
      resolveEnded(how);
    };
    child.once("exit", (code, signal) => end(String(signal ?? code)));
    child.once("error", (error) => end(error.message));
  });
  const said = new Promise<FromGeneration>((resolveSaid) => {
    child.once("message", (message) => resolveSaid(message as FromGeneration)); // Proof: it is generation.ts of this package.
    void ended.then((how) => resolveSaid({ type: "broken", why: `its process ended (${how})`, files: [] }));
  });
  const tell = (message: ToGeneration) => {
    if (child.connected) child.send(message, () => undefined); // What does not get through is followed by its end.
  };
  return {
    ...{ said, ended, tell },
    isOver: () => over,
    isAsked: () => asked,
    end: async () => {
      asked = true;
      tell({ type: "end" });
      const late = setTimeout(() => child.kill("SIGKILL"), endsWithinMs);
      await ended;
      clearTimeout(late);
    },
  };
}

/** The files that an application is made of, as they were when it was loaded. */
class Files {
  #seen = new Map<string, string>();
  #changed: string[] = [];

  constructor(file: string) {
    this.#seen.set(resolve(file), "");
  }

  /** As they are now. */
  async read(): Promise<void> {
    for (const file of this.#seen.keys()) this.#seen.set(file, await stateOf(file));
  }

  add(files: readonly string[]): void {
    for (const file of files) if (!this.#seen.has(file)) this.#seen.set(file, "");
  }

  names(): string {
    return this.#changed.join(", ");
  }

  /** Resolves once one has changed and all have rested for a moment; or at the signal. */
  async changed(signal: AbortSignal): Promise<void> {
    for (const [file, state] of this.#seen) if (state === "") this.#seen.set(file, await stateOf(file));
    let last = "";
    for (;;) {
      await systemClock.sleep(lookMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const states = await Promise.all([...this.#seen.keys()].map(stateOf));
      this.#changed = [...this.#seen].flatMap(([file, state], k) => (state === states[k] ? [] : [file]));
      const now = states.join();
      if (this.#changed.length > 0 && now === last) return;
      last = now;
    }
  }
}

/** Another after each write. A file that is gone has one, too: an editor may write it anew. */
const stateOf = (file: string): Promise<string> =>
  stat(file).then(
    ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
    () => "gone",
  );
