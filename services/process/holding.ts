/**
 * Holding: what has this process's event loop now and cannot be interrupted, told in memory that another thread reads while
 * the loop stands.
 *
 * YH1 A reader sees one holding whole or none: a number that is odd while there is one is written before and after it, and is
 *     another for each.
 */

/** What holds the loop. */
export interface Hold {
  /** Another for each holding. */
  readonly number: number;
  /** What is to blame if it never ends: a saga, by its key. */
  readonly key: string;
  /** What it was taken with, for people. */
  readonly what: string;
}

/** Tells what holds the loop. */
export interface Holding {
  /** Runs what is synchronous, and tells of it meanwhile. Within another holding it is that one's. */
  during<T>(key: string, what: string, act: () => T): T;
}

/** No thread looks. */
export const unwatched: Holding = { during: (_key, _what, act) => act() };

/** A word for the number, one for the length, and the text: a key and what came, each cut where it is longer. */
const headBytes = 8;
const textUnits = 256;

/** Memory for one loop. */
export const holdMemory = (): SharedArrayBuffer => new SharedArrayBuffer(headBytes + 2 * textUnits);

const viewsOf = (memory: SharedArrayBuffer) => ({
  words: new Int32Array(memory, 0, 2),
  text: new Uint16Array(memory, headBytes),
});

/** Tells it in this memory. One teller writes to it. */
export function tellHolds(memory: SharedArrayBuffer): Holding {
  const { words, text } = viewsOf(memory);
  let isHeld = false;
  return {
    during: (key, what, act) => {
      if (isHeld) return act();
      const told = `${key}\n${what}`;
      const length = Math.min(told.length, textUnits);
      for (let at = 0; at < length; at += 1) text[at] = told.charCodeAt(at);
      words[1] = length;
      Atomics.add(words, 0, 1); // YH1
      isHeld = true;
      try {
        return act();
      } finally {
        isHeld = false;
        Atomics.add(words, 0, 1);
      }
    },
  };
}

/** What holds the loop of this memory now; undefined where nothing does, or it changes as it is read (YH1). */
export function readHold(memory: SharedArrayBuffer): Hold | undefined {
  const { words, text } = viewsOf(memory);
  const number = Atomics.load(words, 0);
  if (number % 2 === 0) return undefined;
  const told = String.fromCharCode(...text.slice(0, words[1]));
  if (Atomics.load(words, 0) !== number) return undefined;
  const [key = "", ...what] = told.split("\n");
  return { number, key, what: what.join("\n") };
}

/** Takes work in pieces, each told. */
export function* heldInPieces<T>(
  holding: Holding,
  key: string,
  what: string,
  work: Generator<unknown, T>,
): Generator<unknown, T> {
  for (;;) {
    const piece = holding.during(key, what, () => work.next());
    if (piece.done === true) return piece.value;
    yield;
  }
}
