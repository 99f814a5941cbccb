/** ThrottlePort: entries that change by compare-and-set. */
import { describe, expect, test } from "vitest";
import { bytes, codeOf, type MeshUnderTest, text } from "./mesh-under-test.ts";

export const throttlesContract = (mesh: () => MeshUnderTest): void => {
  describe("throttles", () => {
    test("an entry nobody wrote is undefined, and the first write expects that", async () => {
      const { throttles } = mesh().ports;
      expect(await throttles.read("model.fast")).toBeUndefined();
      await throttles.write("model.fast", bytes("one"), 0);
      expect(text((await throttles.read("model.fast"))!.data)).toBe("one");
      expect(await codeOf(throttles.write("model.fast", bytes("two"), 0))).toBe("WRONG_SEQUENCE");
    });

    test("a write on an older revision is refused and changes nothing", async () => {
      const { throttles } = mesh().ports;
      await throttles.write("tool.charge", bytes("one"), 0);
      const { revision } = (await throttles.read("tool.charge"))!;
      await throttles.write("tool.charge", bytes("two"), revision);
      expect(await codeOf(throttles.write("tool.charge", bytes("three"), revision))).toBe("WRONG_SEQUENCE");
      expect(text((await throttles.read("tool.charge"))!.data)).toBe("two");
    });

    test("entries of different keys do not disturb each other, and all are listed", async () => {
      const { throttles } = mesh().ports;
      await throttles.write("tool.a", bytes("a"), 0);
      await throttles.write("model.b", bytes("b"), 0);
      const { revision } = (await throttles.read("tool.a"))!;
      await throttles.write("tool.a", bytes("aa"), revision);
      const listed = (await throttles.list()).map(({ key, data }) => [key, text(data)]);
      expect(listed.sort()).toEqual([
        ["model.b", "b"],
        ["tool.a", "aa"],
      ]);
    });
  });
};
