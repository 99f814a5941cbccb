/** Cancels: at a random moment of a saga's life, and a host is killed at that moment every other time. */
import { setTimeout as delay } from "node:timers/promises";
import { createWorkload } from "../../simulation/workload.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const kind = chance.pick(["journey", "planner"] as const);
  const one = { journeys: kind === "journey" ? 1 : 0, planners: kind === "planner" ? 1 : 0 };
  const profile = { ...one, lengthMax: 5, cancel: 0 };
  const { wishes } = createWorkload(chance.between(0, 1_000_000), profile);
  const { input } = wishes[0]!.body as { input: object }; // Its start: the first wish of each.
  const saga = field.nameSaga(kind);
  await field.begin(saga, input);
  if (chance.happens(0.8)) await field.until("begun", saga);
  await delay(chance.happens(0.3) ? chance.between(0, 100) : chance.between(0, 4_000));
  const hosts = field.crew.members.filter(({ role }) => role === "host");
  const isKilled = chance.happens(0.5);
  const isFirst = chance.happens(0.5);
  if (isKilled && isFirst) chance.pick(hosts).kill(chance.between(200, 2_000));
  await field.cancel(saga);
  if (!isKilled || isFirst) return;
  await delay(chance.between(0, 200));
  chance.pick(hosts).kill(chance.between(200, 2_000));
}

export const attack: Attack = {
  name: "cancels",
  does: "cancels a saga at a random moment of its life, and kills a host around that moment every other time",
  everyMs: 9_000,
  short: true,
  strike,
};
