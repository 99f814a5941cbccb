/**
 * Tool config: what `defineTool` and `implement` take, as schemas, for authors whose editor does not tell them.
 */
import { z } from "zod";
import { Effect, Retry } from "../../protocol/tool.ts";
import { aCallable, aFunction, anObject, aPolicy, aSchema, aTool } from "./given.ts";

/** The members of a body. */
const body = {
  perform: aFunction,
  probe: aFunction.optional(),
  accepts: z.array(z.object({ contract: aTool, input: aFunction })).optional(),
};

/** What `defineTool` takes. */
export const ToolShape = z.object({
  name: z.string(),
  version: z.number().optional(),
  description: z.string(),
  effect: Effect,
  input: aSchema,
  output: aSchema,
  placement: z.enum(["worker", "host"]).optional(),
  timeoutMs: z.number().optional(),
  retry: Retry.optional(),
  onDoubt: z
    .union([z.enum(["ask", "model", "compensate"]), z.strictObject({ ask: z.looseObject({}) })], {
      error: 'expected "ask", "model", "compensate" or { ask: terms }',
    })
    .optional(), // The terms have a check of their own (terms.ts).
  concurrencyMax: z.number().optional(),
  perSecondMax: z.number().optional(),
  approval: z
    .union([aFunction, anObject], "expected an object with by, withinMs and otherwise, or a function")
    .optional(),
  uses: z.array(aCallable).optional(),
  policies: z.array(aPolicy).optional(),
  normalize: aFunction.optional(),
  compensation: z
    .union(
      [z.literal("point_of_no_return"), z.object({ tool: aTool, input: aFunction })],
      'expected "point_of_no_return" or { tool, input }',
    )
    .optional(),
  ...body,
  perform: aFunction.optional(),
});

/** What stands in for what must be there. */
export const toolInstead = {
  ...{ name: "unnamed", description: "", effect: "read" },
  ...{ input: z.json(), output: z.json() },
} as never; // Of no tool's own types, and never served.

/** The second of what `implement` takes. */
export const BodyShape = z.object(body);

/** What stands in for a body. It is never called: an application with faults is not served. */
export const bodyInstead = { perform: () => undefined } as never;
