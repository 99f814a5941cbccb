/** Replies: a model answers with more calls at once than anybody can want, of reads and of effects that are to be undone. */
import type { Attack } from "../attack.ts";

const sleepMs = 3_600_000;

export const attack: Attack = {
  name: "replies",
  does: "has a model reply with up to a thousand calls",
  everyMs: 15_000,
  short: false,
  strike: async (field, chance) => {
    const count = chance.pick([40, 120, 250, 300, 1_000]);
    const names = chance.pick([["peek"], ["peek", "hold"]]);
    const calls = Array.from({ length: count }, (_, n) => names[n % names.length]);
    await field.begin(field.nameSaga("planner"), { plan: [{ calls }, { wait: sleepMs }] });
  },
};
