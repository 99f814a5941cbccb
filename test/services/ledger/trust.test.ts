/**
 * Goal: where turns must be signed, a turn that somebody forged, who knows the chain and the code and has every right on the
 * server, is no turn: not to hosts, not to readers, not to a snapshot, whatever it would have decided.
 * Method: a mesh in memory with two hosts that sign, a forger with the hosts' own code (test/support/forger.ts), and what an
 * operator does. Then any interleaving of real and forged turns, read by every reader.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { headers as names, subjects } from "../../../protocol/subjects.ts";
import { trustKey } from "../../../protocol/trust.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { repairSaga } from "../../../services/client/repair.ts";
import { type Change, changeTrust, showTrust, trustKeyOf } from "../../../services/client/trust.ts";
import { startHost } from "../../../services/host/host.ts";
import { loadSaga } from "../../../services/host/load.ts";
import { writeSnapshot } from "../../../services/host/snapshots.ts";
import { lastTurnOf } from "../../../services/ledger/chain.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { checkSignature } from "../../../services/runtime/signing.ts";
import { withTrust } from "../../../services/runtime/trusting.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { readLedger, readView } from "../../../services/views/view.ts";
import type { Signer } from "../../../services/wire/signing.ts";
import { codeOf, sagaId } from "../../contract/mesh-under-test.ts";
import { clerk, clerkApp, forge, newSigner, signalled, wronglyAs } from "../../support/forger.ts";

const saga = sagaId("clerk-1");
const meant = { isMeant: true };

async function open() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const until = <T>(work: Promise<T>) => clock.until(work);
  const spawn = async (name: string) => {
    const process = mesh.spawn(name);
    const { ports } = await until(withTrust(process.ports, process.clock, () => undefined));
    return { ...process, ports };
  };
  const outside = await spawn("operator");
  const deps = { ...outside, from: "operator" };
  const client = createClient(deps, async () => undefined);
  const host = async (name: string, signer?: Signer) => {
    const process = await spawn(name);
    const common = { log: silentLog, incarnation: name, callbackBase: "sagamesh:", signer, checkSignature };
    await until(startHost({ ...process, ...common }, clerkApp));
    return process;
  };
  const put = (message: { data: Uint8Array; headers: Record<string, string> }, expectedSeq?: number) => {
    const { data, headers } = message;
    const expected = expectedSeq === undefined ? {} : { expectedSeq };
    mesh.server.ledger.append(
      { data, headers, ...expected, subject: subjects.ledger(saga) },
      () => undefined,
    );
    return clock.advance(20);
  };
  /** Stored as hosts store their turns. */
  const forgeTurn = async (name: string, signer?: Signer) => {
    const forged = await until(forge(outside, saga, signalled(name), signer));
    await put(forged.message, mesh.server.ledger.last(saga)?.seq);
    return forged;
  };
  const change = (one: Change) => until(changeTrust(deps, one, meant));
  const trusted = async (...signers: Signer[]) => {
    for (const { publicKey } of signers) await until(trustKeyOf(deps, publicKey, undefined));
  };
  const handle = client.saga(clerk, saga);
  const signal = async (name: "note" | "pay" | "close") => {
    await until(handle.signal(name, {}));
    await clock.advance(200);
  };
  const begin = async () => {
    await until(client.start(clerk, {}, { id: saga }));
    await clock.advance(200);
    await signal("note");
  };
  const view = () => until(readView(outside.ports, saga));
  return {
    mesh,
    clock,
    until,
    outside,
    deps,
    client,
    host,
    put,
    forgeTurn,
    change,
    trusted,
    signal,
    begin,
    view,
  };
}

