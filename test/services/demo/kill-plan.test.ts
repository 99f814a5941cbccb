/**
 * Goal: that the demo's kills strike everywhere over the seeds people try, and the same way each time.
 * Method: the plans themselves; they are pure.
 */
import { describe, expect, test } from "vitest";
import { killsMax, planKills, targets, windows } from "../../../services/demo/kill-plan.ts";

const seeds = Array.from({ length: 50 }, (_, index) => index + 1);
const defaultKills = 3;
const orderOf = (tool: string) => targets.findIndex((target) => target.tool.name === tool);

describe("the kill plan", () => {
  test("over the seeds 1 to 50 every effect class meets every window", () => {
    const met = new Set(
      seeds.flatMap((seed) =>
        planKills(seed, defaultKills).map(({ effect, window }) => `${effect} ${window}`),
      ),
    );
    const classes = ["read", "idempotent", "probe", "once"];
    expect([...met].sort()).toEqual(
      classes.flatMap((effect) => windows.map((window) => `${effect} ${window}`)).sort(),
    );
  });

  test("over the seeds 1 to 50 every tool that can be hit is hit in every window", () => {
    const met = new Set(
      seeds.flatMap((seed) => planKills(seed, defaultKills).map(({ tool, window }) => `${tool} ${window}`)),
    );
    const tools = new Set(targets.map((target) => target.tool));
    expect(met.size).toBe(tools.size * windows.length);
  });

  test("two kills or more hold a host's and after it a worker's", () => {
    for (const seed of seeds)
      for (let kills = 2; kills <= killsMax; kills++) {
        const plan = planKills(seed, kills);
        const host = plan.findIndex(({ role }) => role === "host");
        expect(host).not.toBe(-1);
        expect(plan.slice(host).some(({ role }) => role === "worker")).toBe(true);
      }
  });

  test("a plan has as many kills as asked for, in the order of the work", () => {
    for (const seed of seeds)
      for (let kills = 0; kills <= killsMax; kills++) {
        const order = planKills(seed, kills).map(({ tool }) => orderOf(tool));
        expect(order).toHaveLength(kills);
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
  });

  test("a tool is hit no more often and no later than it is asked for, and the deposit once", () => {
    for (const seed of seeds)
      for (const { tool, nth } of planKills(seed, killsMax)) {
        const requests = targets[orderOf(tool)]?.requests ?? 0;
        expect(nth).toBeLessThanOrEqual(requests === 1 ? 1 : requests + killsMax);
        expect(
          planKills(seed, killsMax).filter((kill) => kill.tool === "charge_deposit").length,
        ).toBeLessThanOrEqual(1);
      }
  });

  test("the same seed and number give the same plan", () => {
    for (const seed of seeds) expect(planKills(seed, defaultKills)).toEqual(planKills(seed, defaultKills));
    expect(planKills(1, defaultKills)).not.toEqual(planKills(2, defaultKills));
  });
});
