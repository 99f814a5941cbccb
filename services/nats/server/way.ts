/**
 * The seam between looking for a nats-server and one way to get it. Types only.
 *
 * WA1 A way writes nowhere but in its work folder (a tool's own download cache apart), installs nothing, and
 *     asks for no rights.
 * WA2 A way that cannot be used here says so in seconds: connecting has a limit of its own.
 */
import type { Report } from "../progress.ts";
import type { Environment } from "./user-folders.ts";

export interface ServerWay {
  /** For people: in progress lines, in the error, in `from`. */
  readonly name: string;
  /** Path of the binary, inside `workDir`. Throws with a reason; a MeshError's remedy is shown too. */
  get(context: WayContext): Promise<string>;
}

export interface WayContext {
  /** Empty, this call's own, removed afterwards. */
  readonly workDir: string;
  readonly report: Report;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}
