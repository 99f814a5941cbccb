/**
 * Loading a saga that this host does not serve: by its last message alone.
 *
 * Method: ports that hold one message and refuse to be asked for anything else.
 */
import { expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { type Tombstone, tombstoneEvent } from "../../../protocol/tombstone.ts";
import { defineApp } from "../../../services/app/app.ts";
import { type LoadDeps, loadSaga } from "../../../services/host/load.ts";
import { Unserved } from "../../../services/host/unserved.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";

const saga = sagaId("clerk-1");
const definition = { name: "clerk", version: 7, hash: "feedfeedfeedfeed" };
const refuse = () => Promise.reject(new Error("asked for more than the last message"));

function depsWith(headers: Record<string, string>, data: Uint8Array): LoadDeps {
  const last = { subject: `saga.${saga}.ledger`, seq: 3, storedAt: 0, headers, data };
  return {
    clock: { now: () => 0, sleep: refuse, after: () => () => undefined },
    ports: {
      ledger: { last: async () => last, read: refuse } as never,
      snapshots: { get: refuse } as never,
      blobs: { get: refuse } as never,
    },
  };
}

test("a saga of a definition that is not served here is told by its last message alone, with the definition", async () => {
  const data = encodeJson({});
  const headers = turnHeaders({ saga, turn: 3, steps: [] }, chainHash(data), {
    definition,
    traceId: traceIdOf(saga),
  });
  const failing = loadSaga(depsWith(headers, data), defineApp({}), saga);
  await expect(failing).rejects.toBeInstanceOf(Unserved);
  await expect(failing).rejects.toMatchObject({ code: "VERSION_UNSERVED", definition });
});

test("a tombstone is read, whatever is served", async () => {
  const tombstone: Tombstone = {
    ...{
      v: 1,
      type: "tombstone",
      saga,
      archivedAt: 0,
      by: "ada",
      file: "f",
      turns: 3,
      prev: "p",
      definition,
    },
    ...{
      inputDigest: "d",
      startedAt: 0,
      endedAt: 0,
      end: { status: "completed", standing: [] },
      unsettled: {},
    },
  };
  const deps = depsWith({ "Saga-Event": tombstoneEvent }, encodeJson(tombstone));
  expect(await loadSaga(deps, defineApp({}), saga)).toEqual(tombstone);
});
