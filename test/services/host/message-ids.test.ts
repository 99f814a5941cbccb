/**
 * Goal: what is handed on again is the same message, and what is decided anew under its id, from an older copy of the ledger,
 * is another one; of every kind of intent that becomes a message.
 *
 * Method: the memory mesh's ports, and the Msg-Ids that are given to them.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import type { OpenIntent, SagaState } from "../../../actors/contract/state.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import { defineApp } from "../../../services/app/app.ts";
import { sendSignal, settleIntent } from "../../../services/client/send.ts";
import { dispatch } from "../../../services/host/dispatch.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { deadLetter } from "../../../services/wire/dead-letter.ts";
import type { Ports } from "../../../services/wire/ports.ts";

const saga = parseSagaId("s1");
const id = parseIntentId("3-1");
const parts = { version: 1, model: "m", instructions: "Do it.", signals: {}, tools: [] };
const child = defineAgent({
  ...{ ...parts, name: "child", description: "Does.", input: z.object({}), output: z.object({}) },
});
const doer = defineAgent({
  ...{ ...parts, name: "doer", description: "Does.", input: z.object({}), output: z.object({}) },
  agents: [child],
});
const model = { name: "m", decide: () => Promise.reject(new Error("asked of nobody")) };
const definition = defineApp({ sagas: [doer], models: { m: model } }).latest("doer")!;

/** A process of a memory mesh, and the Msg-Ids of what it has stored since. */
function openLife() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { ports, ...life } = mesh.spawn("host");
  const ids: (string | undefined)[] = [];
  const noted = <M extends { msgId?: string }>(message: M): M => {
    ids.push(message.msgId);
    return message;
  };
  const watched: Ports = {
    ...ports,
    work: { ...ports.work, publish: (ref, message) => ports.work.publish(ref, noted(message)) },
    inbox: { ...ports.inbox, publish: (message) => ports.inbox.publish(noted(message)) },
    dead: { ...ports.dead, publish: (message) => ports.dead.publish(noted(message)) },
  };
  const idsOf = async (run: () => Promise<unknown> | undefined) => {
    ids.length = 0;
    await mesh.clock.until(run() ?? Promise.resolve());
    return ids.join();
  };
  return { idsOf, deps: { ...life, ports: watched, signal: new AbortController().signal, from: "tester" } };
}

const intents: readonly [string, Intent][] = [
  ["a call", { kind: "tool", id, name: "book", key: "k", contract: "c0ffee" }],
  ["a child", { kind: "saga", id, name: "child", saga: parseSagaId("child-1") }],
  [
    "an order to undo",
    { kind: "saga", id, name: "child", saga: parseSagaId("child-1"), undoes: parseIntentId("1-0") },
  ],
  ["a signal", { kind: "signal", id, saga: parseSagaId("s2"), name: "note", data: {} }],
  ["an end", { kind: "end", id, status: "completed", standing: [], tells: true }],
];

test.each(intents)(
  "%s that is decided anew is another message, and repeated it is the same",
  async (_, intent) => {
    const state = {
      ...{
        saga,
        open: {},
        spent: { steps: 0, inputTokens: 0, outputTokens: 0, usd: 0, toolCalls: 0, children: 0 },
      },
      ...{ parent: { saga: parseSagaId("p1"), intent: parseIntentId("1-0") }, effects: [], doubts: {} },
    } as unknown as SagaState; // What telling a parent or a child reads of it.
    const handedOn = (decidedAt: number | undefined) => {
      const { deps, idsOf } = openLife();
      const open = {
        intent,
        input: {},
        attempt: 1,
        ...(decidedAt === undefined ? {} : { decidedAt }),
      } as OpenIntent;
      return idsOf(() => dispatch(deps, { definition, state }, open));
    };
    const first = await handedOn(1_000);
    expect(first).not.toBe("");
    expect(await handedOn(1_000)).toBe(first);
    expect(await handedOn(2_000)).not.toBe(first);
    expect(await handedOn(undefined)).not.toBe(first);
  },
);

test("of two signals under one id and of two equal settlements the saga is told, and not the server (ZA1)", async () => {
  const { deps, idsOf } = openLife();
  const signal = () => sendSignal(deps, saga, "note", {}, "own");
  expect(await idsOf(signal)).not.toBe(await idsOf(signal));
  const settle = () => settleIntent(deps, { saga, intent: id, attempt: 1 }, { succeeded: {} });
  expect(await idsOf(settle)).not.toBe(await idsOf(settle));
});

test("a letter of a queue that was made anew is another than that of the same place before", async () => {
  const { deps, idsOf } = openLife();
  const setAside = (storedAt: number) =>
    idsOf(() =>
      deadLetter(
        deps,
        "work",
        { subject: "work.book.c0ffee", seq: 7, storedAt, data: new Uint8Array(), headers: {} },
        new MeshError("POISON", "it kills"),
      ),
    );
  const first = await setAside(1_000);
  expect(await setAside(1_000)).toBe(first);
  expect(await setAside(2_000)).not.toBe(first);
});
