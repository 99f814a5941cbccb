/**
 * Goal: what a saga laid by stands in few parts, each effect written a few times, and all of it is read whatever write was the
 * last one, by this version's host and by a former one's.
 * Method: parts of effects are stored one after the other on a shelf, as a host does beside its snapshots. The shelf ends the
 * process at each write in turn; what the last snapshot names is then read, and gone on with. A former host reads by number.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PastPart, sizeOf, takenInto, pastWith } from "../../../actors/kernel/past.ts";
import type { Past, StandingEffect } from "../../../actors/contract/state.ts";
import { contentTypes, decode } from "../../../protocol/codec.ts";
import { sha256 } from "../../../protocol/digest.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { readPast, storePart } from "../../../services/host/past-parts.ts";
import { systemClock } from "../../../services/runtime/system.ts";

const saga = "bookings" as SagaId;

function effect(number: number): StandingEffect {
  const intent = `${number + 2}-0` as IntentId;
  return {
    intent,
    tool: "book",
    key: `bookings.${number}.0.abc`,
    outcome: "succeeded",
  } as unknown as StandingEffect;
}

/** The next part of a saga's past: so many effects, and a call that failed where it is told. */
function nextPart(past: Past | undefined, from: number, size: number, fails = false): PastPart {
  const effects = Array.from({ length: fails ? size - 1 : size }, (_, k) => effect(from + k));
  const id = `${from + size + 1}-0` as IntentId;
  const doubts = fails ? { [id]: { outcome: "failed", tool: "book", key: `k${from}`, attempt: 1 } } : {};
  return { saga, prev: past?.digest ?? "", effects, doubts: doubts as unknown as PastPart["doubts"] };
}

/** Entries by name; the process ends at the write that `endsAt` names, before it is done. */
function shelfOf(endsAt = Number.POSITIVE_INFINITY) {
  const entries = new Map<string, Uint8Array>();
  const count = { writes: 0, bytes: 0, reads: 0, endsAt };
  const snapshots = {
    get: async (_saga: SagaId, name = "") => {
      count.reads += 1;
      return entries.get(name);
    },
    put: async (_saga: SagaId, data: Uint8Array, name = "") => {
      count.writes += 1;
      if (count.writes === count.endsAt) throw new Error("the process ends");
      count.bytes += data.length;
      entries.set(name, Uint8Array.from(data));
    },
    sagas: async () => new Set<SagaId>(),
    drop: async () => entries.clear(),
  };
  return { deps: { ports: { snapshots }, clock: systemClock }, entries, count };
}

/** As the versions before parts were merged read them: all that there are, by their numbers, each in one entry. */
function readByFormer(entries: ReadonlyMap<string, Uint8Array>, past: Past): PastPart[] | undefined {
  const parts: PastPart[] = [];
  let expected = past.digest;
  for (let number = past.parts; number > 0; number--) {
    const content = contentOf(entries, `past-${number}`);
    if (content === undefined || sha256(content) !== expected) return undefined;
    const part = decode(content, contentTypes.msgpack, Number.MAX_SAFE_INTEGER) as unknown as PastPart;
    parts.unshift(part);
    expected = part.prev;
  }
  return expected === "" ? parts : undefined;
}

