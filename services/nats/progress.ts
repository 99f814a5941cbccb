/**
 * Signs of life for work that takes long: a line now and then with the seconds gone by.
 *
 * Owns: the rhythm. Does not own: where a line goes; `report` is the caller's.
 */

/** Takes one line for a person to read. Called often during long work; must not throw. */
export type Report = (line: string) => void;

const intervalMs = 5_000;

/** Does the work and reports `line(seconds)` every five seconds until it ends, well or badly. */
export const withProgress = async <T>(
  report: Report,
  line: (elapsedSeconds: number) => string,
  work: () => Promise<T>,
): Promise<T> => {
  const startedAt = performance.now();
  const timer = setInterval(
    () => report(line(Math.round((performance.now() - startedAt) / 1000))),
    intervalMs,
  );
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
};
