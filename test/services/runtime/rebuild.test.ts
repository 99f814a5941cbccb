/**
 * Goal: from a store that lost everything, and from one that kept one stream alone, there is a way on with the commands that
 * doctor names.
 * Method: a real server, whose streams are deleted under a mesh that was used: all, and all but one, each in turn.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { declareStreams } from "../../../services/nats/streams.ts";
import { readConfig } from "../../../services/runtime/config.ts";
import { rebuildClaims, rebuildLedger } from "../../../services/runtime/rebuild.ts";
import { bytes, sagaId } from "../../contract/mesh-under-test.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { connectNats } from "../../../services/nats/connection.ts";

const names = declareStreams({ partitions: 2 }).map(({ name }) => name);
const own = ownOfFile("rebuild", names.length + 2);

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
