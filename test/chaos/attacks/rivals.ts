/** Rivals: several change one entry at once, so that its history has something to be wrong about. */
import { setTimeout as delay } from "node:timers/promises";
import { isMeshError } from "../../../protocol/errors.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

/** Nothing of the workload has this name. */
const key = "tool.rivals";

async function rival({ ports, over }: Field, chance: SeededChance, name: string): Promise<void> {
  for (let n = 0; n < 10 && !over.aborted; n++) {
    await delay(chance.between(0, 60));
    const text = `${name} ${n} ${chance.nonce()}`;
    await (async () => {
      const of = chance.happens(0.5) ? ports.throttles : ports.registry;
      await of.write(key, Buffer.from(text), (await of.read(key))?.revision ?? 0);
    })().catch((error: unknown) => {
      if (!isMeshError(error)) throw error; // Another was first, or nobody answered.
    });
  }
}

export const attack: Attack = {
  name: "rivals",
  does: "changes one entry of two buckets from four sides at once",
  everyMs: 7_000,
  short: true,
  strike: async (field, chance) => {
    const names = ["ann", "bob", "cid", "dan"];
    await Promise.all(names.map((name) => rival(field, chance.fork(name), name)));
  },
};
