/**
 * Generation: a process that `up --watch` started to serve the application as its files are now, and what the two say to
 * each other.
 *
 * GQ1 It serves nothing before it is told to; by then the one before has ended.
 * GQ2 It ends when the process that started it does, however that one ends.
 */
import { registerHooks } from "node:module";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "../../protocol/errors.ts";

/** What a generation says: that it cannot be served, or that it is about to; with the files that it is made of. */
export type FromGeneration =
  | { readonly type: "broken"; readonly why: string; readonly files: readonly string[] }
  | { readonly type: "loaded"; readonly files: readonly string[] };

/** What a generation is told. */
export interface ToGeneration {
  readonly type: "serve" | "end";
}

/** Set for a process that is one. */
export const generationVariable = "SAGAMESH_GENERATION";

/** This process as a generation. */
export interface Generation {
  /** Aborted when it is to end. */
  readonly signal: AbortSignal;
  /**
   * Loads, says so, and resolves when it is to serve. Undefined where it cannot be loaded, which was said, or where it is
   * to end.
   */
  load<T>(file: string, load: () => Promise<T>): Promise<T | undefined>;
}

/** Undefined in a process that a person started. */
export function asGeneration(): Generation | undefined {
  if (process.env[generationVariable] === undefined || process.send === undefined) return undefined;
  delete process.env[generationVariable]; // What it starts is none.
  const over = new AbortController();
  const told = Promise.withResolvers<"serve" | "end">();
  const end = () => {
    told.resolve("end");
    over.abort(new Error("the generation is over"));
  };
  process.on("message", ({ type }: ToGeneration) => (type === "end" ? end() : told.resolve(type)));
  process.on("disconnect", end); // GQ2
  const say = (message: FromGeneration) =>
    new Promise<void>((resolveSaid) => void process.send?.(message, () => resolveSaid()));
  return {
    signal: over.signal,
    load: async (file, load) => {
      const files = filesBeside(file);
      try {
        const loaded = await load();
        await say({ type: "loaded", files: files() });
        return (await told.promise) === "serve" ? loaded : undefined; // GQ1
      } catch (error) {
        await say({ type: "broken", why: inOneLine(error), files: files() });
        return undefined;
      }
    },
  };
}

const inOneLine = (error: unknown): string => describeError(error).replaceAll(/\s*\n\s*/g, " ");

/** The application's file, and what it imports from its folder, as it is loaded from now on. */
function filesBeside(file: string): () => string[] {
  const folder = dirname(resolve(file));
  const files = new Set([resolve(file)]);
  registerHooks({
    load: (url, context, next) => {
      if (url.startsWith("file:")) {
        const path = fileURLToPath(url);
        const parts = relative(folder, path).split(sep);
        if (parts[0] !== ".." && !parts.includes("node_modules")) files.add(path);
      }
      return next(url, context);
    },
  });
  return () => [...files];
}
