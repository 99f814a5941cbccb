/** Foreign: messages on a ledger's subject that are no turns of it, or were. */
import { setTimeout as delay } from "node:timers/promises";
import type { SagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

type Forgery = (
  stored: readonly StoredMessage[],
  chance: SeededChance,
) => Pick<StoredMessage, "data" | "headers">;

const changed = (
  { data, headers }: StoredMessage,
  chance: SeededChance,
): Pick<StoredMessage, "data" | "headers"> => {
  const bytes = Buffer.from(data);
  const at = chance.between(0, bytes.length - 1);
  bytes[at] = (bytes[at]! + chance.between(1, 255)) % 256;
  return { data: bytes, headers };
};

const forgeries: readonly Forgery[] = [
  () => ({ data: Buffer.from("garbage"), headers: {} }),
  () => ({ data: Buffer.alloc(0), headers: {} }),
  () => ({ data: Buffer.from('{"v":1,"turn":1}'), headers: { "Content-Type": "application/json" } }),
  (stored) => ({ data: stored[0]?.data ?? Buffer.alloc(1), headers: stored[0]?.headers ?? {} }),
  (stored) => ({ data: stored.at(-1)?.data ?? Buffer.alloc(1), headers: stored.at(-1)?.headers ?? {} }),
  (stored, chance) => {
    const last = stored.at(-1);
    return last === undefined ? { data: Buffer.from("{}"), headers: {} } : changed(last, chance);
  },
];

async function forge(field: Field, chance: SeededChance, saga: SagaId): Promise<void> {
  const last = await field.ports.ledger.last(saga);
  const stored = last === undefined ? [] : await field.ports.ledger.read(saga, 0, last.seq);
  const { data, headers } = chance.pick(forgeries)(stored, chance);
  const given = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("Nats-")));
  await field.store(subjects.ledger(saga), data, given);
}

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const saga = field.nameSaga(chance.pick(["journey", "planner"] as const));
  if (chance.happens(0.3)) await forge(field, chance, saga); // On an id that is nobody's yet.
  const journey = {
    todo: ["money", "pause", "mixed", "child"],
    strict: true,
    pauseMs: 800,
    errand: ["money"],
  };
  const plan = [{ calls: ["book", "deposit"] }, { wait: 1_000 }, { calls: ["charge"] }, { reserved: "undo" }];
  await field.begin(saga, saga.startsWith("journey") ? journey : { plan });
  for (let n = chance.between(2, 8); n > 0 && !field.over.aborted; n--) {
    await delay(chance.between(0, 900));
    await forge(field, chance, saga);
  }
}

export const attack: Attack = {
  name: "foreign",
  does: "publishes garbage, copies and changed copies of turns on ledgers, also of sagas that are not there yet",
  everyMs: 9_000,
  short: true,
  strike,
};
