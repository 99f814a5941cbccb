/**
 * Process documents: what a process of sagamesh says of itself.
 */
import { z } from "zod";

/** `--version`. */
export const VersionDocument = z.object({ version: z.string() });

/** `up`, `host`, `worker`, `gateway`: printed once, when the process serves. */
export const ServingDocument = z.object({
  role: z.enum(["up", "host", "worker", "gateway"]),
  url: z.string(),
  serverVersion: z.string(),
  dataDir: z.string().optional(),
  definitions: z.array(z.object({ name: z.string(), version: z.int() })),
  tools: z.array(z.string()),
  pid: z.int(),
  /** Where /healthz, /readyz and /metrics are, if anywhere. */
  health: z.string().optional(),
  /** Where the outside reaches the gateway, if this process has one; `listens` is its own address. */
  gateway: z.string().optional(),
  listens: z.string().optional(),
});
export type ServingDocument = z.infer<typeof ServingDocument>;
