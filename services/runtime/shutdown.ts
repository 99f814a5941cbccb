/**
 * Shutdown: SIGINT and SIGTERM as one abort signal.
 *
 * SW1 The first signal asks for an end and starts the grace; the second, or the grace's end, exits at once and says so.
 */

/** What is still to be done gets this long: in-flight effects settle, the rest is given back. */
export const graceMs = 10_000;
/** On top of the grace, for closing what stands behind: connection, embedded server. */
const closingMs = 10_000;

export interface Shutdown {
  readonly signal: AbortSignal;
  /** The exit code a shell expects after a signal, or undefined if none came. */
  exitCode(): number | undefined;
  /** Asks for an end without a deadline, for example because the reader of the output has gone. */
  request(reason: string): void;
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Listens for the rest of the process's life. `say` takes what a person reads about an exit that waits for nothing. */
export function listenForShutdown(say: (line: string) => void): Shutdown {
  const controller = new AbortController();
  let code: number | undefined;
  const request = (reason: string) => {
    if (!controller.signal.aborted) controller.abort(new Error(reason));
  };
  const exitNow = (name: keyof typeof exitCodes, why: string): never => {
    say(`${why}: exits at once; what was under way goes on elsewhere, by the class of each effect`);
    process.exit(exitCodes[name]);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      if (code !== undefined) return exitNow(name, `${name} again`); // SW1
      code = exitCodes[name];
      const wholeMs = graceMs + closingMs;
      setTimeout(() => exitNow(name, `not ended ${wholeMs / 1_000} s after ${name}`), wholeMs).unref(); // SW1
      request(name);
    });
  return { signal: controller.signal, exitCode: () => code, request };
}