describe("a forged turn that chains", () => {
  test.for([
    ["to end the saga", "close", "open"],
    ["to end the saga", "close", "dead"],
    ["to decide another call", "pay", "open"],
    ["to decide another call", "pay", "dead"],
  ] as const)(
    "%s (%s), while its host is %s, is no turn where turns must be signed",
    async ([, name, how]) => {
      const w = await open();
      const signer = newSigner();
      const first = await w.host("host", signer);
      await w.trusted(signer);
      await w.begin();
      await w.change({ type: "require" });
      if (how === "dead") first.gate.crash();
      await w.forgeTurn(name);
      await w.forgeTurn("note", wronglyAs(signer));
      if (how === "dead") await w.host("next", signer);
      await w.clock.advance(40_000);
      await w.signal("note");
      await w.signal("close");
      await w.clock.advance(40_000);
      const turns = (await w.until(readLedger(w.outside.ports, saga))).map(({ turn }) => turn);
      expect(turns.map(({ host }) => host)).not.toContain("forger");
      expect(await w.view()).toMatchObject({ phase: "ended", status: "completed" });
      expect(await w.until(w.outside.ports.work.stock())).toEqual(new Map());
      const checked = await w.until(verifyLedger(w.outside.ports, saga, clerkApp));
      expect(checked).toMatchObject({ ok: true, folded: true, foreign: { count: 2 } });
      expect(checked.foreign?.first.map(({ why }) => why)).toEqual([
        "it is not signed",
        expect.stringMatching(/^its signature by \w+ is not of its bytes$/),
      ]);
    },
  );

  test.for([false, true])(
    "has no snapshot that is believed; a real turn follows it: %s",
    async (isFollowed) => {
      const w = await open();
      const signer = newSigner();
      const first = await w.host("host", signer);
      await w.trusted(signer);
      await w.begin();
      await w.change({ type: "require" });
      const { message, definition, state, turn } = await w.forgeTurn("close");
      const { seq } = w.mesh.server.ledger.last(saga)!;
      if (isFollowed) await w.signal("note");
      first.gate.crash();
      const { trust: _, ...ports } = w.outside.ports;
      await w.until(
        writeSnapshot({ ...w.outside, ports }, definition, state, { turn, seq, hash: message.hash }),
      );
      const next = await w.host("next", signer);
      const loaded = await w.until(loadSaga({ ...next, log: silentLog }, clerkApp, saga));
      expect(loaded).toMatchObject({
        head: { turn: isFollowed ? 3 : 2 },
        state: { phase: { kind: "running" } },
      });
    },
  );

  test("is a turn where turns need not be signed, as ever", async () => {
    const w = await open();
    const signer = newSigner();
    await w.host("host", signer);
    await w.trusted(signer);
    await w.begin();
    await w.forgeTurn("close");
    await w.clock.advance(1_000);
    expect(await w.view()).toMatchObject({ phase: "ended" });
  });

  test("at the end is read as if it were not there, and repair removes it", async () => {
    const w = await open();
    const signer = newSigner();
    await w.host("host", signer);
    await w.begin(); // Of turns without a demand, and a host that signs.
    await w.trusted(signer);
    await w.change({ type: "require" });
    await w.forgeTurn("close");
    const { ports } = w.outside;
    expect(await w.view()).toMatchObject({ phase: "running" });
    expect((await w.until(lastTurnOf(ports, saga)))?.seq).toBe(2);
    expect((await w.until(w.client.list())).map(({ status }) => status)).toEqual(["running"]);
    expect(await w.until(verifyLedger(ports, saga, clerkApp))).toMatchObject({ ok: true, turns: 2 });
    const repairing = { ports, clock: w.outside.clock, signer };
    expect(await w.until(repairSaga(repairing, saga, meant))).toMatchObject({
      turns: 2,
      removed: 1,
      kept: 0,
    });
    await w.signal("close");
    expect(await w.view()).toMatchObject({ phase: "ended" });
    expect(await w.until(verifyLedger(ports, saga, clerkApp))).toEqual(
      expect.not.objectContaining({ foreign: expect.anything() }),
    );
  });
});

