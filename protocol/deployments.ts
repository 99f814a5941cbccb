/** Deployments: what people declared of which definition new sagas of a name begin with. One document in REGISTRY. */
import { z } from "zod";
import { DefinitionRef } from "./event.ts";

/** The document's key in REGISTRY. */
export const deploymentsKey = "deployments";

/** What was declared of one name. While it stands, no start of the name goes to a definition that it does not hold. */
export const Declaration = z.object({
  /** The definition that new sagas begin with; while no host serves it, their starts wait. */
  current: DefinitionRef,
  /** Another one, which gets a share of the new sagas, over 0 to 1; while no host serves it, it gets none. */
  ramp: z.object({ to: DefinitionRef, share: z.number().positive().max(1) }).optional(),
  /** Who declared it. */
  by: z.string(),
  /** When, milliseconds since the epoch by the clock of who declared it. */
  at: z.number(),
});
export type Declaration = z.infer<typeof Declaration>;

/** A definition as a host serves it. */
export const ServedDefinition = DefinitionRef.extend({
  /** A start by name may choose it. False of one that is only for sagas there are, or for children of one parent. */
  startable: z.boolean(),
});
export type ServedDefinition = z.infer<typeof ServedDefinition>;

/** Whether two name the same definition: the hash covers all of it, the version too. */
export const isSameDefinition = (a: DefinitionRef, b: DefinitionRef): boolean =>
  a.name === b.name && a.hash === b.hash;
