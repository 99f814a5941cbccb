/**
 * Process documents: what a process of sagamesh says of itself.
 */
import { z } from "zod";

/** `--version`. */
export const VersionDocument = z.object({ version: z.string() });

/** `new`: the folder that was made. */
export const CreatedDocument = z.object({
  name: z.string(),
  folder: z.string(),
  /** Their paths in the folder. */
  files: z.array(z.string()),
  /** Commands for a shell in the folder it was made from, in their order. */
  next: z.array(z.string()),
});
export type CreatedDocument = z.infer<typeof CreatedDocument>;

/** `up`, `host`, `worker`, `gateway`, `console`: printed once, when the process serves. */
export const ServingDocument = z.object({
  role: z.enum(["up", "host", "worker", "gateway", "console"]),
  url: z.string(),
  serverVersion: z.string(),
  dataDir: z.string().optional(),
  definitions: z.array(z.object({ name: z.string(), version: z.int() })),
  tools: z.array(z.string()),
  /** Of `up`: tools whose body its application lacks, so that calls of them wait for another worker. */
  bodiless: z.array(z.string()).optional(),
  /** Of `up` and `host`, where there are any: what is likely a slip in the application, and harms nothing. */
  notes: z.array(z.string()).optional(),
  pid: z.int(),
  /** Where /healthz, /readyz and /metrics are, if anywhere. */
  health: z.string().optional(),
  /** Where the outside reaches the gateway, if this process has one; `listens` is its own address. */
  gateway: z.string().optional(),
  listens: z.string().optional(),
  /** Where the console is to be looked at, if this process has one. */
  console: z.string().optional(),
});
export type ServingDocument = z.infer<typeof ServingDocument>;
