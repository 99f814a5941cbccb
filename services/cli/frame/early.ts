/**
 * Early: the option of the commands that may speak to a saga before it is started.
 */

/** Without it an id that was never started is refused at once. */
export const earlyOption = {
  type: "boolean",
  help: "also for an id that was not started yet: what is sent is kept for an hour, then it is a dead letter",
} as const;
