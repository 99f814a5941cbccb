/** ListingPort: rows by which sagas are found; and which sagas something was stored of since. */
import { describe, expect, test } from "vitest";
import type { Ports, StoredRow } from "../../services/wire/ports.ts";
import { bytes, type MeshUnderTest, sagaId, text } from "./mesh-under-test.ts";

/** A write's own Msg-Id. */
let writes = 0;
const own = () => `w${writes++}`;

const keysOf = async ({ listing }: Ports, pattern: string, afterPlace?: number): Promise<string[]> =>
  (await rowsOf(listing!, pattern, afterPlace)).map(({ key }) => key);

/** Asked for beside others, of which one stands never. */
const standing = async ({ listing }: Ports, key: string): Promise<string[]> =>
  (await listing!.standing([key, "failed.asks.hire.never"])).map((row) => row.key);

async function rowsOf(
  listing: NonNullable<Ports["listing"]>,
  pattern: string,
  afterPlace?: number,
): Promise<StoredRow[]> {
  const all: StoredRow[] = [];
  for await (const rows of listing.read(pattern, afterPlace)) all.push(...rows);
  return all;
}

export const listingContract = (mesh: () => MeshUnderTest): void => {
  describe("listing", () => {
    test("a row is what was written under its key last, and stands where it was written then", async () => {
      const { ports } = mesh();
      const { listing } = ports;
      await listing!.put("running.rests.hire.a", bytes("one"), own());
      await listing!.put("running.rests.hire.b", bytes("b"), own());
      await listing!.put("running.rests.hire.a", bytes("two"), own());
      const rows = await rowsOf(listing!, "*.*.*.*");
      expect(rows.map(({ key, data }) => [key, text(data)])).toEqual([
        ["running.rests.hire.b", "b"],
        ["running.rests.hire.a", "two"],
      ]);
      expect(await keysOf(ports, "*.*.*.*", rows[0]!.place)).toEqual(["running.rests.hire.a"]);
      expect(await keysOf(ports, "*.*.*.*", rows[1]!.place)).toEqual([]);
    });

    test("what is sent again and arrives late takes no later row's place", async () => {
      const { ports } = mesh();
      const { listing } = ports;
      await listing!.put("running.rests.hire.a", bytes("one"), "first");
      await listing!.remove("running.rests.hire.a", "second");
      await listing!.put("running.rests.hire.a", bytes("one"), "first");
      expect(await keysOf(ports, "*.*.*.*")).toEqual([]);
      await listing!.put("running.rests.hire.a", bytes("three"), "third");
      await listing!.remove("running.rests.hire.a", "second");
      expect(await keysOf(ports, "*.*.*.*")).toEqual(["running.rests.hire.a"]);
    });

    test("a pattern picks by each part of the key", async () => {
      const { ports } = mesh();
      const keys = ["running.rests.hire.a", "running.asks.hire.b", "failed.rests.pay.c", "failed.asks.pay.d"];
      for (const key of keys) await ports.listing!.put(key, bytes("x"), own());
      expect(await keysOf(ports, "*.*.*.*")).toEqual(keys);
      expect(await keysOf(ports, "*.asks.*.*")).toEqual([keys[1], keys[3]]);
      expect(await keysOf(ports, "failed.*.*.*")).toEqual([keys[2], keys[3]]);
      expect(await keysOf(ports, "*.*.pay.*")).toEqual([keys[2], keys[3]]);
      expect(await keysOf(ports, "*.*.*.c")).toEqual([keys[2]]);
      expect(await keysOf(ports, "completed.*.*.*")).toEqual([]);
    });

    test("a row that was taken away is gone, also where there was none, and may be written again", async () => {
      const { ports } = mesh();
      const key = "running.rests.hire.a";
      await ports.listing!.put(key, bytes("one"), own());
      expect(await standing(ports, key)).toEqual([key]);
      for (const each of [key, key, "running.asks.hire.a"]) await ports.listing!.remove(each, own());
      expect(await standing(ports, key)).toEqual([]);
      expect(await keysOf(ports, "*.*.*.*")).toEqual([]);
      await ports.listing!.put(key, bytes("two"), own());
      expect(await standing(ports, key)).toEqual([key]);
      expect(await keysOf(ports, "*.*.*.*")).toEqual([key]);
    });

    test("of thousands of rows a few are found", async () => {
      const { ports } = mesh();
      const each = Array.from({ length: 2_500 }, (_, n) => n);
      await Promise.all(
        each.map((n) =>
          ports.listing!.put(`${n % 500 === 7 ? "failed" : "completed"}.rests.hire.s${n}`, bytes("x"), own()),
        ),
      );
      expect((await keysOf(ports, "failed.*.*.*")).sort()).toEqual(
        [7, 507, 1_007, 1_507, 2_007].map((n) => `failed.rests.hire.s${n}`).sort(),
      );
      expect(await keysOf(ports, "*.*.*.*")).toHaveLength(2_500);
    });

    test("what holds the rows has one word as long as it is the same, and a pin that is no row", async () => {
      const { ports } = mesh();
      const { listing } = ports;
      const { made, pin } = (await listing!.holder())!;
      expect(made).toBeTypeOf("string");
      expect(pin).toBeUndefined();
      await listing!.put("running.rests.hire.a", bytes("x"), own());
      const place = await listing!.pin(0);
      await listing!.put("running.rests.hire.b", bytes("x"), own());
      expect(await listing!.holder()).toEqual({ made, pin: place });
      const [first, second] = await rowsOf(listing!, "*.*.*.*");
      expect(place).toBeGreaterThan(first!.place);
      expect(place).toBeLessThan(second!.place);
      expect(await keysOf(ports, "*.*.*.*")).toEqual(["running.rests.hire.a", "running.rests.hire.b"]);
    });

    test("the pin goes on from where it stands, and from nowhere else", async () => {
      const { listing } = mesh().ports;
      const refused = { code: "WRONG_SEQUENCE" };
      await expect(listing!.pin(7)).rejects.toMatchObject(refused);
      const first = await listing!.pin(0);
      await expect(listing!.pin(0)).rejects.toMatchObject(refused);
      const second = await listing!.pin(first);
      expect(second).toBeGreaterThan(first);
      await expect(listing!.pin(first)).rejects.toMatchObject(refused);
      expect((await listing!.holder())?.pin).toBe(second);
    });
  });

  describe("what was stored since", () => {
    test("names the sagas of all that stands behind a place, and no other", async () => {
      const { ledger } = mesh().ports;
      const append = (saga: string, expectedSeq: number) =>
        ledger.append(sagaId(saga), { data: bytes(saga), headers: {}, expectedSeq });
      const since = async (places: readonly number[]): Promise<string[]> => {
        const found = new Set<string>();
        for await (const { messages } of ledger.since(places))
          for (const { subject } of messages) found.add(subject.split(".")[1] ?? "");
        return [...found].sort();
      };
      const start = await ledger.end();
      const { seq } = await append("a", 0);
      await append("b", 0);
      const middle = await ledger.end();
      await append("c", 0);
      await append("a", seq);
      expect(await since(start)).toEqual(["a", "b", "c"]);
      expect(await since(middle)).toEqual(["a", "c"]);
      expect(await since(await ledger.end())).toEqual([]);
      expect(await since([])).toEqual(["a", "b", "c"]);
    });

    test("is told up to where each shard ends, and what is stored later from there on", async () => {
      const { ledger } = mesh().ports;
      const append = (saga: string) =>
        ledger.append(sagaId(saga), { data: bytes(saga), headers: {}, expectedSeq: 0 });
      const places: number[] = [];
      const read = async (): Promise<string[]> => {
        const found: string[] = [];
        for await (const { shard, through, messages } of ledger.since(places)) {
          for (const { subject, seq } of messages) {
            expect(seq).toBeGreaterThan(places[shard] ?? 0);
            expect(seq).toBeLessThanOrEqual(through);
            found.push(subject.split(".")[1] ?? "");
          }
          places[shard] = through;
        }
        return [...new Set(found)].sort();
      };
      await append("a");
      await append("b");
      expect(await read()).toEqual(["a", "b"]);
      expect(places).toEqual(await ledger.end());
      expect(await read()).toEqual([]);
      await append("c");
      expect(await read()).toEqual(["c"]);
    });
  });
};
