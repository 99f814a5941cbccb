/** How long a server asks to be left alone, as its headers say it. */

/**
 * Milliseconds by `retry-after-ms`, else by `retry-after` in seconds or as a date; else undefined. A date in the
 * past is no wish. `now` is milliseconds since the epoch.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  const ms = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const after = headers?.get("retry-after") ?? "";
  const seconds = Number(after === "" ? Number.NaN : after);
  if (seconds >= 0) return seconds * 1_000;
  const wait = Date.parse(after) - now;
  return wait >= 0 ? wait : undefined;
}
