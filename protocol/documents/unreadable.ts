/**
 * Unreadable document: the sagas that a command which reads many could not read, and why. The others it has told of.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";

/** A saga that cannot be read: as what, and why. Absent or empty wherever it stands: there is none. */
export const UnreadableSaga = z.object({ saga: SagaId, code: z.string(), reason: z.string() });
export type UnreadableSaga = z.infer<typeof UnreadableSaga>;

/** The last line of a command that prints a line for each saga or task, where some could not be read. Exit code 1. */
export const UnreadableDocument = z.object({ unreadable: z.array(UnreadableSaga).min(1) });
export type UnreadableDocument = z.infer<typeof UnreadableDocument>;
