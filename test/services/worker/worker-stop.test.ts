/**
 * Goal: a worker that has stopped is silent, also if its server went away before it could say how its work ended.
 * Method: a worker on a memory mesh that is cut off for good while a call runs, and an account of its calls.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool, implement } from "../../../actors/contract/tool.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { defineApp } from "../../../services/app/app.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { startWorker } from "../../../services/worker/worker.ts";

test("a stopped worker that cannot reach its server does not go on trying", async () => {
  const mesh = createMemoryMesh({ seed: 1 });
  const process = mesh.spawn("worker");
  let begun = 0;
  const tool = defineTool({
    name: "act",
    description: "Acts.",
    effect: "read",
    input: z.object({}),
    output: z.object({}),
  });
  const perform = async () => {
    begun += 1;
    await process.clock.sleep(200);
    return {};
  };
  const base = { log: silentLog, callbackBase: "sagamesh:", incarnation: "w" };
  const app = defineApp({ implementations: [implement(tool, { perform })] });
  const worker = await mesh.clock.until(startWorker({ ...base, ...process }, app));
  const contract = contractDigest(tool);
  const body = { saga: "s1", intent: "1-0", attempt: 1, tool: "act", contract, key: "s1.1-0.abc", input: {} };
  const work = { data: encodeJson(body), headers: {}, msgId: "1" };
  await mesh.clock.until(mesh.spawn("host").ports.work.publish({ name: "act", contract }, work));
  await mesh.clock.advance(50);
  expect(begun).toBe(1);
  process.gate.cut(3_600_000);
  await mesh.clock.advance(2_000);
  await mesh.clock.until(worker.stop(0));
  let calls = 0;
  process.gate.onCall((_, __, when) => when === "before" && (calls += 1));
  await mesh.clock.advance(600_000);
  expect(calls).toBeLessThanOrEqual(1); // The one that was on its way.
});
