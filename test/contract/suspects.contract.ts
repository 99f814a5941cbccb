/** SuspectPort: notes that are replaced, taken away by revision, and vanish. */
import { describe, expect, test } from "vitest";
import { bytes, type MeshUnderTest, text } from "./mesh-under-test.ts";

const hourMs = 3_600_000;

export const suspectsContract = (mesh: () => MeshUnderTest): void => {
  describe("suspects", () => {
    test("a note nobody wrote is undefined, and the last one written counts", async () => {
      const { suspects } = mesh().ports;
      expect(await suspects.get("saga.a")).toBeUndefined();
      const first = await suspects.put("saga.a", bytes("one"), hourMs);
      const second = await suspects.put("saga.a", bytes("two"), hourMs);
      expect(second).toBeGreaterThan(first);
      const { data, revision } = (await suspects.get("saga.a"))!;
      expect([text(data), revision]).toEqual(["two", second]);
    });

    test("a note that is taken away is gone, and those of other keys stay", async () => {
      const { suspects } = mesh().ports;
      const revision = await suspects.put("saga.a", bytes("a"), hourMs);
      await suspects.put("saga.b", bytes("b"), hourMs);
      await suspects.remove("saga.a", revision);
      await suspects.remove("saga.a", revision);
      expect(await suspects.get("saga.a")).toBeUndefined();
      expect(text((await suspects.get("saga.b"))!.data)).toBe("b");
    });

    test("a note that somebody wrote since is not taken away with the former one", async () => {
      const { suspects } = mesh().ports;
      const former = await suspects.put("work.7", bytes("mine"), hourMs);
      await suspects.put("work.7", bytes("another's"), hourMs);
      await suspects.remove("work.7", former);
      expect(text((await suspects.get("work.7"))!.data)).toBe("another's");
    });

    test("a note is gone once its time has run out", async () => {
      const { suspects } = mesh().ports;
      await suspects.put("saga.a", bytes("a"), 1_000);
      await mesh().until("the note is gone", async () => (await suspects.get("saga.a")) === undefined);
      expect(await suspects.get("saga.a")).toBeUndefined();
    });
  });
};
