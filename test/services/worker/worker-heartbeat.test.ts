/**
 * Goal: a worker keeps the leases of its calls whatever one renewal throws.
 * Method: two workers on a memory mesh and a call that runs for several leases; its first renewals throw, as those
 * of a connection do that is being replaced.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool, implement } from "../../../actors/contract/tool.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { limits } from "../../../protocol/limits.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { startWorker } from "../../../services/worker/worker.ts";

/** The process's ports, with deliveries of work whose first `times` renewals throw. */
function failingRenewals({ ports }: MemoryProcess, times: number): Ports {
  let left = times;
  const { work } = ports;
  return {
    ...ports,
    work: {
      ...work,
      consume: (tool, options, take) =>
        work.consume(tool, options, (delivery) =>
          take({
            ...delivery,
            working: () => {
              if (left-- > 0) throw new Error("the connection is closed");
              delivery.working();
            },
          }),
        ),
    },
  };
}

test("a renewal that throws ends no renewals: the call is performed once", async () => {
  const mesh = createMemoryMesh({ seed: 1 });
  const tool = defineTool({
    name: "act",
    description: "Acts.",
    effect: "read",
    input: z.object({}),
    output: z.object({}),
  });
  const begun: string[] = [];
  const serve = async (name: string) => {
    const process = mesh.spawn(name);
    const perform = async () => {
      begun.push(name);
      await process.clock.sleep(4 * limits.workAckWaitMs);
      return {};
    };
    const app = defineApp({ implementations: [implement(tool, { perform })] });
    const base = { log: silentLog, callbackBase: "sagamesh:", incarnation: name };
    const ports = failingRenewals(process, 1);
    return mesh.clock.until(startWorker({ ...base, ...process, ports }, app));
  };
  const workers = [await serve("a"), await serve("b")];
  const contract = contractDigest(tool);
  const body = { saga: "s1", intent: "1-0", attempt: 1, tool: "act", contract, key: "s1.1-0.abc", input: {} };
  const work = { data: encodeJson(body), headers: {}, msgId: "1" };
  await mesh.clock.until(mesh.spawn("host").ports.work.publish({ name: "act", contract }, work));
  await mesh.clock.advance(6 * limits.workAckWaitMs);
  expect(begun).toHaveLength(1);
  expect(workers.map((worker) => worker.running())).toEqual([0, 0]);
  await mesh.clock.until(Promise.all(workers.map((worker) => worker.stop(0))));
});
