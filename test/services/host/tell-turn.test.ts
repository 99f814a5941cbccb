/**
 * Goal: of a saga that ends because its model's replies could not be taken, log, `why` and `tail` say why of each.
 * Method: a model on a real host says what cannot be taken; everything is read back from the ledger and the log.
 */
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeTurn } from "../../../services/cli/telling/describe.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { whyOf } from "../../support/why-of.ts";
import { openRealMesh, startAccountServer, until } from "../../support/real-mesh.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const mumbler = defineAgent({
  name: "mumbler",
  version: 1,
  description: "Says what cannot be taken.",
  model: "mumbles",
  instructions: "Mumble.",
  input: z.object({ well: z.boolean() }),
  output: z.object({ answer: z.string() }),
  signals: {},
  tools: [],
});
const replies = [
  { calls: [{ tool: "finsh", input: {} }] },
  { calls: [{ tool: "wait", input: { hours: 72 } }] },
  { text: "I am done." },
  { calls: [{ tool: "finish", input: { output: { anwser: "42" } } }] },
];
const mumbles = scriptedModel("mumbles", ({ step, messages }) =>
  JSON.stringify(messages).includes("true")
    ? { calls: [{ tool: "finish", input: { output: { answer: "42" } } }] }
    : (replies[step - 1] ?? { text: "more than was allowed" }),
);

/** In the order in which the model was told them. */
const why = [
  /1\. finsh: \[TOOL_UNKNOWN\] there is no tool "finsh"; did you mean "finish"\?/,
  /2\. wait: \[CALL_INVALID\] .*"hours"/,
  /3\. A text alone does nothing here/,
  /4\. finish: \[CALL_INVALID\] .*"anwser"; did you mean "answer"\?/,
];

test("a saga whose replies cannot be taken is warned of once, and log, why and tail say why of each reply", async () => {
  const server = await startAccountServer(1);
  const mesh = await openRealMesh(server.nextUrl());
  const warned: { fields: Record<string, unknown>; message: string }[] = [];
  const host = await startHost(
    {
      ...{ ports: mesh.ports, clock: systemClock, chance: systemChance },
      ...{ incarnation: "h-1", callbackBase: "sagamesh:" },
      log: {
        ...silentLog,
        warn: (fields, message) => warned.push({ fields: fields as Record<string, unknown>, message }),
      },
    },
    defineApp({ sagas: [mumbler], models: { mumbles } }),
  );
  try {
    await mesh.client.start(mumbler, { well: false }, { id: "bad" });
    await mesh.client.start(mumbler, { well: true }, { id: "good" });
    const ended = async (saga: string) => (await mesh.client.describe(saga)).status !== "running";
    await until("both have ended", async () => (await ended("bad")) && (await ended("good")));
    const turns = await mesh.turns("bad");
    const told = warned.filter(({ message }) => message === "saga failed on replies");
    expect(told).toHaveLength(1);
    expect(told[0]?.fields).toMatchObject({
      sagaId: "bad",
      definition: expect.stringMatching(/^mumbler@1#\w{8}$/) as string,
      code: "MODEL_REPLY_INVALID",
    });
    const logged = String(told[0]?.fields["reason"]);
    const story = atOnce(whyOf(turns))
      .sentences.map(({ text }) => text)
      .join("\n");
    const tail = turns.flatMap(describeTurn).join("\n");
    for (const text of [logged, story, tail]) for (const one of why) expect(text).toMatch(one);
  } finally {
    await host.stop(0);
    await mesh.close();
    await server.stop();
  }
});
