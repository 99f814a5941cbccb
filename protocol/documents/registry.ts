/**
 * Registry documents: definitions and contracts as hosts register them in REGISTRY.
 */
import { z } from "zod";
import { Amounts } from "../budget.ts";
import { Payload } from "../json.ts";
import { Effect } from "../tool.ts";

/** A definition as hosts register it; the schemas are JSON Schema of what goes in. */
export const DefinitionDocument = z.object({
  /** The name of its kind, and the reserved signals that this kind takes besides those of all. */
  kind: z.string(),
  takes: z.array(z.string()).default([]),
  name: z.string(),
  version: z.int(),
  hash: z.string(),
  /** What the hash is made of: by each part's name its digest. */
  parts: z.record(z.string(), z.string()),
  /** How its sagas move to a newer version. */
  moves: z.enum(["pinned", "auto"]),
  description: z.string(),
  input: Payload,
  output: Payload,
  signals: z.record(z.string(), Payload),
  tools: z.array(z.string()),
  /** Names of the models it asks. */
  models: z.array(z.string()).default([]),
  /** Of each tool the digest of its document, as in that one's key; of each child the hash of its definition. */
  contracts: z.record(z.string(), z.string()).default({}),
  /** Of each tool the contract that it is called under. */
  calls: z.record(z.string(), z.string()).default({}),
  children: z.record(z.string(), z.string()).default({}),
  /** What it declares; absent: nothing is bounded. */
  budget: Amounts.extend({
    wallClockMs: z.number().optional(),
    depthMax: z.int().optional(),
    childrenOpenMax: z.int().optional(),
    childrenInLineMax: z.int().optional(),
    atLimit: z.enum(["end", "ask"]).optional(),
  }).optional(),
});
export type DefinitionDocument = z.infer<typeof DefinitionDocument>;

/** A tool's contract as hosts register it, and what else is declared of it. */
export const ToolDocument = z.looseObject({
  name: z.string(),
  version: z.int().default(1),
  /** The digest of the contract, by which calls name it; documents that differ in words have the same. */
  contract: z.string(),
  effect: Effect,
  placement: z.enum(["host", "worker"]),
});
export type ToolDocument = z.infer<typeof ToolDocument>;
