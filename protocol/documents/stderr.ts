/**
 * Lines of stderr: errors, signs of life and the log.
 */
import { z } from "zod";

/** One line of stderr: an error, a sign of life, or a line of the log. */
export const ErrorDocument = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string(), retriable: z.boolean() }),
});
export type ErrorDocument = z.infer<typeof ErrorDocument>;

export const ProgressDocument = z.object({ progress: z.string() });
export type ProgressDocument = z.infer<typeof ProgressDocument>;

/** What hosts and workers log, with --json or without. `msg` is one of a fixed set; the values are fields. */
export const LogDocument = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]),
  time: z.iso.datetime(),
  service: z.string(),
  msg: z.string(),
});
export type LogDocument = z.infer<typeof LogDocument>;
