/** Words: numbers and times as people read them. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** How long something took, in at most two units. */
export function lasted(ms: number): string {
  if (ms < 0.5) return "0 ms";
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.round(ms / second)} s`;
  if (ms < hour) return inTwo(ms, minute, "m", second, "s");
  if (ms < day) return inTwo(ms, hour, "h", minute, "m");
  return inTwo(ms, day, "d", hour, "h");
}

function inTwo(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

/** How long ago, coarse enough not to flicker; `at` may be a little ahead of this machine's clock. */
export function ago(at: number, now: number): string {
  const ms = now - at;
  if (ms < 5 * second) return "now";
  if (ms < minute) return `${Math.floor(ms / second)} s ago`;
  if (ms < hour) return `${Math.floor(ms / minute)} m ago`;
  if (ms < day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

/** How long there is until then; "over" once it is past. */
export const left = (until: number, now: number): string =>
  until <= now ? "over" : `in ${lasted(until - now)}`;

/** A moment in this browser's time zone, to the second. */
export function moment(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const days = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${days} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Dollars: cents where there are any, and as many digits as say something. */
export function money(usd: number): string {
  if (usd === 0) return "$0";
  return usd >= 1 ? `$${usd.toFixed(2)}` : `$${Number(usd.toPrecision(2))}`;
}

/** Bytes, in the largest unit that leaves a whole one. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let [rest, k] = [value, 0];
  for (; rest >= 1_000 && k < units.length - 1; k++) rest /= 1_000;
  return `${k === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[k]}`;
}

/** A count with its thousands apart. */
export const count = (value: number): string => value.toLocaleString("en-US");

/** A count and its thing, in the plural where there is not one. */
export const many = (value: number, one: string, more = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : more}`;

/** A word of the ledger as a person says it. */
export const said = (word: string): string => word.replaceAll("_", " ");