describe("whose signatures count", () => {
  test("turns from before they had to be signed stay turns, and are signed when repair writes them again", async () => {
    const w = await open();
    const signer = newSigner();
    const unsigned = await w.host("unsigned");
    await w.begin();
    unsigned.gate.crash();
    await w.clock.advance(10_000);
    await w.host("host", signer);
    await w.trusted(signer);
    await w.change({ type: "require" });
    await w.forgeTurn("close");
    const { ports } = w.outside;
    const { clock } = w.outside;
    expect(await w.until(repairSaga({ ports, clock, signer }, saga, meant))).toMatchObject({ removed: 1 });
    await w.signal("note");
    const stored = await w.until(readLedger(ports, saga));
    expect(stored.map(({ turn }) => turn.host)).toEqual(["unsigned", "unsigned", "host"]);
    const signed = await w.until(ports.ledger.read(saga, 0, Number.MAX_SAFE_INTEGER));
    expect(signed.every((one) => one.headers[names.signature] !== undefined)).toBe(true);
  });

  test("a living host that signs nothing keeps it from being required, and is named", async () => {
    const w = await open();
    const signer = newSigner();
    await w.host("signing", signer);
    await w.host("silent");
    await w.trusted(signer);
    await w.clock.advance(2_000);
    const refused = w.until(changeTrust(w.deps, { type: "require" }, meant));
    await expect(refused).rejects.toMatchObject({ code: "SIGNERS_UNREADY", message: /silent/ });
    expect((await w.until(showTrust(w.deps))).required).toBeUndefined();
  });

  test("where it is required, a host that signs with no such key does not start", async () => {
    const w = await open();
    const signer = newSigner();
    await w.trusted(signer);
    await w.change({ type: "require" });
    expect(await codeOf(w.host("silent"))).toBe("SIGNER_REFUSED");
    expect(await codeOf(w.host("other", newSigner()))).toBe("SIGNER_REFUSED");
    expect(await codeOf(w.host("signing", signer))).toBe("none");
  });

  test.for(["add", "remove"] as const)(
    "a turn by a key that was never named lets its saga wait until an operator says: %s",
    async (say) => {
      const w = await open();
      const [signer, unknown] = [newSigner(), newSigner()];
      await w.host("host", signer);
      await w.trusted(signer);
      await w.begin();
      await w.change({ type: "require" });
      await w.forgeTurn("note", unknown);
      await w.signal("note");
      expect(await codeOf(w.view())).toBe("SIGNER_UNKNOWN");
      const length = w.mesh.server.ledger.after(saga, 0).length;
      await w.clock.advance(60_000);
      expect(w.mesh.server.ledger.after(saga, 0)).toHaveLength(length);
      if (say === "add") await w.trusted(unknown);
      else await w.change({ type: "withdraw", key: unknown.publicKey });
      await w.clock.advance(60_000);
      await w.signal("close");
      const hosts = (await w.until(readLedger(w.outside.ports, saga))).map(({ turn }) => turn.host);
      expect(hosts).toEqual(["host", "host", ...(say === "add" ? ["forger"] : []), "host", "host"]);
      expect(await w.view()).toMatchObject({ phase: "ended" });
    },
  );

  test("a withdrawn key counts for what it signed before, for nothing after, and never comes back", async () => {
    const w = await open();
    const [signer, stolen] = [newSigner(), newSigner()];
    const lost = await w.host("lost", stolen);
    await w.trusted(signer, stolen);
    await w.begin();
    await w.change({ type: "require" });
    const refused = w.until(changeTrust(w.deps, { type: "withdraw", key: stolen.publicKey }, meant));
    await expect(refused).rejects.toMatchObject({ code: "SIGNERS_UNREADY" });
    lost.gate.crash();
    await w.clock.advance(10_000);
    await w.host("host", signer);
    await w.change({ type: "withdraw", key: stolen.publicKey });
    await w.forgeTurn("close", stolen);
    await w.signal("note");
    const hosts = (await w.until(readLedger(w.outside.ports, saga))).map(({ turn }) => turn.host);
    expect(hosts).toEqual(["lost", "lost", "host"]);
    expect(await codeOf(w.trusted(stolen))).toBe("USAGE");
  });

  test("what cannot be read changes nothing for those who run, and those who start decide nothing", async () => {
    const w = await open();
    const signer = newSigner();
    await w.host("host", signer);
    await w.trusted(signer);
    await w.begin();
    await w.change({ type: "require" });
    const { registry } = w.outside.ports;
    const { data, revision } = (await w.until(registry.read(trustKey)))!;
    const spoilt = await w.until(registry.write(trustKey, Buffer.from("{"), revision));
    await w.clock.advance(5_000);
    await w.forgeTurn("close");
    await w.signal("note");
    expect(await w.view()).toMatchObject({ phase: "running", turns: expect.anything() });
    expect(await codeOf(w.host("next", signer))).toBe("TRUST_UNREADABLE");
    expect(await codeOf(w.trusted(newSigner()))).toBe("TRUST_UNREADABLE");
    await w.until(registry.write(trustKey, data, spoilt));
    expect(await codeOf(w.host("later", signer))).toBe("none");
  });
});

describe("any interleaving", () => {
  test("of real and forged turns is read alike by all readers, with the real turns alone", async () => {
    const kinds = ["real", "unsigned", "wrong", "withdrawn", "copy"] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 12 }),
        async (steps) => {
          const w = await open();
          const [signer, gone] = [newSigner(), newSigner()];
          await w.host("host", signer);
          await w.trusted(signer, gone);
          await w.begin();
          await w.change({ type: "require" });
          await w.change({ type: "withdraw", key: gone.publicKey });
          let real = 2;
          for (const step of steps)
            if (step === "real") {
              await w.signal("note");
              real += 1;
            } else if (step === "unsigned") await w.forgeTurn("close");
            else if (step === "wrong") await w.forgeTurn("pay", wronglyAs(signer));
            else if (step === "withdrawn") await w.forgeTurn("note", gone);
            else {
              const [one] = await w.until(w.outside.ports.ledger.read(saga, 0, 1));
              await w.put({
                data: one!.data,
                headers: { [names.signature]: one!.headers[names.signature]! },
              });
            }
          const { ports } = w.outside;
          const turns = (await w.until(readLedger(ports, saga))).map(({ turn }) => turn);
          expect(turns.map(({ host }) => host)).toEqual(Array.from({ length: real }, () => "host"));
          expect(await w.view()).toMatchObject({ phase: "running" });
          expect((await w.until(lastTurnOf(ports, saga)))?.headers[names.turn]).toBe(String(real));
          const foreign = steps.length - (real - 2);
          const checked = await w.until(verifyLedger(ports, saga, clerkApp));
          expect(checked).toMatchObject({ ok: true, turns: real });
          expect(checked.foreign?.count ?? 0).toBe(foreign);
          expect((await w.until(w.client.list())).map(({ status }) => status)).toEqual(["running"]);
        },
      ),
      { numRuns: 8 },
    );
  });
});
