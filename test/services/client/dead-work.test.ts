/**
 * Goal: work that was set aside goes, when it is sent again, to where its contract's workers look, and is performed.
 * Method: a call on a memory mesh whose saga waits; its work is set aside by hand before a worker comes.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { readLetters, retryLetter } from "../../../services/client/dead.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { deadLetter } from "../../../services/wire/dead-letter.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import { scriptedAgent } from "../../support/scripted-agent.ts";

test("work that was set aside is sent to its tool and contract, and performed once", async () => {
  const { clock, spawn, server } = createMemoryMesh({ seed: 1 });
  const performed: unknown[] = [];
  const post = defineTool({
    ...{ name: "post", description: "Posts.", effect: "idempotent", version: 3 },
    ...{ input: z.object({ text: z.string() }), output: z.object({}) },
    compensation: "point_of_no_return",
    perform: async (input) => {
      performed.push(input);
      return {};
    },
  });
  const { agent, app } = scriptedAgent([post], [[{ tool: "post", input: { text: "a" } }]]);
  const processOf = (name: string) => {
    const { gate, ...life } = spawn(name);
    return { ...life, log: silentLog, callbackBase: "sagamesh:", incarnation: gate.name };
  };
  await clock.until(startHost(processOf("host"), app));
  const operator = spawn("operator");
  const client = createClient({ ...operator, from: "ops" }, async () => undefined);
  const handle = await clock.until(client.start(agent, {}, { id: "s1" }));
  await clock.run({ until: clock.now() + 1_000 });

  const contract = { name: "post", contract: contractDigest(post) };
  const taken: Delivery[] = [];
  const taking = await clock.until(
    operator.ports.work.consume(contract, { inFlightMax: 1 }, (delivery) => void taken.push(delivery)),
  );
  await clock.run({ until: clock.now() + 100 });
  const [call] = taken;
  expect(call?.subject).toBe(`work.post.${contract.contract}`);
  await clock.until(deadLetter(operator, "work", call!, new MeshError("BAD_MESSAGE", "no worker reads it")));
  await clock.until(call!.ack());
  await clock.until(taking.stop());
  await clock.until(startWorker(processOf("worker"), app));
  await clock.run({ until: clock.now() + 10_000 });
  expect(performed).toEqual([]);
  expect(server.open().work).toBe(0);

  const [letter, ...more] = await clock.until(readLetters(operator));
  expect(more).toEqual([]);
  expect(letter).toMatchObject({ source: "work", subject: call!.subject, code: "BAD_MESSAGE" });
  const sent: unknown[] = [];
  const work = {
    ...operator.ports.work,
    publish: (...args: Parameters<typeof operator.ports.work.publish>) => {
      sent.push(args[0]);
      return operator.ports.work.publish(...args);
    },
  };
  await clock.until(retryLetter({ ...operator, ports: { ...operator.ports, work } }, letter!));
  expect(sent).toEqual([contract]);
  expect(await clock.until(handle.result())).toMatchObject({
    status: "completed",
    output: { outcomes: [{ tool: "post", outcome: "succeeded" }] },
  });
  expect(performed).toEqual([{ text: "a" }]);
  expect(await clock.until(readLetters(operator))).toEqual([]);
});
