/**
 * Lines of stderr: errors, signs of life and the log.
 */
import { z } from "zod";

/** How a command failed, in one line of stderr. */
export const ErrorDocument = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string(), retriable: z.boolean() }),
});
export type ErrorDocument = z.infer<typeof ErrorDocument>;

/** A sign of life of a command that takes long. */
export const ProgressDocument = z.object({ progress: z.string() });
export type ProgressDocument = z.infer<typeof ProgressDocument>;

/** A line of the log of a host or worker, with --json or without. `msg` is one of a fixed set; the values are fields. */
export const LogDocument = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]),
  time: z.iso.datetime(),
  service: z.string(),
  msg: z.string(),
});
export type LogDocument = z.infer<typeof LogDocument>;
