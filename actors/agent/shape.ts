/** Agent shape: what `defineAgent` takes, as a schema, for authors whose editor does not tell them. */
import { z } from "zod";
import {
  aCallable,
  aFunction,
  anObject,
  aPolicy,
  aSaga,
  aSchema,
  aTool,
  signalSchemas,
} from "../contract/given.ts";

/** A working memory as it is declared. */
const memory = z.object({
  schema: aSchema,
  initial: z.custom((value) => value !== undefined, "expected the memory that it begins with"),
  on: z.record(z.string(), aFunction).optional(),
  signals: z.record(z.string(), aFunction).optional(),
});

/** What `defineAgent` takes. Budget, terms and context policy are read where they are understood. */
export const AgentShape = z.object({
  name: z.string(),
  version: z.number(),
  description: z.string(),
  model: z.string(),
  instructions: z.string(),
  prompt: aFunction.optional(),
  input: aSchema,
  output: aSchema,
  signals: signalSchemas.optional(),
  tools: z.array(aTool),
  agents: z.array(aSaga).optional(),
  sends: z.array(z.looseObject({ name: z.string(), signals: signalSchemas })).optional(),
  handsOffTo: z.array(aSaga).optional(),
  whenFlagged: z.enum(["show", "pause"]).optional(),
  whenCancelled: z.enum(["undo", "ask"]).optional(),
  references: z.boolean().optional(),
  ask: anObject.optional(),
  uses: z.array(aCallable).optional(),
  budget: anObject.optional(),
  outputTokensMax: z.number().optional(),
  policies: z.array(aPolicy).optional(),
  memory: memory.optional(),
  context: anObject.optional(),
  repairsMax: z.number().optional(),
  callsPerReplyMax: z.number().optional(),
  moves: z.enum(["pinned", "auto"]).optional(),
});

/** What stands in for what must be there. */
export const agentInstead = {
  ...{ name: "unnamed", version: 1, description: "", model: "", instructions: "" },
  ...{ input: z.json(), output: z.json(), signals: {}, tools: [] },
} as never; // Of no agent's own types, and never served.
