/** What is left to store in: from where on it is little, which of several counts, and how it is said. */
import { describe, expect, test } from "vitest";
import { type Capacity, hoursLeft, judgeStorageLeft, scarcest, storageText } from "../../protocol/storage.ts";

const disk = (leftBytes: number, allBytes: number): Capacity => ({ of: "the disk", leftBytes, allBytes });
const levelOf = (capacity: Capacity, given = {}) => judgeStorageLeft(capacity, given).level;
const [mega, giga] = [1e6, 1e9];

describe("what is left", () => {
  test.each([
    [200, 1_000, "fine"],
    [199, 1_000, "low"],
    [50, 1_000, "low"],
    [49, 1_000, "reserved"],
    [0, 1_000, "reserved"],
  ])("%i MB of %i are %s: a fifth is low, a twentieth is kept", (leftBytes, all, level) => {
    expect(levelOf(disk(leftBytes * mega, all * mega))).toBe(level);
  });

  test("of a very large disk is not low, or kept, by its share", () => {
    expect(levelOf(disk(25 * giga, 4_000 * giga))).toBe("fine");
    expect(levelOf(disk(2 * giga, 4_000 * giga))).toBe("low");
    expect(levelOf(disk(giga, 4_000 * giga))).toBe("reserved");
  });

  test("is low where it is used up within a day, however much it is", () => {
    const half = disk(500 * giga, 1_000 * giga);
    expect(levelOf(half, { bytesPerHour: 20 * giga })).toBe("fine");
    expect(levelOf(half, { bytesPerHour: 21 * giga })).toBe("low");
    expect(levelOf(half, { bytesPerHour: -21 * giga })).toBe("fine");
  });

  test("is kept as a host was told, or not at all", () => {
    expect(levelOf(disk(499 * mega, giga), { reserveBytes: 500 * mega })).toBe("reserved");
    expect(levelOf(disk(0, giga), { reserveBytes: 0 })).toBe("low");
  });

  test("is told with how long it lasts, where that is known", () => {
    const left = judgeStorageLeft(disk(12 * giga, 100 * giga), { bytesPerHour: 2 * giga });
    expect(hoursLeft(left)).toBe(6);
    expect(storageText(left)).toBe(
      "the disk has 12 GB left of 100 GB; 2.0 GB an hour come in, so it is full in about 6 hours",
    );
    expect(storageText(judgeStorageLeft(disk(12 * giga, 100 * giga)))).toBe(
      "the disk has 12 GB left of 100 GB",
    );
    const emptying = judgeStorageLeft(disk(12 * giga, 100 * giga), { bytesPerHour: -1 });
    expect(storageText(emptying)).toContain("does not fill up now");
  });
});

test("of several the one that stops the mesh first counts: by its level, then by its share", () => {
  const [fine, low, lower, reserved] = [
    judgeStorageLeft({ ...disk(90, 100), of: "fine" }),
    judgeStorageLeft({ ...disk(15, 100), of: "low" }),
    judgeStorageLeft({ ...disk(10, 100), of: "lower" }),
    judgeStorageLeft({ ...disk(50, 100), of: "reserved" }, { reserveBytes: 60 }),
  ];
  expect(scarcest([fine, low, reserved, lower])?.of).toBe("reserved");
  expect(scarcest([fine, low, lower])?.of).toBe("lower");
  expect(scarcest([])).toBeUndefined();
});
