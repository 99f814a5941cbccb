/**
 * Goal: who has won a claim late performs what its saga still asks for, and nothing else; and asks nothing of what is young.
 * Method: a saga on a memory mesh whose call nobody takes, or is over, archived, forgotten, begun later than the call.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { readTurns } from "../../../services/ledger/reader.ts";
import { emptyHead } from "../../../services/ledger/chain.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { stillAsked } from "../../../services/perform/still-asked.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { callingSaga } from "../../support/calling-saga.ts";

const nothing = z.object({});
const charge = defineTool({
  ...{ name: "charge", description: "Charges.", effect: "once", onDoubt: "model" },
  ...{ input: nothing, output: nothing, compensation: "point_of_no_return" },
});
const charging = callingSaga("charging", charge);
const day = 86_400_000;

async function openMesh() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const host = mesh.spawn("host");
  const common = { log: silentLog, incarnation: "host", callbackBase: "sagamesh:" };
  await clock.until(startHost({ ...host, ...common }, defineApp({ sagas: [charging] })));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  await clock.until(client.start(charging, {}, { id: "s1" }));
  await clock.advance(2_000);
  const worker = mesh.spawn("worker");
  const saga = sagaId("s1");
  const { seq } = mesh.server.ledger.after(saga, 0).at(-1)!;
  const [first] = await clock.until(readTurns(worker.ports, saga, emptyHead, seq));
  const intent = first!.turn.steps.flatMap(({ intents }) => intents).find(({ kind }) => kind === "tool");
  const call = {
    ...{ saga, intent: intent!.id, attempt: 1, decidedAt: first!.turn.at },
    key: (intent as { key: string }).key,
  };
  host.gate.crash();
  let reads = 0;
  const counting = (ports: Ports): Ports => ({
    ...ports,
    ledger: { ...ports.ledger, last: (of) => ((reads += 1), ports.ledger.last(of)) },
  });
  return {
    mesh,
    call,
    skip: (ms: number) => clock.run({ until: clock.now() + ms }),
    reads: () => reads,
    ask: (of: Parameters<ReturnType<typeof stillAsked>>[0], change: (ports: Ports) => Ports = (own) => own) =>
      clock.until(
        stillAsked({ ports: change(counting(worker.ports)), clock: worker.clock })(
          of,
          new AbortController().signal,
        ),
      ),
  };
}

test("a call of today is performed, and nothing is asked (QJ1)", async () => {
  const { ask, call, reads, skip } = await openMesh();
  await skip(day / 2);
  expect(await ask(call)).toBe(true);
  expect(reads()).toBe(0);
});

test.each([2, 30])(
  "one of %i days ago is performed where it is open still, and asked for at all (QJ1, QJ2)",
  async (days) => {
    const { ask, call, reads, skip } = await openMesh();
    await skip(days * day);
    expect(await ask(call)).toBe(true);
    expect(await ask({ ...call, decidedAt: undefined })).toBe(true);
    expect(reads()).toBeGreaterThan(0);
  },
);

test("where the ledger is a week old, another attempt, key or call than is open is not performed (QJ2)", async () => {
  const { ask, call, skip } = await openMesh();
  await skip(8 * day);
  expect(await ask({ ...call, attempt: 2 })).toBe(false);
  expect(await ask({ ...call, key: `${call.key}x` })).toBe(false);
  expect(await ask({ ...call, intent: "9-9" as IntentId })).toBe(false);
  expect(await ask({ ...call, saga: sagaId("gone") })).toBe(false);
});

test("a saga that began after the call was decided does not ask for it (QJ3)", async () => {
  const { ask, call, skip } = await openMesh();
  await skip(2 * day);
  expect(await ask({ ...call, decidedAt: call.decidedAt - 2 * day })).toBe(false);
});

test("what cannot be read is not performed; a server that is away is waited for (QJ4)", async () => {
  const { ask, call, skip } = await openMesh();
  await skip(2 * day);
  let silent = 3;
  const failing =
    (error: () => MeshError | undefined) =>
    (own: Ports): Ports => ({
      ...own,
      ledger: {
        ...own.ledger,
        last: async (saga) => {
          const fault = error();
          if (fault !== undefined) throw fault;
          return own.ledger.last(saga);
        },
      },
    });
  expect(
    await ask(
      call,
      failing(() => new MeshError("LEDGER_BROKEN", "a turn is gone")),
    ),
  ).toBe(false);
  expect(
    await ask(
      call,
      failing(() => (silent-- > 0 ? new MeshError("UNAVAILABLE", "no answer") : undefined)),
    ),
  ).toBe(true);
});
