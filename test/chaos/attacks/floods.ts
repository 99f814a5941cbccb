/** Floods: more at once than anybody would send: signals to one saga, sagas in one moment. */
import { subjects } from "../../../protocol/subjects.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

const sleepMs = 3_600_000;

async function signals(field: Field, chance: SeededChance): Promise<void> {
  const saga = field.nameSaga("planner");
  await field.begin(saga, { plan: [{ wait: sleepMs }, { calls: ["book"] }, { wait: sleepMs }] });
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(chance.between(1, 2_000)) }));
  await Promise.all(
    Array.from({ length: chance.between(80, 200) }, () => field.store(subjects.signal(saga, "note"), body)),
  );
}

async function starts(field: Field, chance: SeededChance): Promise<void> {
  await Promise.all(
    Array.from({ length: chance.between(8, 20) }, () =>
      field.begin(field.nameSaga("planner"), { plan: [{ calls: ["peek"] }] }),
    ),
  );
}

export const attack: Attack = {
  name: "floods",
  does: "sends a hundred signals and more to one saga, starts a dozen sagas and more at once",
  everyMs: 12_000,
  short: true,
  strike: (field, chance) => chance.pick([signals, starts])(field, chance),
};
