/**
 * Draft: records and lists that one turn has copied for itself, and may write into.
 *
 * A turn of thousands of events changes the same record thousands of times. A copy for each change costs the square of
 * their number; one copy for the first and none after it costs as much as there is to do.
 *
 * DJ1 What was there before the turn is never written into: its first change copies it.
 * DJ2 Once the turn is over its copies are values like any other, and nothing writes into them again. Outside of a turn
 *     each change makes a copy.
 */

/** The copies of the turn that is being decided. A turn waits for nothing, so there is one at a time. */
let own: Set<object> | undefined;

/** Decides a turn: what it copies is its own until it returns or throws. A turn within a turn has copies of its own. */
export function inOneTurn<T>(decide: () => T): T {
  const outer = own;
  own = new Set();
  try {
    return decide();
  } finally {
    own = outer;
  }
}

/** Makes the turn's own what it has just made, and so no other holds. */
function owned<T extends object>(copy: T): T {
  own?.add(copy);
  return copy;
}

/** The object as this turn may write into it: itself if it is the turn's own, else a copy. */
export const drafted = <T extends object>(value: T): { -readonly [K in keyof T]: T[K] } =>
  own?.has(value) === true ? value : owned({ ...value });

/** The same of a list. */
export const draftedList = <T>(list: readonly T[]): T[] =>
  own?.has(list) === true ? (list as T[]) : owned([...list]); // Proof: only what was made here is in the set.

/** The record with a key set. One that was there keeps its place, another comes last. */
export function withKey<K extends string, V>(record: Readonly<Record<K, V>>, key: K, value: V): Record<K, V> {
  const copy: Record<K, V> = drafted(record);
  put(copy, key, value);
  return copy;
}

/** The record without the key. */
export function withoutKey<K extends string, V>(record: Readonly<Record<K, V>>, key: K): Record<K, V> {
  if (!Object.hasOwn(record, key)) return record;
  if (own?.has(record) !== true) return owned(copyWithout(record, key));
  const copy: Record<K, V> = drafted(record);
  delete copy[key];
  return copy;
}

/** Most turns take one key of few. A copy that a key is deleted from is slow ever after, and to make: four times this. */
function copyWithout<K extends string, V>(record: Readonly<Record<K, V>>, key: K): Record<K, V> {
  const copy = {} as Record<K, V>;
  for (const other in record) if (other !== key) put(copy, other, record[other]);
  return copy;
}

/** Sets a key like any other, where an assignment would take it for the prototype. */
function put<K extends string, V>(record: Record<K, V>, key: K, value: V): void {
  if (key === "__proto__")
    Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true });
  else record[key] = value;
}

/** The list with one more at its end. */
export function withLast<T>(list: readonly T[], last: T): T[] {
  const copy = draftedList(list);
  copy.push(last);
  return copy;
}

/** The list with another one in a place. */
export function withAt<T>(list: readonly T[], at: number, one: T): T[] {
  const copy = draftedList(list);
  copy[at] = one;
  return copy;
}

/** The list without the one that stands at a place. */
export function withoutAt<T>(list: readonly T[], at: number): T[] {
  const copy = draftedList(list);
  if (at === 0) copy.shift();
  else copy.splice(at, 1);
  return copy;
}
