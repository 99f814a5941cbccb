/**
 * Goal: a signal that one saga sent another, and that was lost after its ack, is told again: by the hosts after INBOX was lost,
 * and by `nudge` at any time. It is taken once, and what was not lost is not told again.
 * Method: pairs of agents on the memory mesh in virtual time, of which some lose their signal as a queue does that forgets, some
 * have it taken, and some have it set aside. What the receivers' ledgers say is held to account.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { nudgeSagas } from "../../../services/client/nudge.ts";
import { silentObserver } from "../../../services/host/host-deps.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { silentLog } from "../../../services/process/log.ts";
import { readLedger } from "../../../services/views/view.ts";

const everyMs = 10_000;
const base = { version: 1, description: "One of two.", instructions: "Talk.", model: "script", tools: [] };
const Text = z.object({ text: z.string() });
const listener = defineAgent({
  ...{ ...base, name: "listener", input: z.object({}), output: Text },
  signals: { note: Text, enough: z.object({}) },
});
const deaf = defineAgent({
  ...base,
  name: "deaf",
  input: z.object({}),
  output: Text,
  signals: { enough: z.object({}) },
});
const sender = defineAgent({
  ...{ ...base, name: "sender", input: z.object({ to: z.string() }), output: z.object({}), signals: {} },
  sends: [listener],
});
/** A sender sends once and ends; a listener waits until it has had enough. */
const script = scriptedModel("script", ({ saga, messages }: ModelRequest) => {
  const finish = (output: object) => ({ calls: [{ tool: "finish", input: { output } as never }] });
  const parts = messages.flatMap((one) => (one.role === "user" ? one.parts : []));
  if (!saga.startsWith("says"))
    return parts.some((part) => part.type === "signal" && part.name === "enough")
      ? finish({ text: "enough" })
      : { calls: [{ tool: "wait", input: {} }] };
  if (parts.some(({ type }) => type === "result")) return finish({});
  const data = { text: saga };
  return {
    calls: [
      { tool: "send", input: { to: saga.replace("says", "hears"), agent: "listener", signal: "note", data } },
    ],
  };
});
const app = defineApp({ sagas: [listener, deaf, sender], models: { script } });

/** Each saga's name says what becomes of its signal. */
const fates = ["lost", "taken", "deaf", "over", "lost-too"] as const;

async function openPairs() {
  const mesh = createMemoryMesh({ seed: 5, partitions: 2 });
  const { until, advance } = mesh.clock;
  const life = mesh.spawn("host");
  let told = 0;
  let lost = 0;
  const { inbox } = life.ports;
  const ports = {
    ...life.ports,
    inbox: {
      ...inbox,
      publish: async (message: Parameters<typeof inbox.publish>[0]) => {
        if (message.subject.endsWith(".signal.note")) told += 1;
        const isLost = /^saga.hears-(lost|over)/.test(message.subject) && !message.msgId?.includes("again");
        if (!isLost || !message.subject.includes(".signal.")) return inbox.publish(message);
        lost += 1;
        return { seq: 1, duplicate: false };
      },
    },
  };
  const own = { log: silentLog, incarnation: life.gate.name, callbackBase: "sagamesh:" };
  await until(startHost({ ...life, ...own, ports, auditEveryMs: everyMs, observe: silentObserver }, app));
  const outside = mesh.spawn("outside");
  const deps = { ...outside, from: "tester" };
  const client = createClient(deps, async () => undefined);
  for (const fate of fates) {
    await until(client.start(fate === "deaf" ? deaf : listener, {}, { id: `hears-${fate}` }));
    await until(client.start(sender, { to: `hears-${fate}` }, { id: `says-${fate}` }));
  }
  await advance(5_000);
  await until(client.saga(listener, "hears-over").signal("enough", {}));
  await advance(5_000);
  expect([told, lost]).toEqual([fates.length, 3]);
  const notesOf = async (fate: string) => {
    const turns = await until(readLedger(outside.ports, parseSagaId(`hears-${fate}`)));
    const events = turns.flatMap(({ turn }) => turn.steps.map(({ event }) => event));
    return events.filter((event) => event.type === "signal" && event.name === "note").length;
  };
  return {
    ...{ mesh, deps, told: () => told },
    notes: async () =>
      Object.fromEntries(await Promise.all(fates.map(async (fate) => [fate, await notesOf(fate)]))),
    letters: async () => (await until(outside.ports.dead.list())).length,
  };
}

const before = { lost: 0, taken: 1, deaf: 0, over: 0, "lost-too": 0 };
const after = { ...before, lost: 1, "lost-too": 1 };

test("after INBOX was lost, hosts tell again what its receiver lacks, once, and neither what was taken nor what cannot be (AQ5, GL1, GL2)", async () => {
  const t = await openPairs();
  await t.mesh.clock.advance(3 * everyMs);
  expect(await t.notes()).toEqual(before); // Nothing is looked for where nothing was lost.
  t.mesh.server.lose("inbox");
  await t.mesh.clock.advance(6 * everyMs);
  expect(await t.notes()).toEqual(after);
  expect([t.told(), await t.letters()]).toEqual([fates.length + 2, 1]);
});

test("a nudge does it without a loss that is known, says before what it would do, and does it once", async () => {
  const t = await openPairs();
  const { until, advance } = t.mesh.clock;
  const signal = new AbortController().signal;
  const nudge = (isDryRun: boolean) => until(nudgeSagas(t.deps, { isDryRun, told: () => undefined, signal }));
  const due = await nudge(true);
  expect(due.map(({ saga, orphans }) => [saga, orphans.map(({ kind, name }) => `${kind} ${name}`)])).toEqual(
    ["says-lost", "says-lost-too"].map((saga) => [saga, ["signal note"]]),
  );
  await advance(1_000);
  expect(await t.notes()).toEqual(before);
  await nudge(false);
  await advance(1_000);
  expect(await t.notes()).toEqual(after);
  expect(await nudge(false)).toEqual([]);
});
