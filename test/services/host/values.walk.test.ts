/**
 * Goal: one bad value costs one intent. At whatever door a value comes in, it is refused with a code, or every reader can
 * read the saga afterwards; and the saga can be cancelled in any case.
 * Method: a property over a table of doors (test/support/value-doors.ts) on the mesh in memory: the value that comes in is
 * anything JavaScript has, hostile values by hand at every door. What was stored must pass the codec that reads messages
 * from outside, which is far stricter than the one that reads ledgers. A share: two values at every door.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentTypes, decode } from "../../../protocol/codec.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { readByAll } from "../../support/read-by-all.ts";
import { share } from "../../support/share.ts";
import { desk, giveAt, type ValueDoor, valueDoors } from "../../support/value-doors.ts";

function nested(levels: number, inner: unknown = 0): unknown {
  let value = inner;
  for (let k = 0; k < levels; k++) value = k % 2 === 0 ? { a: value } : [value];
  return value;
}

/** What got through once, and what might. */
const hostile: readonly unknown[] = [
  nested(64),
  nested(65),
  nested(97),
  nested(5_000),
  nested(50_000),
  { cents: Number.NaN },
  JSON.parse('{"a":{"__proto__":{"b":1}}}'),
  { $blob: "00", bytes: 1 },
  { ["k".repeat(5_000)]: "\ud800", "\udc00": -0 },
  Array.from({ length: 100_001 }, () => 1),
];

const anyValue = fc.oneof(
  { weight: 2, arbitrary: fc.anything({ withBigInt: true, withDate: true }) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.integer({ min: 0, max: 200 }), fc.jsonValue()).map(([n, one]) => nested(n, one)),
  },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.constantFrom("__proto__", "$blob", "a", "\ud800", "constructor"),
      fc.jsonValue(),
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
);

/** By every reader, and by the codec of what comes from outside. */
async function readStrictly(at: Awaited<ReturnType<typeof giveAt>>): Promise<void> {
  for (const { data } of at.mesh.server.ledger.after(desk, 0)) decode(data, contentTypes.json);
  await readByAll(at, desk);
}

async function holds(door: ValueDoor, value: unknown): Promise<"refused" | "taken"> {
  const at = await giveAt(door, value);
  const { t, mesh, refused } = at;
  try {
    if (refused !== undefined && !isMeshError(refused)) throw refused;
    if (mesh.server.ledger.after(desk, 0).length === 0) {
      // It never began: whoever started it was told, or an operator is.
      const letters = await t.letters();
      expect(refused !== undefined || letters.length > 0 || door.name.endsWith("wire")).toBe(true);
      return "refused";
    }
    await readStrictly(at);
    // Another process reads it from the first turn, and can end it.
    await t.crash();
    await t
      .anySaga(desk)
      .cancel("enough")
      .catch((error: unknown) => {
        if (!isMeshError(error, "SAGA_ENDED")) throw error;
      });
    const { status } = await t.anySaga(desk).result();
    expect(["cancelled", "completed", "failed"]).toContain(status);
    await readStrictly(at);
    return refused === undefined ? "taken" : "refused";
  } finally {
    await t[Symbol.asyncDispose]();
  }
}

describe.each(valueDoors.map((door, place) => ({ ...door, place })))(
  "a value that comes as $name",
  (door) => {
    test("is refused with a code, or can be read by every reader; and the saga ends when it is cancelled", async () => {
      const values = Array.from(
        { length: share(2, hostile.length) },
        (_, k) => hostile[(2 * door.place + k) % hostile.length],
      );
      for (const value of values) await holds(door, value);
      const runs = share(0, 25);
      if (runs > 0)
        await fc.assert(
          fc.asyncProperty(anyValue, async (value) => {
            await holds(door, value);
          }),
          {
            numRuns: runs,
          },
        );
    });
  },
);

test("a value that is plain is taken at every door", async () => {
  for (const door of valueDoors) expect(await holds(door, { plain: "value" }), door.name).toBe("taken");
});
