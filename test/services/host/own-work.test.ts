/**
 * Goal: what a model call costs beyond what was reserved for it is charged, and said. Method: a host on a mesh in memory,
 * with a log that is kept and a port that sends a bill of its own.
 */
import { expect, test } from "vitest";
import type { ModelPort } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { viewOf } from "../../../services/views/view.ts";
import { type Log, silentLog } from "../../../services/process/log.ts";
import { agentOf, finish } from "../../support/workbench.ts";

const agent = agentOf({ budget: { usd: 1 } });
const dear = { inputPerMillion: 100, outputPerMillion: 100 };
const cheap = { inputPerMillion: 1, outputPerMillion: 1 };

async function run(port: ModelPort, prices?: typeof cheap) {
  const app = defineApp({
    sagas: [agent],
    models: { scripted: port },
    ...(prices === undefined ? {} : { prices: { scripted: prices } }),
  });
  const mesh = createMemoryMesh({ seed: 1 });
  const { ports, clock, chance, gate } = mesh.spawn("host");
  const warnings: { fields: object; message: string }[] = [];
  const log: Log = { ...silentLog, warn: (fields, message) => warnings.push({ fields, message }) };
  const options = { ports, clock, chance, log, incarnation: gate.name, callbackBase: "sagamesh:" };
  await mesh.clock.until(startHost(options, app));
  const outside = mesh.spawn("client");
  const client = createClient({ ...outside, from: "test" }, () => Promise.resolve());
  const saga = await mesh.clock.until(client.start(agent, { of: "x" }, { id: "s1" }));
  await mesh.clock.until(saga.result());
  const messages = mesh.server.ledger.after(saga.id, 0);
  const turns = messages.map((message) => decodeTurn(outside.ports.blobs, message));
  const { spent, budget } = viewOf(await mesh.clock.until(Promise.all(turns)), {
    budgetOf: () => agent.definition.budget,
  });
  return { warnings, spent, budget };
}

const bill = (usage: object) => scriptedModel("scripted", () => ({ ...finish, usage: usage as never }));
const tokens = { inputTokens: 100, outputTokens: 10 };

test("a port that bills more than was reserved is charged in full, and host and view say so", async () => {
  const { warnings, spent, budget } = await run(bill({ ...tokens, usd: 3 }), cheap);
  expect(spent.usd).toBe(3);
  expect(budget?.exceeded?.usd).toBeGreaterThan(2);
  expect(warnings).toEqual([
    {
      fields: { sagaId: "s1", intentId: "1-0", model: "scripted", beyond: budget?.exceeded },
      message: "model cost more than was reserved",
    },
  ]);
});

test("a port whose own price is dearer than the application's is charged by the application's, and nothing is said", async () => {
  const { warnings, spent, budget } = await run({ ...bill(tokens), price: dear }, cheap);
  expect(spent.usd).toBe(0.00011);
  expect(budget).not.toHaveProperty("exceeded");
  expect(warnings).toEqual([]);
});

test("a port's own price is what a budget in dollars reserves and settles by where the application has none", async () => {
  const { warnings, spent } = await run({ ...bill(tokens), price: dear });
  expect(spent.usd).toBe(0.011);
  expect(warnings).toEqual([]);
});
