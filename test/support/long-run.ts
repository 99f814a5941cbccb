/**
 * A long agent's saga on the memory mesh in virtual time: two hosts and a worker, of which one is killed every few
 * seconds, between any two moments of the process, and comes back.
 */
import { expect } from "vitest";
import { parseSagaId } from "../../protocol/ids.ts";
import { createClient } from "../../services/client/mesh.ts";
import { readLedger } from "../../services/views/view.ts";
import { startHost } from "../../services/host/host.ts";
import { silentLog } from "../../services/process/log.ts";
import { createMemoryMesh, type MemoryProcess } from "../../services/memory/mesh.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { type Account, checkAccount, type Line, longAgent } from "./long-agent.ts";

export const steps = 200;
export const saga = parseSagaId("marathon");

export interface LongRun extends Account {
  readonly status: string;
  readonly kills: number;
}

/** It ended well, and the model was asked exactly as often as its ledger explains. */
export function expectExplained({ status, requests, decisions, retries, hit }: LongRun): void {
  expect(status).toBe("completed");
  expect(decisions).toBe(steps);
  expect(requests).toBe(decisions + retries + hit);
}

/** One run. The seed decides every kill and every failure. */
export async function runInMemory(seed: number): Promise<LongRun> {
  const mesh = createMemoryMesh({ seed });
  const lines: Line[] = [];
  const killed = new Set<string>();
  const begin = (role: "host" | "worker", name: string) => {
    const life = mesh.spawn(name);
    const by = life.gate.name;
    const { agent, app } = longAgent({
      by,
      steps,
      note: (line) => lines.push(line),
      fails: () => mesh.chance.happens(0.01),
      think: () => life.clock.sleep(mesh.chance.between(5, 150)),
    });
    const options = { ...life, log: silentLog, incarnation: by, callbackBase: "sagamesh:" };
    // Not waited for: a process that is killed while it starts never has.
    void (role === "host" ? startHost(options, app) : startWorker(options, app));
    return { role, name, life, agent };
  };
  const processes = [begin("host", "a"), begin("host", "b"), begin("worker", "w")];

  const strike = async ({ clock }: MemoryProcess, isOver: () => boolean) => {
    while (!isOver()) {
      await clock.sleep(mesh.chance.between(200, 6_000));
      const at = mesh.chance.between(0, processes.length - 1);
      const victim = processes[at];
      if (victim === undefined || isOver()) continue;
      victim.life.gate.crash();
      killed.add(victim.life.gate.name);
      await clock.sleep(mesh.chance.between(0, 3_000));
      processes[at] = begin(victim.role, victim.name);
    }
  };

  const outside = mesh.spawn("outside");
  const run = async (): Promise<string> => {
    const client = createClient({ ...outside, from: "tester" }, async () => undefined);
    let isOver = false;
    const striking = strike(outside, () => isOver);
    const { agent } = processes[0] ?? begin("host", "a");
    const { status } = await (await client.start(agent, {}, { id: saga })).result();
    isOver = true;
    await striking;
    return status;
  };
  const status = await mesh.clock.until(run());
  const turns = await mesh.clock.until(readLedger(outside.ports, saga));
  return {
    ...checkAccount(
      turns.map(({ turn }) => turn),
      lines,
      killed,
    ),
    status,
    kills: killed.size,
  };
}
