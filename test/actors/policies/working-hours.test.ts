/**
 * Goal: a call outside of the hours is not made, by the turn's recorded time and the zone's own clock. Method: given,
 * when, then at chosen times; winter and summer, midnight, and both sides of each bound.
 */
import { describe, expect, test } from "vitest";
import { type WorkingHours, workingHours } from "../../../actors/policies/working-hours.ts";
import { given, replied, started, voted } from "../../../services/testing/given.ts";
import { agentOf, call, look } from "../../support/workbench.ts";

const at = (iso: string) => ({ at: Date.parse(iso) });
const office: WorkingHours = { zone: "Europe/Berlin", from: "09:00", to: "17:30" };
/** What a call at this time becomes. */
const kindAt = (hours: WorkingHours, iso: string) =>
  given(agentOf({ policies: [workingHours(hours)] }), started({ of: "x" })).when(
    replied({ calls: [call("look")] }),
    at(iso),
  ).intents[0]?.kind;

describe("a call", () => {
  test.each([
    ["at the first minute in winter", "2026-01-15T08:00:00Z", "tool"],
    ["at the last minute in winter", "2026-01-15T16:29:59Z", "tool"],
    ["a minute before, in winter", "2026-01-15T07:59:59Z", "denied"],
    ["at the end, in winter", "2026-01-15T16:30:00Z", "denied"],
    ["at the first minute in summer", "2026-07-15T07:00:00Z", "tool"],
    ["at the end, in summer", "2026-07-15T15:30:00Z", "denied"],
    ["at noon on a Sunday", "2026-01-18T12:00:00Z", "denied"],
    ["on the Monday that it still is not elsewhere", "2026-01-19T08:00:00Z", "tool"],
  ])("%s is as the zone's clock says", (_, iso, kind) => {
    expect(kindAt(office, iso)).toBe(kind);
  });

  test("in hours over midnight belongs to the day on which they begin", () => {
    const night: WorkingHours = { zone: "UTC", days: ["fri"], from: "22:00", to: "06:00" };
    const kinds = [
      "2026-01-16T21:59:00Z",
      "2026-01-16T22:00:00Z",
      "2026-01-17T05:59:00Z",
      "2026-01-17T06:00:00Z",
      "2026-01-16T05:00:00Z",
      "2026-01-17T22:30:00Z",
    ].map((iso) => kindAt(night, iso));
    expect(kinds).toEqual(["denied", "tool", "tool", "denied", "denied", "denied"]);
  });

  test("of another tool is not bound", () => {
    expect(kindAt({ ...office, tool: { name: "hold" } }, "2026-01-18T12:00:00Z")).toBe("tool");
    expect(kindAt({ ...office, tool: look }, "2026-01-18T12:00:00Z")).toBe("denied");
  });

  test("outside may be put before people instead, and is made at night once they agree", () => {
    const asking = workingHours({
      ...office,
      otherwise: { by: ["duty"], withinMs: 60_000, otherwise: "deny" },
    });
    const story = given(agentOf({ policies: [asking] }), started({ of: "x" })).when(
      replied({ calls: [call("look")] }),
      at("2026-01-18T02:00:00Z"),
    );
    story.then({ kind: "task", about: "approval", to: ["duty"] });
    story
      .when(voted("approval", "approve", { by: "duty" }), at("2026-01-18T03:00:00Z"))
      .then({ kind: "tool", name: "look" });
  });
});

test("what is wrong with hours is told when the application is loaded", () => {
  const faultsOf = (hours: Partial<WorkingHours>) => workingHours({ ...office, ...hours }).faults;
  expect(faultsOf({})).toEqual([]);
  expect(faultsOf({ to: "24:00" })).toEqual([]);
  expect(faultsOf({ zone: "Europe/Nowhere" })).toEqual(['"Europe/Nowhere" is no time zone']);
  expect(faultsOf({ from: "9", to: "24:01", days: ["day" as never] })).toEqual([
    'from is "9", not like "09:00"',
    'to is "24:01", not like "17:30"',
    '"day" is no day: sun, mon, tue, wed, thu, fri, sat',
  ]);
  expect(faultsOf({ from: "17:30" })).toEqual(["from and to are the same"]);
});
