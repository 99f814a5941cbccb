/**
 * Loading a saga that this host does not serve: by its last turn alone, whatever else stands on its subject.
 *
 * Method: ports that hold a ledger, count what is read of it and refuse to be asked for anything else.
 */
import { expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { headers as names } from "../../../protocol/subjects.ts";
import { type Tombstone, tombstoneEvent } from "../../../protocol/tombstone.ts";
import { defineApp } from "../../../services/app/app.ts";
import { type LoadDeps, loadSaga } from "../../../services/host/load.ts";
import { Unserved } from "../../../services/host/unserved.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { foreignKinds, plantedOf } from "../../support/foreign.ts";

const saga = sagaId("clerk-1");
const definition = { name: "clerk", version: 7, hash: "feedfeedfeedfeed" };
const refuse = () => Promise.reject(new Error("asked for more than the ledger"));

function depsWith(messages: readonly StoredMessage[], read: number[] = []): LoadDeps {
  return {
    clock: { now: () => 0, sleep: refuse, after: () => () => undefined },
    ports: {
      ledger: {
        last: async () => messages.at(-1),
        read: async (_saga: unknown, after: number, through: number) => {
          const found = messages.filter(({ seq }) => seq > after && seq <= through);
          read.push(found.length);
          return found;
        },
      } as never,
      snapshots: { get: async () => undefined } as never,
      blobs: { get: refuse } as never,
    },
  };
}

const at = (seq: number, headers: Record<string, string>, data: Uint8Array): StoredMessage => ({
  ...{ subject: `saga.${saga}.ledger`, storedAt: 0, data, seq },
  headers,
});

/** A turn of the definition that is not served, after those. */
function turnAfter(messages: readonly StoredMessage[]): StoredMessage {
  const before = messages.at(-1);
  const turn = messages.length + 1;
  const prev = before === undefined ? "" : chainHash(before.data);
  const data = encodeJson({ v: 3, saga, turn, at: 0, host: "h", steps: [], prev });
  const origin = { definition, traceId: traceIdOf(saga) };
  const fields = turnHeaders({ saga, turn, steps: [] }, chainHash(data), origin);
  return at(turn * 10, { ...fields, [names.expectedSeq]: String(before?.seq ?? 0) }, data);
}

const turns: StoredMessage[] = [];
while (turns.length < 30) turns.push(turnAfter(turns));

test("a saga of a definition that is not served here is told by its last turn and the one before, with the definition", async () => {
  const read: number[] = [];
  const failing = loadSaga(depsWith(turns, read), defineApp({}), saga);
  await expect(failing).rejects.toBeInstanceOf(Unserved);
  await expect(failing).rejects.toMatchObject({ code: "VERSION_UNSERVED", definition });
  expect(read).toEqual([1]);
});

/** Those that say which definition their saga has. */
const telling = Object.keys(foreignKinds).filter(
  (kind) => plantedOf(kind, saga, turns).headers[names.definition] !== undefined,
);

test.each(telling)("%s as the last message says nothing of its definition", async (kind) => {
  const { data, headers } = plantedOf(kind, saga, turns);
  const both: Record<string, string>[] = [{}, { [names.expectedSeq]: "300" }];
  for (const more of both) {
    const deps = depsWith([...turns, at(305, { ...headers, ...more }, data)]);
    await expect(loadSaga(deps, defineApp({}), saga)).rejects.toMatchObject({ definition });
  }
  if (kind.startsWith("a copy of")) return; // Alone it is the first turn.
  const alone = depsWith([at(305, headers, data)]);
  expect(await loadSaga(alone, defineApp({}), saga)).toBeUndefined();
});

test("where a turn was removed the saga is not gone on with from before it", async () => {
  const deps = depsWith(turns.toSpliced(12, 1));
  await expect(loadSaga(deps, defineApp({}), saga)).rejects.toMatchObject({ code: "VERSION_UNSERVED" });
  const served = depsWith([...turns.toSpliced(12, 1), at(305, {}, encodeJson("foreign"))]);
  await expect(loadSaga(served, defineApp({}), saga)).rejects.toMatchObject({ code: "LEDGER_BROKEN" });
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
  const left = at(305, { "Saga-Event": tombstoneEvent, [names.expectedSeq]: "300" }, encodeJson(tombstone));
  const foreign = at(306, {}, encodeJson("foreign"));
  for (const messages of [[left], [left, foreign]])
    expect(await loadSaga(depsWith(messages), defineApp({}), saga)).toEqual(tombstone);
});
