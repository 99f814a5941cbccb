/**
 * Goal: somebody with every right on a real server, who knows the chain, the codec and the application, but none of the
 * hosts' keys, changes no saga of a mesh whose turns must be signed.
 * Method: hosts and an operator as their processes open the mesh; the forger publishes on a connection of its own: on an open
 * saga, on one whose host is gone, at its very last turn, as a tombstone. Then the saga is archived.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, headers as natsHeaders } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import { headers as names, subjects } from "../../protocol/subjects.ts";
import { tombstoneEvent } from "../../protocol/tombstone.ts";
import { openFolder } from "../../services/archive/archive.ts";
import { createClient } from "../../services/client/mesh.ts";
import { readRegistry } from "../../services/client/registry.ts";
import { changeTrust, trustKeyOf } from "../../services/client/trust.ts";
import { startHost } from "../../services/host/host.ts";
import { lastTurnOf } from "../../services/ledger/chain.ts";
import { silentLog } from "../../services/process/log.ts";
import { type ClientMesh, openClientMesh } from "../../services/runtime/mesh.ts";
import { checkSignature } from "../../services/runtime/signing.ts";
import { newIncarnation, systemChance } from "../../services/runtime/system.ts";
import { verifyLedger } from "../../services/views/verify.ts";
import { readLedger } from "../../services/views/view.ts";
import type { Headers } from "../../protocol/subjects.ts";
import { codeOf, sagaId } from "../contract/mesh-under-test.ts";
import { archiveOne } from "../support/archiving.ts";
import { clerk, clerkApp, forge, newSigner, signalled } from "../support/forger.ts";
import { startTestServer } from "../support/nats-server.ts";

const signer = newSigner();
const ids = ["open", "left"].map((name) => sagaId(name));
let server: Awaited<ReturnType<typeof startTestServer>>;
let operator: ClientMesh;
let folder: string;
const closing: (() => Promise<unknown>)[] = [];

async function open(): Promise<ClientMesh> {
  const mesh = await openClientMesh({ servers: server.url, name: "test", report: () => undefined });
  closing.push(() => mesh.close());
  return mesh;
}

async function host(): Promise<Awaited<ReturnType<typeof startHost>>> {
  const { ports, clock } = await open();
  const common = { log: silentLog, incarnation: newIncarnation("host"), callbackBase: "sagamesh:" };
  const options = { ports, clock, chance: systemChance, ...common, signer, checkSignature };
  return startHost(options, clerkApp);
}

beforeAll(async () => {
  server = await startTestServer();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-forged-"));
  await openFolder(folder, 0);
  operator = await open();
}, 30_000);
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("on a real server, where turns must be signed", () => {
  test("what a forger writes ends no saga, decides nothing and archives nothing", async () => {
    const deps = { ...operator, from: "operator" };
    const { ports, clock } = operator;
    const client = createClient(deps, async () => undefined);
    const first = await host();
    await trustKeyOf(deps, signer.publicKey, "host");
    await changeTrust(deps, { type: "require" }, { isMeant: true });
    const handles = await Promise.all(ids.map((id) => client.start(clerk, {}, { id })));
    const turnsOf = async (at: number) => (await readLedger(ports, ids[at]!)).map(({ turn }) => turn);
    const until = async (isSo: () => Promise<boolean>) => {
      for (let looks = 0; !(await isSo().catch(() => false)); looks++) {
        if (looks > 500) throw new Error("it did not come about");
        await clock.sleep(40);
      }
    };
    const note = async (at: number) => {
      const before = (await turnsOf(at).catch(() => [])).length;
      await handles[at]!.signal("note", {});
      await until(async () => (await turnsOf(at)).length > before);
    };
    await until(async () => (await turnsOf(0)).length + (await turnsOf(1)).length === 2);

    const forger = await connect({ servers: server.url });
    closing.push(() => forger.close());
    const publish = async (at: number, { data, headers }: { data: Uint8Array; headers: Headers }) => {
      const told = natsHeaders();
      for (const [name, value] of Object.entries(headers)) told.set(name, value);
      const last = await ports.ledger.last(ids[at]!);
      told.set(names.expectedSeq, String(last?.seq)); // As hosts do.
      await forger.request(subjects.ledger(ids[at]!), data, { headers: told, timeout: 5_000 });
    };
    const forgeAt = async (at: number, name: string) =>
      publish(at, (await forge(operator, ids[at]!, signalled(name))).message);
    await forgeAt(0, "close");
    await note(0);
    await forgeAt(0, "pay");
    await first.stop(1_000);
    await forgeAt(1, "close");
    await host();
    await note(1);
    await note(0);
    for (const handle of handles) await handle.signal("close", {});
    for (const handle of handles) await handle.result();
    // The saga has ended: the very last message is the forger's.
    const last = (await lastTurnOf(ports, ids[0]!))!;
    const tombstone = {
      ...{ v: 1, type: "tombstone", saga: ids[0]!, archivedAt: 1, by: "x", file: "x", turns: 4 },
      ...{
        prev: chainHash(last.data),
        definition: { name: "clerk", version: 1, hash: "0" },
        inputDigest: "",
      },
      ...{ startedAt: 1, endedAt: 1, end: { status: "completed", standing: [] }, unsettled: {} },
    };
    const fields = { [names.saga]: ids[0]!, [names.event]: tombstoneEvent, [names.agent]: "clerk" };
    await publish(0, { data: encodeJson(tombstone), headers: fields });

    expect(await ports.work.stock()).toEqual(new Map());
    for (const [at, foreign] of [3, 1].entries()) {
      expect((await turnsOf(at)).map((one) => one.host.startsWith("forger"))).not.toContain(true);
      const checked = await verifyLedger(ports, ids[at]!, clerkApp);
      expect(checked).toMatchObject({ ok: true, folded: true, foreign: { count: foreign } });
      expect(checked.foreign?.first.map(({ why }) => why)).toEqual(Array(foreign).fill("it is not signed"));
    }
    const registered = await readRegistry(ports.registry);
    const archiving = { ports, clock, chance: systemChance, by: "operator", folder, registered };
    const options = { afterMs: 0, isForced: true, isDryRun: false };
    expect(await archiveOne({ ...archiving, signer }, ids[0]!, options)).toMatchObject({
      outcome: "archived",
    });
    expect(await codeOf(turnsOf(0))).toBe("SAGA_ARCHIVED");
    expect(await archiveOne({ ...archiving, signer }, ids[0]!, options)).toMatchObject({
      outcome: "already",
    });
  }, 60_000);
});
