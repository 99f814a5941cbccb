/**
 * Value: the one check of a value that comes in, and the one way to make a value of what a program gave.
 *
 * VX1 What passes can be written inside a turn or a message and be read again by every reader: it nests far less deep
 *     than the codec reads, and no encoding of it says anything else. One limit for every door.
 * VX2 The walk keeps a list instead of the stack: a value of 100,000 levels is refused, and kills nothing.
 * VX3 What one encoding would change is refused where it would be lost (NaN, Infinity, `__proto__`, a key with half a
 *     character), and changed here, before anybody has seen it, where every encoder changes it the same way: -0 is 0, and
 *     half a character of a text is U+FFFD. A text that was cut in the middle of an emoji is too common to lose an effect by.
 */
import { MeshError } from "./errors.ts";
import type { Json } from "./json.ts";
import { limits } from "./limits.ts";

/** What is wrong with a value, and where: `/output/rows/3`, "" for the value itself. */
export interface ValueFault {
  readonly path: string;
  readonly what: string;
}

/** How a value is bounded: `depthMax` containers in one another, `membersMax` items and members in all. */
export interface ValueLimits {
  readonly depthMax: number;
  readonly membersMax: number;
  readonly keyBytesMax: number;
}

/** The bounds at every door. */
export const valueLimits: ValueLimits = {
  depthMax: limits.valueDepthMax,
  membersMax: limits.valueMembersMax,
  keyBytesMax: limits.keyBytesMax,
};

/** The same for a model's whole reply: it lies around the inputs of its calls, and a provider's blocks around theirs. */
export const replyLimits: ValueLimits = { ...valueLimits, depthMax: valueLimits.depthMax + 4 };

/** For what a saga's own code made of values that came in: only what cannot be read again at all. */
export const ownLimits: ValueLimits = {
  depthMax: limits.ownNestingMax,
  membersMax: Number.POSITIVE_INFINITY,
  keyBytesMax: Number.POSITIVE_INFINITY,
};

/** A container on the way, and how it was come to: paths are made only where something is wrong. */
interface Place {
  readonly from: unknown;
  readonly to: Json[] | { [key: string]: Json };
  readonly depth: number;
  readonly above: Place | undefined;
  readonly key: string;
}

class Refused extends Error {
  readonly fault: ValueFault;
  constructor(above: Place | undefined, key: string, what: string) {
    super(what);
    const keys = above === undefined ? [] : [key];
    for (let place = above; place?.above !== undefined; place = place.above) keys.unshift(place.key);
    // A path as deep as the value would hide the rest of the message.
    const shown = keys.length > pathKeysMax ? [...keys.slice(0, pathKeysMax), "…"] : keys;
    this.fault = { path: shown.map((one) => `/${one.slice(0, 40)}`).join(""), what };
  }
}
const pathKeysMax = 8;

/**
 * A value as JSON that passes the check (VX1), made of whatever a program gave: `toJSON` is asked, undefined members go,
 * as `JSON.stringify` has it. Throws VALUE_REFUSED with the path, the limit and what was found; and what a getter or a
 * `toJSON` throws.
 */
export function toValue(given: unknown, bounds: ValueLimits = valueLimits): Json {
  try {
    return converted(given, bounds);
  } catch (error) {
    if (error instanceof Refused) throw refusedValue(error.fault);
    throw error;
  }
}

/** Throws VALUE_REFUSED for JSON that does not pass the check; `what` names it in the message. */
export function assertValue(value: Json, what: string, bounds: ValueLimits = valueLimits): void {
  const fault = faultOfValue(value, bounds);
  if (fault !== undefined) throw refusedValue(fault, what);
}

/** What is wrong with a value that is JSON already; undefined if nothing. */
export function faultOfValue(value: Json, bounds: ValueLimits = valueLimits): ValueFault | undefined {
  try {
    converted(value, bounds);
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.fault;
    throw error;
  }
}

/** The fault in words, as it is told to a model, a person or a program. */
export const describeFault = ({ path, what }: ValueFault): string =>
  `${path === "" ? "the value" : path} ${what}`;

const refusedValue = (fault: ValueFault, of?: string): MeshError =>
  new MeshError("VALUE_REFUSED", `${of === undefined ? "" : `${of}: `}${describeFault(fault)}`);

function converted(given: unknown, bounds: ValueLimits): Json {
  const open: Place[] = [];
  let members = 0;
  const enter = (value: unknown, key: string, above: Place | undefined): Json | undefined => {
    const plain = typeof value === "object" || typeof value === "bigint" ? unwrapped(value, key) : value;
    if (typeof plain !== "object" || plain === null) return scalarOf(plain, key, above);
    const depth = (above?.depth ?? 0) + 1;
    if (depth > bounds.depthMax)
      throw new Refused(above, key, `nests deeper than ${bounds.depthMax} levels, or holds itself`);
    const to: Place["to"] = Array.isArray(plain) ? [] : {};
    open.push({ from: plain, to, depth, above, key });
    return to;
  };
  const counted = (place: Place, more: number) => {
    members += more;
    if (members > bounds.membersMax)
      throw new Refused(place.above, place.key, `has more than ${bounds.membersMax} items and members`);
  };
  const root = enter(given, "", undefined) ?? null;
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { from, to } = place;
    if (Array.isArray(from) && Array.isArray(to)) {
      counted(place, from.length);
      for (let k = 0; k < from.length; k++) to.push(enter(from[k], String(k), place) ?? null);
    } else if (!Array.isArray(to)) {
      const keys = Object.keys(from as object);
      counted(place, keys.length);
      for (const key of keys) {
        const made = enter((from as Record<string, unknown>)[key], key, place);
        if (made === undefined) continue;
        assertKey(place, key, made, bounds);
        to[key] = made;
      }
    }
  }
  return root;
}

/** A value's own word for itself, and the primitive in a box. */
function unwrapped(value: unknown, key: string): unknown {
  const says = (value as { toJSON?: unknown } | null)?.toJSON;
  const said = typeof says === "function" ? (says as (key: string) => unknown).call(value, key) : value;
  return said instanceof Number ||
    said instanceof String ||
    said instanceof Boolean ||
    (said as object) instanceof BigInt
    ? (said as { valueOf(): unknown }).valueOf()
    : said;
}

/** Undefined for what has no place in JSON: a member that is left out, an item that is null. */
function scalarOf(value: unknown, key: string, above: Place | undefined): Json | undefined {
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "number":
      if (!Number.isFinite(value)) throw new Refused(above, key, `is ${value}, a number that JSON has not`);
      return value === 0 ? 0 : value;
    case "bigint":
      throw new Refused(above, key, "is a BigInt, a number that JSON has not");
    case "boolean":
      return value;
    default:
      return value === null ? null : undefined;
  }
}

function assertKey(place: Place, key: string, member: Json, { keyBytesMax }: ValueLimits): void {
  const refuse = (what: string): never => {
    throw new Refused(place.above, place.key, what);
  };
  if (key === "__proto__") refuse('has a member "__proto__", which does not survive MessagePack');
  if (key === "$blob" && typeof member === "string") refuse('holds the reserved key "$blob"');
  if (key.length * 3 > keyBytesMax && Buffer.byteLength(key) > keyBytesMax)
    refuse(`has a member whose name is longer than ${keyBytesMax} bytes`);
  if (!key.isWellFormed()) refuse("has a member whose name holds half a character (a lone surrogate)");
}
