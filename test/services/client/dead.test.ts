/**
 * Goal: what was set aside can be sent again as what it was, and is taken once however often it is sent.
 * Method: a host on a memory mesh; messages that are refused for what they are, or for what was not there yet.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import { dropLetter, readLetter, readLetters, retryLetter } from "../../../services/client/dead.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { readLedger } from "../../../services/views/view.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import { notingMachine } from "../../support/noting.ts";

const noting = defineSaga({
  name: "noting",
  version: 1,
  input: z.object({}),
  output: z.object({ notes: z.int() }),
  signals: { note: z.object({ text: z.string() }), end: z.object({}) },
  machine: notingMachine,
});

async function openMesh() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const base = { log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  const host = mesh.spawn("host");
  await clock.until(startHost({ ...base, ...host }, defineApp({ sagas: [noting] })));
  const operator = mesh.spawn("operator");
  const client = createClient({ ...operator, from: "ops" }, async () => undefined);
  const saga = "s1" as SagaId;
  const signal = (body: string, fields: Record<string, string> = {}) =>
    clock.until(
      operator.ports.inbox.publish({
        subject: subjects.signal(saga, "note"),
        data: Buffer.from(body),
        headers: fields,
      }),
    );
  const letters = () => clock.until(readLetters(operator));
  const signalsTaken = async () => {
    const turns = await clock.until(readLedger(operator.ports, saga));
    return turns.flatMap(({ turn }) => turn.steps).filter(({ event }) => event.type === "signal").length;
  };
  return { clock, operator, client, saga, signal, letters, signalsTaken };
}

test("a signal that came too early is taken when it is sent again, once however often that happens", async () => {
  const { clock, operator, client, saga, signal, letters, signalsTaken } = await openMesh();
  await signal('{"text":"early"}'); // Without any id of its own: its place in the inbox is what it is known by.
  await clock.advance(limits.earlyInputMs + 60_000);
  const [letter] = await letters();
  expect([letter?.code, letter?.subject]).toEqual(["SAGA_UNKNOWN", "saga.s1.signal.note"]);
  const handle = await clock.until(client.start(noting, {}, { id: saga }));
  await clock.advance(1_000);
  // Two people at once, or one whose process died after the publish.
  await clock.until(Promise.all([retryLetter(operator, letter!), retryLetter(operator, letter!)]));
  await clock.advance(5_000);
  expect(await signalsTaken()).toBe(1);
  expect(await letters()).toEqual([]);
  await clock.until(handle.signal("end", {}));
  expect(await clock.until(handle.result())).toMatchObject({ output: { notes: 1 } });
});

test.each(["open", "ended"])(
  "an answer to what no turn asked waits for it, while its saga is %s",
  async (how) => {
    const { clock, operator, client, saga, letters } = await openMesh();
    const handle = await clock.until(client.start(noting, {}, { id: saga }));
    if (how === "ended") {
      await clock.until(handle.signal("end", {}));
      await clock.until(handle.result());
    }
    const intent = "9-0" as IntentId; // Proof: of an id's form.
    for (const [subject, body] of [
      [subjects.task(saga, intent), { vote: "approve", by: "ann" }],
      [subjects.result(saga, intent), { outcome: "succeeded", output: {}, attempt: 1, by: "w" }],
      [subjects.timerTarget(saga, intent), {}],
    ] as const)
      await clock.until(
        operator.ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} }),
      );
    const told = async () => (await letters()).map(({ code }) => code);
    await clock.advance(limits.endedInputMs - 5_000);
    expect(await told(), "a server that is behind may lack the turn").toEqual([]);
    await clock.advance(60_000);
    const all = ["INTENT_UNKNOWN", "INTENT_UNKNOWN", "INTENT_UNKNOWN"];
    expect(await told(), "a vote on what no person was shown waits for no turn").toEqual(
      how === "ended" ? all : ["INTENT_UNKNOWN"],
    );
    await clock.advance(limits.earlyInputMs);
    expect(await told()).toEqual(all);
  },
);

test("what is wrong with a message is wrong when it is sent again: it is set aside once more, whole", async () => {
  const { clock, operator, client, saga, signal, letters, signalsTaken } = await openMesh();
  await clock.until(client.start(noting, {}, { id: saga }));
  await signal('{"txt":1}', { [headers.event]: "mine", "Custom-Field": "kept" });
  await clock.advance(1_000);
  const [first] = await letters();
  expect(first).toMatchObject({
    code: "INPUT_INVALID",
    headers: { "Custom-Field": "kept", [headers.event]: "mine" },
  });
  await clock.until(retryLetter(operator, first!));
  await clock.advance(1_000);
  const [second, ...more] = await letters();
  expect(more).toEqual([]);
  expect(second!.seq).toBeGreaterThan(first!.seq);
  expect(second).toMatchObject({ code: "INPUT_INVALID", subject: first!.subject, headers: first!.headers });
  expect(Buffer.from(second!.data).toString()).toBe('{"txt":1}');
  expect(await signalsTaken()).toBe(0);
});

test("a letter that is dropped is gone, and asking for it says so", async () => {
  const { clock, operator, client, saga, signal, letters } = await openMesh();
  await clock.until(client.start(noting, {}, { id: saga }));
  await signal('{"txt":1}');
  await clock.advance(1_000);
  const [letter] = await letters();
  await clock.until(dropLetter(operator, letter!));
  expect(await letters()).toEqual([]);
  expect(await codeOf(clock.until(readLetter(operator, letter!.seq)))).toBe("LETTER_UNKNOWN");
});
