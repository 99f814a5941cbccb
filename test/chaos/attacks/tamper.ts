/** Tamper: a ledger is copied to another server, changed on the way, and verified there. */
import { parseSagaId } from "../../../protocol/ids.ts";
import { jetstreamManager } from "@nats-io/jetstream";
import { headers as names, streams } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import type { Ports, StoredMessage } from "../../../services/wire/ports.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { errand, journey, planner } from "../../simulation/sagas.ts";
import { startTestServer } from "../../support/nats-server.ts";
import type { SeededChance } from "../../../services/memory/faults.ts";
import type { Attack, Field } from "../attack.ts";
import { isAttackers } from "../evidence.ts";

const app = defineApp({ sagas: [journey, errand, planner] });

/** A place in the middle: what is gone from the end a chain alone cannot tell. */
const middle = (stored: readonly StoredMessage[], chance: SeededChance): number =>
  chance.between(1, stored.length - 2);

const tamperings: Readonly<
  Record<string, (stored: readonly StoredMessage[], chance: SeededChance) => readonly StoredMessage[]>
> = {
  "a byte was changed": (stored, chance) => {
    const at = middle(stored, chance);
    const data = Buffer.from(stored[at]!.data);
    data[chance.between(0, data.length - 1)]! ^= chance.between(1, 255);
    return stored.with(at, { ...stored[at]!, data });
  },
  "a turn is gone": (stored, chance) => stored.toSpliced(middle(stored, chance), 1),
  "the first turn is gone": (stored) => stored.slice(1),
  "a turn stands twice": (stored, chance) => {
    const at = middle(stored, chance);
    return stored.toSpliced(at, 0, stored[at]!);
  },
  "two turns changed places": (stored, chance) => {
    const at = middle(stored, chance);
    return stored.with(at, stored[at + 1]!).with(at + 1, stored[at]!);
  },
};

async function copyTo(there: Ports, saga: string, messages: readonly StoredMessage[]): Promise<void> {
  let expectedSeq = 0;
  for (const { data, headers } of messages) {
    const given = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("Nats-")));
    ({ seq: expectedSeq } = await there.ledger.append(parseSagaId(saga), {
      ...{ data, headers: given, expectedSeq },
    }));
  }
}

async function strike(field: Field, chance: SeededChance): Promise<void> {
  const { ports, witness } = field;
  const candidates = [...witness.ended];
  const stored: StoredMessage[] = [];
  // A short one tells nothing of its middle.
  while (stored.length < 4 && candidates.length > 0) {
    const saga = candidates.splice(chance.between(0, candidates.length - 1), 1)[0]!;
    const last = await ports.ledger.last(saga);
    const all = await ports.ledger.read(saga, 0, last?.seq ?? 0);
    // What another attacker put there is no turn: that it is changed, or gone, changes nothing.
    stored.splice(0, stored.length, ...all.filter((message) => !isAttackers(message)));
  }
  const first = stored[0];
  if (first === undefined || stored.length < 4) return;
  const saga = parseSagaId(first.headers[names.saga] ?? first.subject.split(".")[1]!);
  const server = await startTestServer();
  try {
    const nc = await connectNats({ servers: server.url.split(","), name: "tamper" });
    const there = await openNatsPorts(nc, { partitions: 1 });
    const jsm = await jetstreamManager(nc);
    // A turn that stands twice is no turn the second time: the ledger is whole without it, and it is told of.
    const verify = async () => {
      const source = { ledger: there.ledger, blobs: ports.blobs };
      const { findings, foreign } = await verifyLedger(source, saga, app);
      return [...findings, ...(foreign?.first ?? [])];
    };
    for (const [how, tamper] of Object.entries(tamperings)) {
      await copyTo(there, saga, tamper(stored, chance));
      const found = await verify().catch((error: unknown) => [String(error)]); // Refused to read it: told, too.
      if (found.length === 0) field.note({ saga, how });
      await jsm.streams.purge(streams.ledger);
    }
    await there.close();
    await nc.close();
  } finally {
    await server.stop();
  }
}

export const attack: Attack = {
  name: "tamper",
  does: "copies a ledger to another server, changes it on the way, and asks `verify` there",
  everyMs: 20_000,
  short: false,
  strike,
  expects: (facts) =>
    facts.map(({ saga, how }) => ({
      promise: "P3",
      what: `tamper: ${String(how)} in the ledger of ${String(saga)} on another server, and verify says nothing`,
    })),
};
