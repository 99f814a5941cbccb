/**
 * Twice: where an application is developed, each turn is decided a second time before it is appended, as another host
 * would decide it later: at another time, with other chance.
 *
 * TZ1 A turn that is decided otherwise the second time is not appended: no ledger holds what cannot be folded again.
 * TZ2 While it is decided again the process's clock and chance say something else, and who asked them is known. Both are
 *     as they were when this returns or throws.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { type DecidedTurn, decideTurn } from "../../actors/kernel/fold.ts";
import { briefDefinition } from "../../protocol/definition-text.ts";
import { MeshError } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { toldOf } from "./pure-step.ts";

/** Decides a turn, and where `foldsTwice` a second time. Throws MACHINE_IMPURE, and as `decideTurn`. */
export function decideHere(
  { foldsTwice = false }: { readonly foldsTwice?: boolean | undefined },
  ...given: Parameters<typeof decideTurn>
): DecidedTurn {
  const decided = decideTurn(...given);
  if (!foldsTwice) return decided;
  const [definition, , { saga, events }] = given;
  const { value: again, asked } = elsewhere(() => decideTurn(...given));
  const found = firstOther(toldBy(definition, decided), toldBy(definition, again), "");
  if (found === undefined) return decided;
  const { at, once, twice } = found;
  const who = asked.length === 0 ? "" : `; ${asked.join(", ")} did it, or read what lies outside`;
  throw new MeshError(
    "MACHINE_IMPURE",
    `${saga} (${briefDefinition(definition)}), on ${toldOf(events)}: ${at} is ${excerpt(once)} at first and ${excerpt(twice)} when decided again${who}`,
  );
}

/** What a turn comes to, as other hosts will have it: the state at rest, and what was decided. */
function toldBy({ machine }: Definition, { state, steps }: DecidedTurn): Json {
  return { ...atRest(() => machine.persist(state.snapshot)), decided: toJson(steps) };
}

/** As data of its own: what `persist` gives shares its context with the state. What cannot be stored is told elsewhere. */
function atRest(persist: () => Json): object {
  try {
    return toJson(persist()) as object;
  } catch {
    return {};
  }
}

interface Other {
  readonly at: string;
  readonly once: Json | undefined;
  readonly twice: Json | undefined;
}

/** The first place at which two values differ, as a path. */
function firstOther(once: Json | undefined, twice: Json | undefined, at: string): Other | undefined {
  if (Object.is(once, twice)) return undefined;
  if (!isRecord(once) || !isRecord(twice)) return { at, once, twice };
  for (const key of new Set([...Object.keys(once), ...Object.keys(twice)])) {
    const found = firstOther(once[key], twice[key], at === "" ? key : `${at}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isRecord = (value: unknown): value is Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null;

const excerpt = (value: Json | undefined): string =>
  ((JSON.stringify(value) as string | undefined) ?? "nothing").slice(0, 80);

/** A day and a bit: no clock of the same day says the same, neither its hour nor its minute. */
const laterMs = 90_061_001;

/** TZ2. */
function elsewhere<T>(run: () => T): { value: T; asked: string[] } {
  const asked = new Set<string>();
  const { Date: realDate, Math: math, crypto } = globalThis;
  const own = Object.getOwnPropertyDescriptor(math, "random") ?? {};
  const random = math.random.bind(math);
  const uuid = crypto.randomUUID.bind(crypto);
  const ask = <R>(what: string, answer: R): R => {
    const place = placeIn(new Error().stack ?? "");
    if (place !== undefined && asked.size < askedMax) asked.add(`${what} in ${place}`);
    return answer;
  };
  class LaterDate extends realDate {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(ask("new Date()", realDate.now() + laterMs));
      else super(...(given as [number]));
    }
    static override now = () => ask("Date.now()", realDate.now() + laterMs);
  }
  try {
    globalThis.Date = LaterDate as DateConstructor;
    math.random = () => ask("Math.random()", random());
    crypto.randomUUID = () => ask("crypto.randomUUID()", uuid());
    return { value: run(), asked: [...asked] };
  } finally {
    globalThis.Date = realDate;
    Object.defineProperty(math, "random", own);
    Reflect.deleteProperty(crypto, "randomUUID"); // Its own is the prototype's.
  }
}

const askedMax = 3;

/** The caller of what was asked: function and line, of the third frame of a stack, behind `ask` and the stand-in. */
function placeIn(stack: string): string | undefined {
  const [frame] = stack
    .split("\n")
    .slice(1)
    .filter((line) => !line.includes(`${import.meta.filename}:`));
  return frame
    ?.trim()
    .replace(/^at /, "")
    .replace(/file:\/\//, "");
}
