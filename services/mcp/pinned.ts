/**
 * Pinned: a server and its tools in a file that a person reads and commits. `sagamesh mcp pin` writes it.
 *
 * PN1 The file is what was agreed to. Its effect classes are decisions of the person who committed it, so pinning
 *     again keeps them, but for a tool whose hints have changed.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { Effect } from "../../protocol/tool.ts";
import { effectOf } from "./effects.ts";
import { changeOf, ListedTool, type Listing } from "./listing.ts";
import { ServerConfig, ServerName } from "./server.ts";

const PinnedTool = ListedTool.omit({ name: true }).extend({ effect: Effect });

const PinnedFile = z.object({
  v: z.literal(1),
  name: ServerName,
  server: ServerConfig,
  /** What the server said of itself; for people. */
  listed: z.object({ name: z.string(), version: z.string(), protocol: z.string() }),
  tools: z.record(z.string(), PinnedTool),
});
export type PinnedFile = z.infer<typeof PinnedFile>;

const remedy = "Write it with `sagamesh mcp pin FILE`.";

/** Throws APP_INVALID. */
export function readPinned(path: string | URL): PinnedFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new MeshError("APP_INVALID", `there is no pinned MCP server: ${describeError(error)}`, { remedy });
  }
  try {
    return PinnedFile.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : describeError(error);
    throw new MeshError("APP_INVALID", `${String(path)} is no pinned MCP server: ${why}`, { remedy });
  }
}

/** How a tool is beside what the file said before. */
export interface PinnedChange {
  readonly tool: string;
  readonly change: "new" | "changed" | "gone" | "same";
  /** What of it changed. */
  readonly what?: string;
  readonly effect: Effect;
}

/** PN1. The file as it would be now, and how that differs. */
export function pin(
  name: string,
  server: ServerConfig,
  listing: Listing,
  before: PinnedFile | undefined,
): { file: PinnedFile; changes: PinnedChange[] } {
  const changes: PinnedChange[] = [];
  const tools: [string, PinnedFile["tools"][string]][] = [];
  for (const { name: own, ...tool } of listing.tools) {
    const old = before?.tools[own];
    const { effect: kept, ...agreed } = old ?? {};
    const areHintsSame = digestOf(old?.annotations ?? {}) === digestOf(tool.annotations ?? {});
    const effect = kept !== undefined && areHintsSame ? kept : effectOf(tool.annotations, "map");
    tools.push([own, { effect, ...tool }]);
    if (old === undefined) changes.push({ tool: own, change: "new", effect });
    else {
      const what = changeOf({ name: own, ...(agreed as Omit<ListedTool, "name">) }, { name: own, ...tool });
      changes.push(
        what === undefined
          ? { tool: own, change: "same", effect }
          : { tool: own, change: "changed", what, effect },
      );
    }
  }
  for (const [own, { effect }] of Object.entries(before?.tools ?? {}))
    if (!listing.tools.some((tool) => tool.name === own)) changes.push({ tool: own, change: "gone", effect });
  return {
    file: { v: 1, name, server, listed: listing.server, tools: Object.fromEntries(tools) },
    changes,
  };
}
