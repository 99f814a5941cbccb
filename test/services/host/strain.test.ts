/**
 * Strain: what a host takes follows how late its pulse is. Method: pulses told one by one, in virtual time.
 */
import { expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { createStrain } from "../../../services/host/strain.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

function strainOf() {
  const { clock } = createMemoryMesh({ seed: 1 });
  const said: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void said.push(fields) };
  return { clock, said, strain: createStrain({ clock, log }, "h") };
}

const inTime = (strain: ReturnType<typeof strainOf>["strain"], pulses: number) => {
  for (let k = 0; k < pulses; k++) strain.pulse(5);
};

test("pulses in time take nothing from a host, a late one halves what it takes, a lapse takes it to a quarter (KB1)", () => {
  const { strain } = strainOf();
  inTime(strain, 20);
  expect(strain.share()).toBe(1);
  strain.pulse(limits.strainedMs);
  expect(strain.share()).toBe(1 / 2);
  strain.lapsed(4_000);
  expect(strain.share()).toBe(1 / 8);
});

test("it never takes nothing, and as much as before after some time of pulses in time (KB1)", () => {
  const { strain } = strainOf();
  for (let k = 0; k < 50; k++) strain.lapsed(4_000);
  expect(strain.share()).toBe(limits.strainedShareMin);
  inTime(strain, limits.pulsesInTime - 1);
  expect(strain.share()).toBe(limits.strainedShareMin);
  inTime(strain, 3 * limits.pulsesInTime + 1);
  expect(strain.share()).toBe(1);
});

test("it is said once in half a minute, however often it happens (KB2)", async () => {
  const { strain, said, clock } = strainOf();
  for (let second = 0; second < 60; second++) {
    strain.pulse(700);
    await clock.advance(1_000);
  }
  expect(said).toEqual([
    { host: "h", lateMs: 700, share: 1 / 2 },
    { host: "h", lateMs: 700, share: limits.strainedShareMin },
  ]);
});
