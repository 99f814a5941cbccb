/** Votes: before a task is there, by somebody it is not for, for other arguments, and after it is over. */
import { setTimeout as delay } from "node:timers/promises";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

const said = [
  { vote: "approve" },
  { vote: "deny" },
  { vote: "answer", answer: false },
  { vote: "answer", answer: { outcome: "happened", output: { id: "none" } } },
  { vote: "edit", input: { place: "elsewhere" } },
] as const;

const vote = async (field: Field, chance: SeededChance, saga: SagaId, intent: string): Promise<void> => {
  const body = { by: "eve", as: chance.pick(["desk", "finance", "nobody"]), ...chance.pick(said) };
  const id = `${intent}-by-eve-${chance.nonce()}`;
  const subject = subjects.task(saga, intent as IntentId); // Proof: of an id's form.
  await field.store(subject, Buffer.from(JSON.stringify(body)), { [headers.event]: id });
};

/** The tasks that stand in the ledger now, by a glance at its bytes. */
export async function tasksOf({ ports }: Field, saga: SagaId): Promise<string[]> {
  const last = await ports.ledger.last(saga);
  const stored = last === undefined ? [] : await ports.ledger.read(saga, 0, last.seq);
  const text = stored.map(({ data }) => Buffer.from(data).toString()).join("\n");
  const tasks = [...text.matchAll(/\{[^{}]*"kind":"task"[^{}]*/g)].map(([found]) => found);
  return tasks.flatMap((found) => /"id":"(\d+-\d+)"/.exec(found)?.[1] ?? []);
}

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const saga = field.nameSaga("journey");
  await field.begin(saga, { todo: ["ask", "spend", "ask"], strict: false, pauseMs: 100, errand: [] });
  await field.until("begun", saga);
  await vote(field, chance, saga, "1-0");
  for (let n = 0; n < 12 && !field.over.aborted; n++) {
    await delay(chance.between(100, 900));
    const tasks = await tasksOf(field, saga);
    if (tasks.length > 0) await vote(field, chance, saga, chance.pick(tasks));
  }
}

export const attack: Attack = {
  name: "votes",
  does: "votes on tasks that are not there yet, that are for others, and that are over",
  everyMs: 10_000,
  short: true,
  strike,
};
