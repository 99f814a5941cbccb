/**
 * Door: the way to the outside world, as the bodies of the tools use it. A real body would call a vendor's SDK here.
 */
import type { Asked } from "../simulation/world.ts";

export const worldVariable = "CHAOS_WORLD";
export const nameVariable = "CHAOS_NAME";
/** The folder that a process writes its history and its beats to. */
export const historyVariable = "CHAOS_HISTORY";

/** What is asked at the door. `later`: a deferred call, answered by its callback. */
export type Request =
  | { readonly type: "act"; readonly asked: Asked }
  | { readonly type: "later"; readonly asked: Asked; readonly callbackUrl: string }
  | { readonly type: "found"; readonly key: string };

const base = process.env[worldVariable] ?? "";

/** Asks, and gives what the outside answers; undefined where it answers nothing. Throws if it cannot be reached. */
export async function askWorld(request: Request, abort?: AbortSignal): Promise<{ id: string } | undefined> {
  const response = await fetch(base, {
    method: "POST",
    body: JSON.stringify(request),
    ...(abort === undefined ? {} : { signal: abort }),
  });
  if (!response.ok) throw new Error(`the outside world answered ${response.status}`);
  const { output } = (await response.json()) as { output?: { id: string } };
  return output;
}
