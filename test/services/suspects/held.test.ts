/**
 * What a holding of the loop is taken for: by the time that the loop's thread has run, whatever the looks come to.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { createHeldJudge, type Verdict } from "../../../services/suspects/held.ts";

const bounds = { suspectMs: 500, endMs: 20_000 };
const hold = { number: 1, key: "saga.a", what: "signal boom" };

/** The verdicts of so many looks at one holding whose thread runs so long between two. */
const verdicts = (looks: number, ranMsEach: number): Verdict["type"][] => {
  const judge = createHeldJudge(bounds);
  return Array.from({ length: looks }, (_, n) => judge(hold, 7 + n * ranMsEach).type);
};

describe("a holding", () => {
  test("that runs is suspect and then ended, each told once", () => {
    const told = verdicts((2 * bounds.endMs) / limits.heldLookMs, limits.heldLookMs);
    expect(told.filter((one) => one !== "nothing")).toEqual(["suspect", "end"]);
    expect(told.indexOf("suspect")).toBe(Math.ceil(bounds.suspectMs / limits.heldLookMs));
    expect(told.indexOf("end")).toBe(bounds.endMs / limits.heldLookMs);
  });

  test("of a process that gets a fiftieth of its machine is not suspect within ten leases of its inputs (XH1)", () => {
    const looks = (10 * limits.inboxAckWaitMs) / limits.heldLookMs;
    const told = verdicts(looks, limits.heldLookMs / 50);
    expect(told.slice(0, (10 * bounds.suspectMs) / limits.heldLookMs)).not.toContain("suspect");
    expect(told).not.toContain("end");
  });

  test("that waits for ever, running for no time, is ended in the end (XH1)", () => {
    const looks = (10 * bounds.endMs) / limits.heldLookMs + 1;
    expect(verdicts(looks, 0).filter((one) => one !== "nothing")).toEqual(["suspect", "end"]);
  });

  test("is over once it ends, or another follows it; only where it was suspect (XH2)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ number: fc.constantFrom(0, 1, 3, 5), ran: fc.nat(400) }), { maxLength: 60 }),
        (looks) => {
          const judge = createHeldJudge(bounds);
          let ran = 0;
          let suspect: number | undefined;
          for (const look of looks) {
            ran += look.ran;
            const said = judge(look.number === 0 ? undefined : { ...hold, number: look.number }, ran);
            if (said.type === "over") expect(said.hold.number).toBe(suspect);
            if (suspect !== undefined && look.number !== suspect) expect(said.type).toBe("over");
            if (said.type === "over") suspect = undefined;
            if (said.type === "suspect") suspect = said.hold.number;
          }
        },
      ),
    );
  });
});
