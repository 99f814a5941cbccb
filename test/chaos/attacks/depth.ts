/** Depth: values that are deeper, wider, longer or stranger than anything that can be kept. */
import { setTimeout as delay } from "node:timers/promises";
import { headers, subjects } from "../../../protocol/subjects.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import type { Attack, Field } from "../attack.ts";
import { tasksOf } from "./votes.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

const nested = (depth: number, open: string, close: string): string =>
  open.repeat(depth) + "1" + close.repeat(depth);

/** JSON texts; among the depths are the codec's limit and those just below it. */
const values: readonly ((chance: SeededChance) => string)[] = [
  (chance) => nested(chance.pick([60, 64, 65, 90, 93, 94, 96, 97, 99, 100, 101, 3_000]), "[", "]"),
  (chance) => nested(chance.pick([60, 64, 65, 90, 94, 97, 100, 101, 3_000]), '{"a":', "}"),
  () => '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}',
  () => `"${"\\ud800".repeat(20)}"`,
  () => `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":${n}`).join(",")}}`,
  () => `{"${"k".repeat(100_000)}":1}`,
  () => `"${"x".repeat(450_000)}"`, // Twice in a message is what still fits into one.
  () => "[1e999,-0,123456789012345678901234567890]",
  () => '{"a":1,"a":{"b":2}}',
];

/**
 * Each member of `known` is as its reader wants it; the value comes beside it, or in its place. But for a name: a start of
 * what no host has served waits for one that does, and that is as it should be.
 */
const body = (chance: SeededChance, known: Readonly<Record<string, string>>): Buffer => {
  const value = chance.pick(values)(chance);
  const names = Object.keys(known);
  const spoiled = chance.pick([...names.filter((name) => name !== "name"), "beside"]);
  const members = names.map((name) => `"${name}":${name === spoiled ? value : known[name]!}`);
  return Buffer.from(`{${[...members, ...(spoiled === "beside" ? [`"beside":${value}`] : [])].join(",")}}`);
};

async function strikeSaga(field: Field, chance: SeededChance, saga: SagaId): Promise<void> {
  const fields = { [headers.event]: chance.nonce() };
  switch (chance.pick(["signal", "vote", "start"] as const)) {
    case "signal": {
      const [name, known] = chance.pick([
        ["go", { n: "1" }],
        ["note", { text: '"a note"' }],
        ["nothing", {}],
      ] as const);
      await field.store(subjects.signal(saga, name), body(chance, known), fields);
      return;
    }
    case "vote": {
      const intent = chance.pick(["1-0", ...(await tasksOf(field, saga))]) as IntentId; // Proof: of an id's form.
      const known = { by: '"eve"', as: '"desk"', vote: '"answer"', answer: "true" };
      await field.store(subjects.task(saga, intent), body(chance, known), fields);
      return;
    }
    case "start": {
      const input = `{"plan":[],"beside":${chance.pick(values)(chance)}}`;
      const known = { name: '"planner"', input };
      const other = field.nameSaga("planner");
      await field.store(subjects.start(other), body(chance, known), fields);
    }
  }
}

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const saga = field.nameSaga("journey");
  await field.begin(saga, {
    todo: ["deposit", "go", "ask", "order", "go"],
    strict: false,
    pauseMs: 100,
    errand: [],
  });
  await field.until("begun", saga);
  for (let n = 0; n < 10 && !field.over.aborted; n++) {
    await delay(chance.between(0, 500));
    await strikeSaga(field, chance, saga);
  }
}

export const attack: Attack = {
  name: "depth",
  does: "sends values that are too deep, wide, long or strange in signals, votes, answers and starts",
  everyMs: 9_000,
  short: true,
  strike,
};
