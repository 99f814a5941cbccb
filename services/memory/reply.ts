/**
 * How the server answers: by calling back, never by a promise.
 *
 * A promise would be settled some microtasks later, which only the clock may count (clock.ts, CK2); an answer
 * has to be ready within the event that makes it.
 */
import { isMeshError, type MeshError } from "../../protocol/errors.ts";

export type Outcome<T> = { readonly value: T } | { readonly error: MeshError };

export type Reply<T> = (outcome: Outcome<T>) => void;

/** Something the server does for a caller. Answers once, at once or later. */
export type Act<T> = (reply: Reply<T>) => void;

/** An act that is done on the spot. Throws on what is not a MeshError: that is a fault of this folder. */
export const atOnce =
  <T>(act: () => T): Act<T> =>
  (reply) =>
    reply(outcomeOf(act));

const outcomeOf = <T>(act: () => T): Outcome<T> => {
  try {
    return { value: act() };
  } catch (error) {
    if (isMeshError(error)) return { error };
    throw error;
  }
};
