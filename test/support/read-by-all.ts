/** Read by all: a saga of a mesh in memory, read in every way there is. */
import { expect } from "vitest";
import type { SagaId } from "../../protocol/ids.ts";
import type { App } from "../../services/app/app.ts";
import { describeTurn } from "../../services/cli/telling/describe.ts";
import type { MemoryMesh, MemoryProcess } from "../../services/memory/mesh.ts";
import type { TestMesh } from "../../services/testing/test-mesh.ts";
import { inspectedOf } from "./inspected-of.ts";
import { verifyLedger } from "../../services/views/verify.ts";
import { readLedger, readView } from "../../services/views/view.ts";
import { whyOf } from "./why-of.ts";
import { atOnce } from "../../services/wire/loop.ts";
import { stepwise } from "./replaying.ts";

/** Throws what a reader throws. */
export async function readByAll(
  { mesh, outside, app, t }: { mesh: MemoryMesh; outside: MemoryProcess; app: App; t: TestMesh },
  saga: SagaId,
): Promise<void> {
  const { ports } = outside;
  const read = <T>(work: Promise<T>) => mesh.clock.until(work);
  const turns = (await read(readLedger(ports, saga))).map(({ turn }) => turn);
  JSON.stringify(atOnce(inspectedOf(turns, {}, undefined)));
  JSON.stringify(atOnce(inspectedOf(turns, {}, app)));
  JSON.stringify(atOnce(whyOf(turns, { app })));
  for (const turn of turns) describeTurn(turn);
  expect(await read(verifyLedger(ports, saga, app))).toMatchObject({ ok: true, folded: true });
  await read(readView(ports, saga));
  JSON.stringify([await t.tasks(), await t.list(), await t.describe(saga)]);
  await stepwise(app, turns, "recorded");
}
