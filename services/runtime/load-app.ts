/**
 * Load app: an application file to an App. TypeScript or JavaScript, its default export made by `defineApp`.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { App } from "../app/app.ts";
import { loadRemedy } from "../app/load-remedy.ts";

/** Loads an application file. Throws APP_INVALID, saying what is missing or what the file itself threw. */
export async function loadApp(file: string): Promise<App> {
  const path = resolve(file);
  if (!existsSync(path))
    throw new MeshError("APP_INVALID", `there is no file ${path}`, {
      remedy: "Name an existing file with --app.",
    });
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    throw new MeshError(
      "APP_INVALID",
      `${file} could not be loaded: ${describeError(error)}${placeOf(error)}`,
      { cause: error, remedy: loadRemedy(path, error) },
    );
  }
  const app = module.default;
  if (typeof app !== "object" || app === null || (app as { type?: unknown }).type !== "sagamesh.app")
    throw new MeshError("APP_INVALID", `${file} has no default export made by defineApp`, {
      remedy: "End the file with `export default defineApp({ sagas: [...], implementations: [...] })`.",
    });
  return app as App; // Proof: only defineApp writes this `type`.
}

/**
 * Where in which file it went wrong: Node puts it above the stack of what it cannot read, and else it is the first frame.
 * Empty where none tells.
 */
function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [, above] = /^((?:file:|\/|[A-Z]:).*:\d+)\n/.exec(stack) ?? [];
  const [, frame] = /^ {4}at (?:.*\()?((?:file:|\/|[A-Z]:)[^()]*:\d+):\d+\)?$/m.exec(stack) ?? [];
  const place = above ?? frame;
  return place === undefined ? "" : ` (${place.startsWith("file:") ? place.slice("file://".length) : place})`;
}
