/**
 * What `mcp pin` and `mcp check` print with --json.
 */
import { z } from "zod";
import { Effect } from "../tool.ts";

/** `mcp pin` and `mcp check`: the server's tools, and how each is beside what the file said before. */
export const PinDocument = z.object({
  file: z.string(),
  name: z.string(),
  /** What the server says of itself. */
  server: z.object({ name: z.string(), version: z.string(), protocol: z.string() }),
  /** The file agrees with the server now. */
  ok: z.boolean(),
  written: z.boolean(),
  tools: z.array(
    z.object({
      tool: z.string(),
      effect: Effect,
      change: z.enum(["new", "changed", "gone", "same"]),
      what: z.string().optional(),
      hints: z.record(z.string(), z.boolean()),
    }),
  ),
});
export type PinDocument = z.infer<typeof PinDocument>;
