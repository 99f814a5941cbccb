/** Store: a value that several parts of the page show. */
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  readonly now: () => T;
  readonly set: (value: T) => void;
  readonly listen: (listener: () => void) => () => void;
}

export function createStore<T>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    now: () => value,
    set: (next) => {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The value as it is now, and again when it changes. */
export function useStore<T>({ now, listen }: Store<T>): T {
  const [value, setValue] = useState(now);
  useEffect(() => {
    setValue(now);
    return listen(() => setValue(now));
  }, [now, listen]);
  return value;
}