function contentOf(entries: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array | undefined {
  const content = entries.get(name)?.subarray(67);
  if (content === undefined) return undefined;
  if (content.length > 200) return content;
  const cut = decode(content, contentTypes.msgpack) as { pieces?: number };
  if (cut.pieces === undefined) return content;
  const pieces = Array.from({ length: cut.pieces }, (_, k) => entries.get(`${name}-piece-${k}`)!);
  return Buffer.concat(pieces);
}

const intentsIn = (parts: readonly PastPart[] | undefined) =>
  parts?.flatMap(
    ({ effects, doubts }) => [...effects.map(({ intent }) => intent), ...Object.keys(doubts)].length,
  );
const heldBy = (parts: readonly PastPart[] | undefined) => ({
  effects: parts?.flatMap(({ effects }) => effects),
  doubts: Object.assign({}, ...(parts ?? []).map(({ doubts }) => doubts)) as object,
});

describe("what a saga laid by", () => {
  test("stands in some twenty parts where there are fifty thousand effects, each written four times at most", async () => {
    const { deps, entries, count } = shelfOf();
    const [all, each] = [50_000, limits.pastPartMin];
    let past: Past | undefined;
    let once = 0;
    for (let from = 0; from < all; from += each) {
      const part = nextPart(past, from, each);
      once += Buffer.byteLength(JSON.stringify(part.effects));
      past = await storePart(deps, past, part);
      expect(past.parts).toBeLessThanOrEqual(21 + from / 6_400);
    }
    expect(past!.parts).toBeLessThanOrEqual(22);
    expect(count.bytes / once).toBeLessThan(4);
    expect([...entries.keys()].filter((name) => /^past-\d+$/.test(name)).length).toBeLessThanOrEqual(30);
    const parts = await readPast(deps, saga, past!);
    expect(heldBy(parts).effects).toEqual(Array.from({ length: all }, (_, number) => effect(number)));
    expect(heldBy(readByFormer(entries, past!))).toEqual(heldBy(parts));
  });

  test("is read whole whatever write was the last one before a crash, and gone on with", async () => {
    const sizes = Array.from({ length: 20 }, (_, k) => limits.pastPartMin + (k % 3));
    const whole = shelfOf();
    let past: Past | undefined;
    let from = 0;
    for (const size of sizes) {
      past = await storePart(whole.deps, past, nextPart(past, from, size, size % 2 === 0));
      from += size;
    }
    const sound = heldBy(await readPast(whole.deps, saga, past!));
    let crashes = 0;
    for (let endsAt = 1; endsAt <= whole.count.writes; endsAt++) {
      const { deps, count } = shelfOf(endsAt);
      let named: Past | undefined;
      let at = 0;
      for (let k = 0; k < sizes.length; k++) {
        const part = nextPart(named, at, sizes[k]!, sizes[k]! % 2 === 0);
        const next = await storePart(deps, named, part).catch(() => undefined);
        if (next === undefined) {
          crashes += 1;
          count.endsAt = Number.POSITIVE_INFINITY;
          // What the snapshot that is there names is read; what was not laid by is decided again, and laid by with the next.
          if (named !== undefined) {
            const read = await readPast(deps, saga, named);
            expect(intentsIn(read)).toBeDefined();
            expect(heldBy(read).effects?.length).toBe(
              sizes.slice(0, k).reduce((sum, size) => sum + (size % 2 === 0 ? size - 1 : size), 0),
            );
          }
          k -= 1;
          continue;
        }
        named = next;
        at += sizes[k]!;
      }
      expect(heldBy(await readPast(deps, saga, named!))).toEqual(sound);
    }
    expect(crashes).toBe(whole.count.writes);
  });

  test("is told apart whatever the sizes were, and by whichever version's host", async () => {
    const step = fc.record({ size: fc.integer({ min: 100, max: 1_500 }), byFormer: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { deps, entries } = shelfOf();
        let past: Past | undefined;
        let from = 0;
        for (const { size, byFormer } of steps) {
          past = await storePart(deps, past, nextPart(past, from, size));
          from += size;
          if (!byFormer || past === undefined) continue;
          const { sizes: _unknown, ...known } = past; // A former host keeps the three members it knows.
          past = known;
        }
        if (past === undefined) return;
        const all = Array.from({ length: from }, (_, number) => effect(number));
        expect(heldBy(await readPast(deps, saga, past)).effects).toEqual(all);
        expect(heldBy(readByFormer(entries, past)).effects).toEqual(all);
      }),
      { numRuns: 30 },
    );
  });

  test("that is lost in its newest part is asked for no further", async () => {
    const { deps, entries, count } = shelfOf();
    let past: Past | undefined;
    for (let k = 0; k < 5; k++) past = await storePart(deps, past, nextPart(past, k * 100, 100));
    entries.delete("past-5");
    count.reads = 0;
    expect(await readPast(deps, saga, past!)).toBeUndefined();
    expect(count.reads).toBe(2);
  });
});

test("parts of any sizes come to as many as the logarithm of what they hold, and to what they hold", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 100, max: 3_000 }), { maxLength: 400 }), (sizes) => {
      let past: Past | undefined;
      let all = 0;
      let written = 0;
      for (const size of sizes) {
        const part = nextPart(past, 0, 0);
        const held = { ...part, effects: Array.from({ length: size }, () => effect(0)) };
        const taken = takenInto(past, sizeOf(held));
        past = pastWith(past, held, "x", taken);
        all += size;
        written += past.sizes!.at(-1)!;
      }
      expect((past?.sizes ?? []).reduce((sum, size) => sum + size, 0)).toBe(all);
      expect(past?.sizes?.length ?? 0).toBe(past?.parts ?? 0);
      expect(past?.parts ?? 0).toBeLessThanOrEqual(16 + all / 6_400);
      expect(written).toBeLessThanOrEqual(4 * all);
    }),
    { numRuns: 50 },
  );
});
