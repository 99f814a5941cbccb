/**
 * Goal: from a store that lost everything, and from one that kept one stream alone, there is a way on with the commands that
 * doctor names; and after the loss of LEDGER no saga begins anew by itself.
 * Method: a real server, whose streams are deleted under a mesh that was used: all, and all but one, each in turn.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { parseIntentId } from "../../../protocol/ids.ts";
import { trustKey } from "../../../protocol/trust.ts";
import { readLetters } from "../../../services/client/dead.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { declareStreams } from "../../../services/nats/streams.ts";
import { readConfig } from "../../../services/runtime/config.ts";
import { rebuildClaims, rebuildLedger } from "../../../services/runtime/rebuild.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { bytes, sagaId } from "../../contract/mesh-under-test.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { connectNats } from "../../../services/nats/connection.ts";

const names = declareStreams({ partitions: 2 }).map(({ name }) => name);
const own = ownOfFile("rebuild", names.length + 6);

test.each(["nothing", ...names])("with %s left, both are rebuilt and hosts are let in", async (kept) => {
  const url = own.server.nextUrl();
  const nc = await connectNats({ servers: url, name: "test" });
  try {
    const ports = await openNatsPorts(nc, { partitions: 2 });
    await ports.ledger.append(sagaId("a"), { data: bytes("turn"), headers: {}, expectedSeq: 0 });
    await ports.claims.create("a.1-1", 1, "n1");
    await ports.close();
    const jsm = await jetstreamManager(nc);
    for (const name of names) if (name !== kept) await jsm.streams.delete(name);
    const config = readConfig({ server: url });
    const signal = new AbortController().signal;
    const options = { isDryRun: false, skipsUnreadable: true, report: () => undefined, signal };
    await rebuildLedger(config, options);
    await rebuildClaims(config, options);
    await (await openNatsPorts(nc, { partitions: 2 })).close();
    for (const again of [rebuildLedger, rebuildClaims])
      expect((await again(config, options)).outcome).toBe("whole");
  } finally {
    await nc.close();
  }
});

/** A mesh whose LEDGER is lost with something of each kind on its way. */
async function lossOfLedger() {
  const url = own.server.nextUrl();
  const nc = await connectNats({ servers: url, name: "test" });
  onTestFinished(() => nc.close());
  const ports = await openNatsPorts(nc, { partitions: 2 });
  const a = sagaId("a");
  await ports.ledger.append(a, { data: bytes("turn"), headers: {}, expectedSeq: 0 });
  for (const kind of ["start", "signal.go", "task.1-0"])
    await ports.inbox.publish({ subject: `saga.a.${kind}`, data: bytes(kind), headers: {}, msgId: kind });
  const intent = parseIntentId("1-1");
  await ports.inbox.schedule({ saga: a, intent, dueAt: Date.now() + 1e7, headers: {} });
  const call = { data: bytes("call"), headers: { "Saga-Id": "a" }, msgId: "c" };
  await ports.work.publish({ name: "book", contract: "c1" }, call);
  const trust = { v: 1, keys: {}, required: { announced: 7_000, after: 9_000, by: "me", at: 1 } };
  await ports.registry.write(trustKey, bytes(JSON.stringify(trust)), 0);
  await ports.close();
  const jsm = await jetstreamManager(nc);
  await jsm.streams.delete("LEDGER");
  const rebuild = (isDryRun: boolean, beginsAnew: boolean) =>
    rebuildLedger(readConfig({ server: url }), {
      ...{ isDryRun, beginsAnew, skipsUnreadable: false, report: () => undefined },
      signal: new AbortController().signal,
    });
  const stands = async (stream: string) => (await jsm.streams.info(stream)).state.messages;
  return { nc, jsm, rebuild, stands };
}

const forsaken = { starts: 1, inputs: 2, timers: 1, calls: 1 };

test("an empty LEDGER is begun once what stood in queues is set aside, with its reason, and nothing was changed before --accept-loss", async () => {
  const { nc, rebuild, stands } = await lossOfLedger();
  expect(await rebuild(true, false)).toMatchObject({ outcome: "due", forsaken });
  expect([await stands("INBOX"), await stands("WORK"), await stands("DEAD")]).toEqual([4, 1, 0]);
  expect(await rebuild(false, false)).toMatchObject({ outcome: "rebuilt", forsaken });
  expect([await stands("INBOX"), await stands("WORK")]).toEqual([0, 0]);
  const ports = await openNatsPorts(nc);
  const letters = await readLetters({ ports, clock: systemClock, chance: systemChance });
  expect(letters.map(({ code, subject }) => [code, subject]).sort()).toEqual(
    ["saga.a.signal.go", "saga.a.start", "saga.a.task.1-0", "work.book.c1"].map((to) => ["LEDGER_LOST", to]),
  );
  await ports.close();
});

test("with --begin-anew starts and signals stay, and all else is set aside", async () => {
  const { rebuild, stands } = await lossOfLedger();
  await rebuild(false, true);
  expect([await stands("INBOX"), await stands("WORK"), await stands("DEAD")]).toEqual([2, 0, 2]);
});

test("XB5 an empty LEDGER counts on beyond what trust names, so that what must be signed still must be", async () => {
  const { nc, jsm, rebuild } = await lossOfLedger();
  await rebuild(false, false);
  const ports = await openNatsPorts(nc);
  const { seq } = await ports.ledger.append(sagaId("b"), { data: bytes("t"), headers: {}, expectedSeq: 0 });
  expect(seq).toBeGreaterThan(9_000);
  expect(await ports.ledger.last(sagaId("b"))).toMatchObject({ seq });
  expect((await jsm.streams.info("LEDGER")).state.messages).toBe(1);
  await ports.close();
});
