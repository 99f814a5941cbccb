/**
 * Kept up: what is made of each intent of a ledger, made anew as that changes, for who keeps no turn.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, StepPlace, ToldIntent } from "./account.ts";
import { createAccountReader, stepsOf } from "./account-reader.ts";

/** So many of the intents that are over are known whole. What a later turn may change of another is, too (AO4 of account.ts). */
const remembered = 16;

/** What was made of an intent last. */
export interface Made<T> {
  of: T;
}

/** Follows a ledger. */
export interface Keeping<T> {
  /**
   * Takes the next turn. Each intent that it decided is handed on with its step, in order; what was made of it is made anew as it
   * changes. Throws LEDGER_BROKEN where another turn belongs.
   */
  take(turn: Turn, decided: (told: ToldIntent, made: Made<T>, at: StepPlace) => void): void;
  /** Makes it anew of all that is open. */
  tellOpen(): void;
  /** Of the turns taken. Throws LEDGER_BROKEN before the first. */
  readonly account: Account;
}

/** Nothing was taken yet. `remembers`: as the account's. */
export function keepingUp<T>(make: (told: ToldIntent) => T, remembers = remembered): Keeping<T> {
  const reader = createAccountReader(remembers);
  const all = new WeakMap<ToldIntent, Made<T>>();
  const anew = (told: ToldIntent) => {
    const made = all.get(told);
    if (made !== undefined) made.of = make(told);
  };
  const tellOpen = () => {
    for (const told of reader.account.open.values()) anew(told);
  };
  return {
    take: (turn, decided) => {
      const changes = reader.take(turn);
      for (const at of stepsOf(turn))
        for (const { kind, id } of at.intents) {
          const told = kind === "retry" ? undefined : reader.account.intents.get(id);
          if (told === undefined || all.has(told)) continue;
          const made = { of: make(told) };
          all.set(told, made);
          decided(told, made, at);
        }
      for (const one of changes) {
        if ("intent" in one) anew(one.intent);
        if (one.type === "said") anew(one.task);
      }
      // A fork puts off what was to fall due.
      if (turn.steps.some(({ event }) => event.type === "forked")) tellOpen();
    },
    tellOpen,
    get account() {
      return reader.account;
    },
  };
}

/** So that an id is looked up in what was made. */
export type MadeById<T> = ReadonlyMap<IntentId, Made<T>>;
