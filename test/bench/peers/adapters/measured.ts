/**
 * What every measured process has in common, whichever product it runs: it answers its parent's calls, and notes when
 * effects begin.
 *
 * Times are milliseconds of the machine's monotonic clock, which all processes of one machine share. Nothing of sagamesh is
 * imported here: a peer's process loads what its users would load, and this file.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

const last = new Map<string, number>();
const counts = new Map<string, number>();
const firsts = new Map<string, number>();
let betweens: number[] = [];
let waiters: { saga: string; after: number; resolve: (at: number) => void }[] = [];

/** The effect of one step begins. This is all that it does. */
export function mark(saga: string): void {
  const at = now();
  const before = last.get(saga);
  if (before === undefined) firsts.set(saga, at);
  else betweens.push(at - before);
  last.set(saga, at);
  counts.set(saga, (counts.get(saga) ?? 0) + 1);
  if (waiters.length === 0) return;
  for (const { resolve } of waiters.filter((one) => one.saga === saga && one.after < at)) resolve(at);
  waiters = waiters.filter((one) => one.saga !== saga || one.after >= at);
}

/** The same, of an effect that takes a while. */
export async function step(saga: string, ms: number): Promise<void> {
  mark(saga);
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

/** A text of so many characters that no two decisions share and that compresses as prose does. */
export function prose(seed: number, chars: number): string {
  const words: string[] = [];
  let state = seed + 1;
  for (let length = 0; length < chars;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const word = vocabulary[Math.floor((state / 2_147_483_648) * vocabulary.length)] ?? "so";
    words.push(word);
    length += word.length + 1;
  }
  return words.join(" ").slice(0, chars);
}

const vocabulary = (
  "the a of to and in that it is was for on are as with they at be this from have or by one had not but what all were " +
  "when we there can an your which their said if do will each about how up out them then she many some so these would " +
  "other into has more her two like him see time could no make than first been its who now people my made over did down " +
  "invoice flight hotel booking refund customer account payment schedule approval deadline candidate interview salary"
).split(" ");

/** What the parent may ask of every process that performs effects. */
const noted = {
  /** Milliseconds between the effects of a saga, over all sagas and in the order in which they ended; forgets them. */
  betweens: () => {
    const found = betweens;
    betweens = [];
    return found;
  },
  count: ({ saga }: { saga: string }) => counts.get(saga) ?? 0,
  /** How many sagas had an effect in this process, and when the last of them had its first. */
  begun: () => ({ sagas: firsts.size, at: Math.max(0, ...firsts.values()) }),
  /** When the saga's first effect after that moment began; waits for it. */
  effectAfter: ({ saga, after }: { saga: string; after: number }) => {
    const at = last.get(saga);
    if (at !== undefined && at > after) return at;
    return new Promise<number>((resolve) => waiters.push({ saga, after, resolve }));
  },
  peakBytes: () => process.resourceUsage().maxRSS * 1024,
};

type Call = (args: any) => unknown;

/** Answers the parent's calls, until the parent goes; says that it is ready. */
export function serve(calls: Readonly<Record<string, Call>>): void {
  const all: Readonly<Record<string, Call>> = { ...noted, ...calls };
  const answer = async ({ id, call, args }: { id: number; call: string; args: unknown }) => {
    try {
      const asked = all[call];
      if (!asked) throw new Error(`this process has no call "${call}"`);
      process.send?.({ id, value: await asked(args) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };
  process.on("message", (message) => void answer(message as Parameters<typeof answer>[0]));
  process.on("disconnect", () => process.exit());
  process.send?.({ ready: true });
}

/** Loads packages from the folder that the bench installed them into, PEER_FOLDER. */
export const load: (name: string) => any = createRequire(
  join(process.env["PEER_FOLDER"] ?? ".", "package.json"),
);

/** Runs so many of them at once, and waits for all. */
export const together = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

/** An id that no other saga of this run has. */
export const newId = (word: string): string =>
  `${word}-${process.pid}-${(minted += 1)}-${Math.random().toString(36).slice(2, 8)}`;
let minted = 0;
