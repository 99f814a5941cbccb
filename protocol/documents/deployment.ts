/**
 * Deployment documents: which definitions there are, who serves them, what is declared of them and what lives under them.
 */
import { z } from "zod";
import { Declaration } from "../deployments.ts";
import { DefinitionRef } from "../event.ts";
import { SagaId } from "../ids.ts";
import { Stay } from "../stay.ts";
import { UnreadableSaga } from "./unreadable.ts";

/** `deployments`: one definition that is served, declared, or has living sagas. */
export const DeploymentDocument = DefinitionRef.extend({
  /** The living hosts that serve it, the one that joined first first. `since` by each host's own clock. */
  hosts: z.array(z.object({ host: z.string(), since: z.number(), draining: z.boolean() })),
  /** What new sagas of its name get of it now: all that name no version, a ramp's share over 0 to 1, or none. */
  starts: z.union([z.literal("all"), z.number(), z.literal("none")]),
  /** It was promoted: starts wait for it rather than go to another. */
  current: z.boolean(),
  /** The share of the starts that was declared to go to it. */
  ramp: z.number().optional(),
  /** Living sagas: with a model or a tool under way, without, and those that no host can take. */
  sagas: z.object({ running: z.int(), sleeping: z.int(), waiting: z.int() }),
  /** How its sagas move to what starts go to; absent where the registry does not know it. */
  moves: z.enum(["pinned", "auto"]).optional(),
  /** Of sagas that move by themselves: those that a host found could not, and why. Absent: none. */
  stays: z.array(Stay.extend({ saga: SagaId })).optional(),
});
export type DeploymentDocument = z.infer<typeof DeploymentDocument>;

/** `deployments promote`, `deployments ramp`: what is declared of a name now. Without a declaration the newest is taken. */
export const DeclaredDocument = z.object({
  name: z.string(),
  declared: Declaration.optional(),
  /** How many living hosts go by it: all. */
  hosts: z.int(),
  /** Of what is declared, what no host serves now. */
  unserved: z.array(DefinitionRef),
});
export type DeclaredDocument = z.infer<typeof DeclaredDocument>;

/** `deployments drain`: what still needs a definition; nothing does where all three are empty. */
export const DrainDocument = z.object({
  definition: DefinitionRef,
  needed: z.boolean(),
  /** Living sagas that go on under it. */
  sagas: z.array(SagaId),
  /** New sagas of its name go to it: all that name no version, or a share of them, by a ramp. */
  starts: z.enum(["all", "share", "none"]),
  /** Definitions with living sagas or new ones that may start it as a child. */
  parents: z.array(DefinitionRef),
  /** Sagas that cannot be read, of whatever definition: they are not counted. */
  unreadable: z.array(UnreadableSaga).optional(),
});
export type DrainDocument = z.infer<typeof DrainDocument>;
