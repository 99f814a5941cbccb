/**
 * Listing: what a server says that its tools are, and whether that is still what was agreed to.
 *
 * ML1 A tool's digest is of all that a model or a person decides by: name, texts, schemas, hints.
 */
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import type { Json } from "../../protocol/json.ts";

const Schema = z.record(z.string(), z.json());

/** What the server says of a tool, and cannot be checked. */
export const Hints = z.object({
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});
export type Hints = z.infer<typeof Hints>;

export const ListedTool = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: Schema,
  outputSchema: Schema.optional(),
  annotations: Hints.optional(),
});
export type ListedTool = z.infer<typeof ListedTool>;

/** As the protocol lists it. `required`: it can only be called as a task, which is another conversation. */
const RawTool = ListedTool.extend({
  execution: z.object({ taskSupport: z.string().optional() }).optional(),
});

export interface Listing {
  readonly server: { readonly name: string; readonly version: string; readonly protocol: string };
  readonly tools: readonly ListedTool[];
  /** Tools that cannot be called, each with the reason. */
  readonly leftOut: readonly string[];
}

/** Reads the tools of a server. A tool that does not follow the protocol is left out, not an error of the others. */
export function readListing(server: Listing["server"], tools: readonly Json[]): Listing {
  const read: ListedTool[] = [];
  const leftOut: string[] = [];
  for (const tool of tools) {
    const parsed = RawTool.safeParse(tool);
    if (!parsed.success) {
      leftOut.push(`${nameOf(tool)} does not follow the protocol: ${z.prettifyError(parsed.error)}`);
      continue;
    }
    const { execution, ...listed } = parsed.data;
    if (execution?.taskSupport === "required")
      leftOut.push(`${listed.name} can only be called as a task of MCP`);
    else read.push(listed);
  }
  return { server, tools: read.sort((a, b) => (a.name < b.name ? -1 : 1)), leftOut };
}

const nameOf = (tool: Json): string => {
  const name = typeof tool === "object" && tool !== null && "name" in tool ? tool["name"] : undefined;
  return typeof name === "string" ? name : "a tool without a name";
};

/** ML1 */
export const digestOfTool = (tool: ListedTool): string => digestOf(tool).slice(0, 16);

/** What of a tool is not as it was, in words; undefined if it is the same. `now` is undefined if it is gone. */
export function changeOf(before: ListedTool, now: ListedTool | undefined): string | undefined {
  if (now === undefined) return "it is gone";
  if (digestOfTool(before) === digestOfTool(now)) return undefined;
  const parts = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;
  const changed = parts.filter((part) => digestOf(before[part] ?? null) !== digestOf(now[part] ?? null));
  return `its ${changed.join(", ")} changed`;
}
