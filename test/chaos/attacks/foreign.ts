/** Foreign: messages on a ledger's subject that are no turns of it, or were. */
import { setTimeout as delay } from "node:timers/promises";
import type { SagaId } from "../../../protocol/ids.ts";
import { placeOf } from "../../../protocol/shards.ts";
import { subjects } from "../../../protocol/subjects.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { foreignKinds, type Planted } from "../../support/foreign.ts";
import type { Attack, Field } from "../attack.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";

/** A copy of the last turn of which a byte is another. */
function changed(stored: readonly StoredMessage[], chance: SeededChance): Planted {
  const last = stored.at(-1);
  if (last === undefined || last.data.length === 0) return { data: Buffer.from("{}"), headers: {} };
  const data = Buffer.from(last.data);
  const at = chance.between(0, data.length - 1);
  data[at] = (data[at]! + chance.between(1, 255)) % 256;
  return { data, headers: last.headers };
}

async function forge(field: Field, chance: SeededChance, saga: SagaId): Promise<void> {
  const last = await field.ports.ledger.last(saga);
  const stored = last === undefined ? [] : await field.ports.ledger.read(saga, 0, last.seq);
  const kind = chance.pick([
    ...Object.values(foreignKinds),
    (_: SagaId, turns: readonly StoredMessage[]) => changed(turns, chance),
  ]);
  const { data, headers } = kind(saga, stored);
  // The server would read its own as commands.
  const given = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("Nats-")));
  const all = (await field.ports.ledger.end()).length;
  await field.store(subjects.ledger(saga, placeOf(saga, { all })), data, given);
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
  does: "publishes all kinds of what is no turn, and changed copies of turns, on ledgers, also of sagas that are not there yet",
  everyMs: 9_000,
  short: true,
  strike,
};
