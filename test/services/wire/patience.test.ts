/**
 * Patience: which failures are met with the same request again, for how long, and how its wait is ended.
 *
 * Method: a request that fails as told, on a virtual clock.
 */
import { describe, expect, test } from "vitest";
import { type ErrorCode, MeshError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { createVirtualClock } from "../../../services/memory/clock.ts";
import { isTransient, patiently } from "../../../services/wire/patience.ts";

/** A request that fails with the codes in turn, then succeeds; it notes when it was made. */
function failing(codes: readonly ErrorCode[]) {
  const clock = createVirtualClock(0);
  const madeAt: number[] = [];
  const request = async () => {
    const code = codes[madeAt.length];
    madeAt.push(clock.now());
    if (code !== undefined) throw new MeshError(code, "as told");
    return "done";
  };
  return { clock, madeAt, request };
}

const never = (count: number): ErrorCode[] => Array.from({ length: count }, () => "UNAVAILABLE");

describe("patiently", () => {
  test.each(["UNAVAILABLE", "STORAGE_FULL", "WRITE_IN_FLIGHT", "DUPLICATE_IN_FLIGHT"] as const)(
    "%s is met with the same request again",
    async (code) => {
      const { clock, madeAt, request } = failing([code, code]);
      expect(await clock.until(patiently(clock, request))).toBe("done");
      expect(madeAt).toHaveLength(3);
    },
  );

  test.each(["WRONG_SEQUENCE", "TOO_LARGE", "SERVER_REFUSED", "LEDGER_BROKEN"] as const)(
    "%s is thrown at once",
    async (code) => {
      const { clock, madeAt, request } = failing([code]);
      await expect(clock.until(patiently(clock, request))).rejects.toMatchObject({ code });
      expect(madeAt).toEqual([0]);
    },
  );

  test("what is not a coded error is thrown at once", async () => {
    const clock = createVirtualClock(0);
    const bug = new TypeError("a bug");
    await expect(clock.until(patiently(clock, () => Promise.reject(bug)))).rejects.toBe(bug);
    expect(isTransient(bug)).toBe(false);
  });

  test("pauses double up to a quarter of a second while it may be an election, then up to a second", async () => {
    const { clock, madeAt, request } = failing(never(70));
    await clock.until(patiently(clock, request));
    const pauses = madeAt.slice(1).map((at, i) => at - (madeAt[i] ?? 0));
    expect(pauses.slice(0, 6)).toEqual([25, 50, 100, 200, 250, 250]);
    const outage = madeAt.findIndex((at) => at >= 15_000);
    expect(new Set(pauses.slice(4, outage - 1))).toEqual(new Set([250]));
    expect(pauses.slice(outage, outage + 4)).toEqual([500, 1_000, 1_000, 1_000]);
  });

  test("after its time the last failure is thrown, and never later", async () => {
    const { clock, madeAt, request } = failing(never(1_000));
    await expect(clock.until(patiently(clock, request))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(clock.now()).toBeLessThanOrEqual(limits.serverPatienceMs);
    expect(madeAt.at(-1)).toBeGreaterThan(limits.serverPatienceMs - 1_001);
  });

  test("what is full is told within 10 s, and waited for without end by what must not be given up", async () => {
    const full = (count: number): ErrorCode[] => Array.from({ length: count }, () => "STORAGE_FULL");
    const one = failing(full(1_000));
    await expect(one.clock.until(patiently(one.clock, one.request))).rejects.toMatchObject({
      code: "STORAGE_FULL",
    });
    expect(one.clock.now()).toBeLessThanOrEqual(10_000);
    const { clock, request } = failing(full(10_000));
    expect(await clock.until(patiently(clock, request, { patienceMs: Number.POSITIVE_INFINITY }))).toBe(
      "done",
    );
  });

  test("an endless patience outlasts a day without a server", async () => {
    const { clock, request } = failing(never(86_400));
    const patience = patiently(clock, request, { patienceMs: Number.POSITIVE_INFINITY });
    expect(await clock.until(patience)).toBe("done");
    expect(clock.now()).toBeGreaterThan(86_000_000);
  });

  test("an abort ends the pause with its own reason", async () => {
    const { clock, madeAt, request } = failing(never(1_000));
    const controller = new AbortController();
    const reason = new Error("enough");
    clock.at(10, () => controller.abort(reason));
    await expect(clock.until(patiently(clock, request, { signal: controller.signal }))).rejects.toBe(reason);
    expect(madeAt).toEqual([0]);
    expect(clock.now()).toBe(10);
  });

  test("an abort while the request is open lets it end, and begins no other", async () => {
    const clock = createVirtualClock(0);
    const controller = new AbortController();
    let made = 0;
    const request = async () => {
      made += 1;
      controller.abort(new Error("enough"));
      throw new MeshError("UNAVAILABLE", "as told");
    };
    await expect(clock.until(patiently(clock, request, { signal: controller.signal }))).rejects.toMatchObject(
      { code: "UNAVAILABLE" },
    );
    expect(made).toBe(1);
  });
});
