/**
 * Which definition a start becomes a saga of, and which host takes a saga: pure, so every claim is checked over many
 * groups of hosts, declarations and ids, and the ways a mesh is deployed each once, as a story.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Declaration } from "../../../protocol/deployments.ts";
import type { DefinitionRef } from "../../../protocol/event.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import {
  type Chosen,
  chooseForStart,
  hostFor,
  newestServed,
  type ServingHost,
  takersOf,
} from "../../../services/deployments/choose.ts";

const id = (text: string) => text as SagaId;
const ref = (version: number, hash: string, name = "hire"): DefinitionRef => ({ name, version, hash });
const v1 = ref(1, "a1");
const v2 = ref(2, "b2");

const host = (
  name: string,
  since: number,
  refs: readonly DefinitionRef[],
  draining = false,
): ServingHost => ({
  host: name,
  since,
  draining,
  serves: refs.map((one) => ({ ...one, startable: true })),
});

const declare = (current: DefinitionRef, ramp?: { to: DefinitionRef; share: number }) =>
  new Map<string, Declaration>([
    [current.name, { current, ...(ramp === undefined ? {} : { ramp }), by: "ana", at: 0 }],
  ]);

const none = new Map<string, Declaration>();
const ids = Array.from({ length: 10_000 }, (_, at) => id(`hire-${at}`));

const refs = fc.record({
  name: fc.constantFrom("hire", "trip"),
  version: fc.integer({ min: 1, max: 3 }),
  hash: fc.constantFrom("a", "b", "c"),
});
const serving = fc.uniqueArray(
  fc.record({
    host: fc.stringMatching(/^h-[a-z0-9]{1,6}$/),
    since: fc.integer({ min: 0, max: 3 }),
    draining: fc.boolean(),
    serves: fc.array(
      // A hash covers the version.
      refs.chain((one) =>
        fc.boolean().map((startable) => ({ ...one, hash: `${one.hash}${one.version}`, startable })),
      ),
      { maxLength: 4 },
    ),
  }),
  { selector: (one) => one.host, maxLength: 6 },
);
const declarations = fc
  .option(
    fc.record({
      current: refs,
      ramp: fc.option(fc.record({ to: refs, share: fc.double({ min: 0.01, max: 1, noNaN: true }) }), {
        nil: undefined,
      }),
    }),
    { nil: undefined },
  )
  .map((given) => {
    if (given === undefined) return none;
    const named = (one: DefinitionRef) => ({ ...one, name: "hire", hash: `${one.hash}${one.version}` });
    const { current, ramp } = given;
    return declare(named(current), ramp && { ...ramp, to: named(ramp.to) });
  });
const wanted = fc.record({
  name: fc.constant("hire"),
  version: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
});
const sagas = fc.stringMatching(/^[a-z0-9]{1,12}$/).map(id);

const waitsFor = (chosen: Chosen): DefinitionRef | undefined =>
  chosen !== undefined && "waitsFor" in chosen ? chosen.waitsFor : undefined;

describe("the definition of a start", () => {
  test("is the same whatever the order in which hosts are known", () => {
    fc.assert(
      fc.property(wanted, sagas, serving, declarations, fc.nat(), (start, saga, hosts, declared, seed) => {
        const turned = [
          ...hosts.slice(seed % (hosts.length + 1)),
          ...hosts.slice(0, seed % (hosts.length + 1)),
        ];
        for (const other of [turned, [...hosts].reverse()])
          expect(chooseForStart(start, saga, other, declared)).toEqual(
            chooseForStart(start, saga, hosts, declared),
          );
      }),
    );
  });

  test("is always one that a host serves which does not drain, or a declared one that is waited for", () => {
    fc.assert(
      fc.property(wanted, sagas, serving, declarations, (start, saga, hosts, declared) => {
        const chosen = chooseForStart(start, saga, hosts, declared);
        const awaited = waitsFor(chosen);
        if (awaited !== undefined) {
          expect(awaited).toEqual(declared.get("hire")?.current);
          expect(takersOf(awaited, hosts)).toEqual([]);
        } else if (chosen !== undefined) expect(takersOf(chosen as DefinitionRef, hosts)).not.toEqual([]);
      }),
    );
  });

  test("of a declared name without a version is the current one or the ramp's, whatever else is served", () => {
    fc.assert(
      fc.property(sagas, serving, declarations, (saga, hosts, declared) => {
        const { current, ramp } = declared.get("hire") ?? {};
        if (current === undefined) return;
        const chosen = chooseForStart({ name: "hire" }, saga, hosts, declared);
        expect([current.hash, ramp?.to.hash]).toContain((waitsFor(chosen) ?? (chosen as DefinitionRef)).hash);
      }),
    );
  });

  test("is of the version that is asked for, whatever is declared", () => {
    fc.assert(
      fc.property(wanted, sagas, serving, declarations, (start, saga, hosts, declared) => {
        const chosen = chooseForStart(start, saga, hosts, declared);
        if (chosen === undefined || start.version === undefined) return;
        expect((waitsFor(chosen) ?? (chosen as DefinitionRef)).version).toBe(start.version);
      }),
    );
  });

  test("is never one that only sagas there are, or children, may have", () => {
    const own = { ...v2, startable: false };
    const only = [{ ...host("a", 0, [v1]), serves: [{ ...v1, startable: true }, own] }];
    expect(chooseForStart({ name: "hire" }, id("x"), only, none)).toEqual(v1);
    expect(chooseForStart({ name: "hire", version: 2 }, id("x"), only, none)).toBeUndefined();
  });

  test("is the newest version that is served; of equal ones the one that came last", () => {
    const hosts = [host("a", 0, [v1, v2]), host("b", 5, [v1, ref(2, "late")]), host("c", 9, [v1])];
    expect(chooseForStart({ name: "hire" }, id("x"), hosts, none)).toEqual(ref(2, "late"));
    // A host of the older one that was only begun again is no newer deployment of it.
    const again = [...hosts, host("d", 20, [v2])];
    expect(chooseForStart({ name: "hire" }, id("x"), again, none)).toEqual(ref(2, "late"));
    expect(chooseForStart({ name: "hire", version: 1 }, id("x"), again, none)).toEqual(v1);
    expect(newestServed("trip", undefined, hosts)).toBeUndefined();
  });

  test("that one parent names by its hash is that one, or is waited for", () => {
    const own = host("a", 0, [v1, v2]);
    const start = { name: "hire", version: 1, hash: "a1" };
    expect(chooseForStart(start, id("x"), [own], declare(v2))).toEqual(v1);
    expect(chooseForStart({ ...start, hash: "gone" }, id("x"), [own], none)).toEqual({
      waitsFor: ref(1, "gone"),
    });
  });
});

describe("a promoted definition", () => {
  test("is waited for while no host serves it, though another is served, and one of an older version", () => {
    expect(chooseForStart({ name: "hire" }, id("x"), [host("a", 0, [v1])], declare(v2))).toEqual({
      waitsFor: v2,
    });
    const draining = [host("a", 0, [v1]), host("b", 0, [v2], true)];
    expect(chooseForStart({ name: "hire" }, id("x"), draining, declare(v2))).toEqual({ waitsFor: v2 });
  });

  test("keeps the starts when a newer version is served", () => {
    expect(chooseForStart({ name: "hire" }, id("x"), [host("a", 0, [v1, v2])], declare(v1))).toEqual(v1);
  });

  test("leaves the starts of another name alone", () => {
    const trip = ref(1, "t1", "trip");
    expect(chooseForStart({ name: "trip" }, id("x"), [host("a", 0, [trip])], declare(v2))).toEqual(trip);
  });
});

describe("a ramp", () => {
  const hosts = [host("a", 0, [v1]), host("b", 1, [v2])];
  const of = (share: number, among = hosts) =>
    ids.filter(
      (saga) =>
        chooseForStart({ name: "hire" }, saga, among, declare(v1, { to: v2, share })) !== undefined &&
        (chooseForStart({ name: "hire" }, saga, among, declare(v1, { to: v2, share })) as DefinitionRef)
          .hash === "b2",
    );

  test.each([0.01, 0.1, 0.5, 0.9])("of %d gets that share of ten thousand starts", (share) => {
    // Five standard deviations of a fair draw.
    const width = 5 * Math.sqrt(share * (1 - share) * ids.length);
    expect(Math.abs(of(share).length - share * ids.length)).toBeLessThan(width);
  });

  test("that grows holds all that it held, and a whole one all", () => {
    const tenth = of(0.1);
    const larger = new Set(of(0.2));
    expect(tenth.filter((saga) => !larger.has(saga))).toEqual([]);
    expect(of(1)).toHaveLength(ids.length);
  });

  test("whose target no host serves leaves its share to the current definition", () => {
    expect(of(0.5, [host("a", 0, [v1])])).toEqual([]);
  });

  test("holds for a start that asks for its version alone", () => {
    const declared = declare(v1, { to: v2, share: 0.1 });
    for (const saga of ids.slice(0, 50)) {
      expect(chooseForStart({ name: "hire", version: 2 }, saga, hosts, declared)).toEqual(v2);
      expect(chooseForStart({ name: "hire", version: 1 }, saga, hosts, declared)).toEqual(v1);
    }
  });
});

describe("the host of a saga", () => {
  test("serves its definition and does not drain, the same whatever the order", () => {
    fc.assert(
      fc.property(refs, fc.nat({ max: 200 }), serving, (one, partition, hosts) => {
        const asked = { ...one, hash: `${one.hash}${one.version}` };
        const chosen = hostFor(asked, partition, hosts);
        expect(hostFor(asked, partition, [...hosts].reverse())).toBe(chosen);
        expect(chosen === undefined).toBe(takersOf(asked, hosts).length === 0);
        if (chosen !== undefined) expect(takersOf(asked, hosts)).toContain(chosen);
      }),
    );
  });

  test("changes only for what was a host's own when that host goes", () => {
    const three = ["a", "b", "c"].map((name) => host(name, 0, [v1]));
    const before = Array.from({ length: 64 }, (_, partition) => hostFor(v1, partition, three)!.host);
    expect(new Set(before).size).toBe(3);
    for (const [partition, was] of before.entries())
      if (was !== "c") expect(hostFor(v1, partition, three.slice(0, 2))!.host).toBe(was);
  });
});
