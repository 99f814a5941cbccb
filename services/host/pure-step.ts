/**
 * Pure step: a step of a turn that runs code of the application and cannot be interrupted: told of by its inputs as long as it
 * lasts, and taken once more where what was laid by is missing.
 */
import { PastNeeded } from "../../actors/kernel/past.ts";
import type { Event } from "../../protocol/event.ts";
import { keyOf } from "../suspects/saga-key.ts";
import { recallPast } from "./detour.ts";
import type { ReadItem } from "./inputs.ts";
import type { Loaded } from "./load.ts";
import { isGone, type Owned, type Residence } from "./phase.ts";

/** Takes it at once; later, and once more, if what was laid by is missing. Undefined if the saga is gone then. */
export function withPast<T>(
  self: Residence,
  own: Owned,
  inputs: readonly (Event | ReadItem)[],
  step: (loaded: Loaded) => T,
): T | Promise<T | undefined> {
  const { deps, saga } = self;
  const take = () => deps.holding.during(keyOf(saga), toldOf(inputs), () => step(own.loaded));
  try {
    return take();
  } catch (error) {
    if (!(error instanceof PastNeeded)) throw error;
    return recallPast(self, own).then(() => (isGone(self) ? undefined : take()));
  }
}

const toldMax = 3;

/** A batch of inputs in a few words: the first of them, each with what it is about, and how many more there are. */
export function toldOf(inputs: readonly (Event | ReadItem)[]): string {
  const words = inputs.slice(0, toldMax).map(wordsOf).join(", ");
  return inputs.length > toldMax ? `${words} and ${inputs.length - toldMax} more` : words;
}

const wordsOf = (input: Event | ReadItem): string => {
  const event = "event" in input ? input.event : input;
  if (event.type === "signal") return `signal ${event.name}`;
  return "intent" in event ? `${event.type} ${event.intent}` : event.type;
};
