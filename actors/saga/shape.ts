/** Saga shape: what `defineSaga` takes, as a schema, for authors whose editor does not tell them. */
import { createMachine, type AnyStateMachine } from "xstate";
import { z } from "zod";
import { anObject, aPolicy, aSchema, signalSchemas } from "../contract/given.ts";

const isMachine = (value: unknown): value is AnyStateMachine =>
  typeof value === "object" && value !== null && "implementations" in value && "getInitialSnapshot" in value;

const early = z.enum(["keep", "ignore"]);

/** What `defineSaga` takes. A budget is read where it is understood. */
export const SagaShape = z.object({
  name: z.string(),
  version: z.number(),
  description: z.string().optional(),
  input: aSchema,
  output: aSchema,
  signals: signalSchemas.optional(),
  whenEarly: z
    .union([early, z.record(z.string(), early).refine((of) => Object.keys(of).length > 0)])
    .optional(),
  logs: z.enum(["host", "ledger"]).optional(),
  machine: z.custom<AnyStateMachine>(isMachine, "expected a machine of XState"),
  policies: z.array(aPolicy).optional(),
  budget: anObject.optional(),
  moves: z.enum(["pinned", "auto"]).optional(),
});

/** What stands in for what must be there. */
export const sagaInstead = {
  ...{ name: "unnamed", version: 1, input: z.json(), output: z.json(), signals: {} },
  machine: createMachine({}),
} as never; // Of no saga's own types, and never served.
