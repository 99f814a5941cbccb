/**
 * Goal: the steps of a budget are never fewer than the requests that a provider received, and its limit holds for those,
 * though hosts are killed by SIGKILL at any moment.
 * Method: two hosts as processes, each killed several times at times drawn by a seed, and a provider of the Messages API that
 * counts what arrives, by saga, before it thinks; now and then it is overloaded. What a host died before it asked is a step
 * that was not asked; the most of it is known from how often hosts died. MESH_SEED draws other times.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededChance } from "../../services/memory/faults.ts";
import { noting, thrifty, thriftySteps } from "../apps/noting-contract.ts";
import { startCli } from "../support/cli.ts";
import { openRealMesh, startAccountServer } from "../support/real-mesh.ts";
import { startStrictMessagesApi } from "../support/strict-messages-api.ts";

const seed = Number(process.env["MESH_SEED"] ?? 14);
const sagasCount = 16;
const notesCount = 5;
const killsCount = 6;

/** Sagas name themselves in their input. */
const me = (n: number) => `noter-${n}.`;

/** What has arrived, by saga, and how it is answered: so many notes, then an end. */
function startProvider() {
  const chance = seededChance(seed, "provider");
  const asked = new Map<string, number>();
  const api = startStrictMessagesApi(async ({ messages }) => {
    const said = JSON.stringify(messages);
    const from = /noter-\d+\./.exec(said)?.[0] ?? "nobody";
    asked.set(from, (asked.get(from) ?? 0) + 1);
    await delay(chance.between(20, 500));
    if (chance.happens(0.08)) return { status: 529, type: "overloaded_error", message: "Overloaded" };
    const noted = said.split('"type":"tool_use"').length - 1;
    const call =
      noted < notesCount
        ? { type: "tool_use", name: "note", input: { of: noted } }
        : { type: "tool_use", name: "finish", input: { output: {} } };
    return { content: [call], stop: "tool_use" };
  });
  return { asked, api };
}

test("the steps of every saga are at least what a provider was asked, whatever hosts were killed", async () => {
  const chance = seededChance(seed, "kills");
  const { asked, api: starting } = startProvider();
  await using api = await starting;
  const server = await startAccountServer(1);
  const mesh = await openRealMesh(server.nextUrl());
  const hosts: ReturnType<typeof startCli>[] = [];
  const launch = async (place: number) => {
    const host = startCli(["host", "--app", "test/apps/noting.ts", "--server", mesh.url, "--json"], {
      env: { MESH_WORLD: api.url },
    });
    hosts[place] = host;
    await host.says('"role":"host"');
  };
  try {
    await Promise.all([launch(0), launch(1)]);
    const sagas = await Promise.all(
      Array.from({ length: sagasCount }, (_, n) =>
        mesh.client.start(n % 2 === 0 ? noting : thrifty, { me: me(n) }, { id: `s-${n}` }),
      ),
    );
    for (let kill = 0; kill < killsCount; kill++) {
      await delay(chance.between(100, 1_200));
      hosts[kill % 2]?.process.kill("SIGKILL");
      await launch(kill % 2);
    }
    const ends = await Promise.all(sagas.map((saga) => saga.result({ signal: AbortSignal.timeout(90_000) })));
    const counts = await Promise.all(
      sagas.map(async ({ id }, n) => {
        const { spent, budget } = await mesh.client.describe(id);
        return { saga: id, steps: spent.steps, used: budget?.used.steps, asked: asked.get(me(n)) ?? 0 };
      }),
    );
    const sum = (of: "steps" | "asked") => counts.reduce((total, one) => total + one[of], 0);
    console.log(`seed ${seed}: ${sum("asked")} requests arrived, ${sum("steps")} steps counted`);
    for (const [n, { steps, used, asked: arrived, saga }] of counts.entries()) {
      expect(arrived, saga).toBeGreaterThan(0);
      expect(steps, `${saga}: steps against requests`).toBeGreaterThanOrEqual(arrived);
      expect(steps - arrived, `${saga}: not asked, for its host died`).toBeLessThanOrEqual(killsCount);
      expect(used, saga).toBe(steps);
      if (n % 2 === 1) expect(arrived, saga).toBeLessThanOrEqual(thriftySteps);
      else expect(ends[n], saga).toMatchObject({ status: "completed" });
    }
    expect(asked.has("nobody")).toBe(false);
  } finally {
    for (const host of hosts) host.process.kill("SIGKILL");
    await mesh.close();
    await server.stop();
  }
}, 150_000);
