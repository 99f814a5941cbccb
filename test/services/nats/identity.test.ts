/**
 * Goal: what the streams of a mesh say together is judged rightly, whatever is missing, strange or behind.
 * Method: worlds as values; a property takes streams away from a whole mesh in every combination and compares with the rule
 * as a sentence.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Census, countedOn } from "../../../protocol/census.ts";
import { derivedMesh, incomplete, type Seen, standingOf } from "../../../services/nats/identity.ts";
import { declareStreams } from "../../../services/nats/streams.ts";

const names = declareStreams({ partitions: 8 }).map(({ name }) => name);
const stream = (name: string, over: Partial<Seen> = {}): Seen => ({
  ...{ name, mesh: "m1", generation: 1, created: "2026-01-01T00:00:00Z", lastSeq: 10, messages: 10 },
  ...{ isRebuilding: false, remadeAt: undefined, restored: undefined, ...over },
});
const whole = (over: Partial<Seen> = {}): Seen[] => names.map((name) => stream(name, over));
const without = (...gone: string[]): Seen[] => whole().filter(({ name }) => !gone.includes(name));
const replaced = (name: string, over: Partial<Seen>): Seen[] => [...without(name), stream(name, over)];
const kinds = (seen: readonly Seen[], census?: Census): string[] =>
  standingOf(seen, census).faults.map(({ stream: of, kind }) => `${of} ${kind}`);
const census = (over: Partial<Census["streams"][string]> = {}): Census => ({
  ...{ mesh: "m1", at: 1_000, partitions: 8 },
  streams: Object.fromEntries(
    names.map((name) => [name, { lastSeq: 10, messages: 10, generation: 1, ...over }]),
  ),
});

describe("standingOf", () => {
  test("IY1 of all ways to lose streams, those are refused that lack LEDGER or the claims beside others that held something", () => {
    fc.assert(
      fc.property(fc.subarray(names), fc.boolean(), (gone, isCounted) => {
        const left = without(...gone);
        const holds =
          isCounted || left.some(({ name }) => !/REGISTRY|THROTTLE|SUSPECT|HOSTS|LISTING/.test(name));
        const missed = ["LEDGER", "KV_CLAIM"].filter((name) => gone.includes(name) && holds);
        expect(kinds(left, isCounted ? census() : undefined)).toEqual(
          missed.map((name) => `${name} missing`),
        );
      }),
    );
  });

  test("a mesh in which nothing was ever stored is made whole whatever it lacks", () => {
    expect(kinds(whole({ lastSeq: 0, messages: 0 }).filter(({ name }) => name !== "KV_CLAIM"))).toEqual([]);
    expect(kinds([])).toEqual([]);
  });

  test("IY2 a mesh of a former version has the identity that its LEDGER's birth gives it, and nothing is wrong with it", () => {
    const old = whole({ mesh: undefined });
    expect(standingOf(old, undefined)).toMatchObject({
      mesh: derivedMesh("2026-01-01T00:00:00Z"),
      faults: [],
    });
  });

  test("IY3 of an adoption that ended in its middle, in whatever order, nothing is refused", () => {
    const mesh = derivedMesh("2026-01-01T00:00:00Z");
    fc.assert(
      fc.property(fc.subarray(names.filter((name) => name !== "LEDGER")), (marked) => {
        const half = names.map((name) => stream(name, { mesh: marked.includes(name) ? mesh : undefined }));
        expect(standingOf(half, undefined)).toMatchObject({ mesh, faults: [] });
      }),
    );
  });

  test("claims that stand beside a marked LEDGER and are not marked were made by another hand", () => {
    const made = { mesh: undefined, lastSeq: 0, messages: 0, created: "2026-02-02T00:00:00Z" };
    expect(kinds(replaced("KV_CLAIM", made))).toEqual(["KV_CLAIM stranger"]);
    expect(kinds(replaced("LEDGER", made))).toEqual(["LEDGER stranger"]);
    expect(kinds(replaced("KV_SNAPSHOT", made))).toEqual([]);
  });

  test("a stream of another mesh is refused, whichever it is, and named beside what most streams are of", () => {
    for (const name of names) {
      const standing = standingOf(replaced(name, { mesh: "m2" }), undefined);
      expect(standing).toMatchObject({ mesh: "m1", faults: [{ stream: name, kind: "foreign" }] });
      expect(incomplete(standing)?.code).toBe("MESH_MIXED");
    }
  });

  test("claims that go less far than was counted are refused, a ledger is told of; of a higher generation neither", () => {
    const less = (name: string, generation = 1) => replaced(name, { lastSeq: 9, generation });
    expect(kinds(less("KV_CLAIM"), census())).toEqual(["KV_CLAIM short"]);
    expect(kinds(less("KV_CLAIM", 2), census())).toEqual([]);
    expect(kinds(whole(), census({ generation: 2 }))).toContain("KV_CLAIM short");
    expect(kinds(less("LEDGER"), census())).toEqual([]);
    expect(standingOf(less("LEDGER"), census()).shortLedger).toMatchObject({ kind: "short" });
    expect(standingOf(whole(), census()).shortLedger).toBeUndefined();
  });

  test("claims whose rebuilding came to no end are refused", () => {
    expect(kinds(replaced("KV_CLAIM", { isRebuilding: true, generation: 2 }))).toEqual([
      "KV_CLAIM rebuilding",
    ]);
  });
});

test("YC1 a count never falls while its stream is of one generation, and is anew what it is in the next", () => {
  const lower = census({ lastSeq: 3 });
  expect(countedOn(census(), lower).streams["LEDGER"]).toMatchObject({ lastSeq: 10 });
  expect(countedOn(census(), census({ lastSeq: 3, generation: 2 })).streams["LEDGER"]).toMatchObject({
    lastSeq: 3,
  });
  expect(countedOn({ ...census(), mesh: "m2" }, lower)).toEqual(lower);
});
