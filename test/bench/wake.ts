/**
 * Wake: from a signal's publish to the first new turn, for sagas that sleep, by the length and kind of their
 * history; for an agent, to the moment its model is asked.
 *
 * Method: several sagas of each length make their turns and come to rest; then the host lets go of all of them.
 * Each is sent one signal, one after the other; the clock runs from before the publish until the host has the
 * ack of the turn that holds it. In between: delivery, the ledger's head, the snapshot, what was folded since,
 * the fold, the append. Before the first measured one, one saga of each length wakes to warm the code up. Lengths
 * take turns, so that what the machine does meanwhile falls on all of them.
 *
 * It does not measure: a host that starts first, a cold disk, a ledger among millions of others.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type App, defineApp } from "../../services/app/app.ts";
import type { Observer } from "../../services/host/host-deps.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import {
  type BenchServer,
  hostOn,
  openServer,
  sendSignal,
  startSaga,
  type Sync,
  until,
} from "./bench-mesh.ts";
import { median, percentile, type Report, rounded } from "./figures.ts";
import { noopApp, noopName, noopSignal } from "./noop-saga.ts";

export interface WakeOptions {
  readonly samples: number;
  readonly syncs: readonly Sync[];
  readonly turns: readonly number[];
  readonly decisions: readonly number[];
}

/** What a saga's history is made of: calls that leave nothing, calls that stand, signals. */
const histories = ["read", "idempotent", "signals"] as const;
type History = (typeof histories)[number];

export async function measureWake(options: WakeOptions): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const sync of options.syncs) {
    for (const history of histories)
      rows.push(
        ...(await onServer(sync, (bench) => measureSagas(bench, history, options))).map((row) => ({
          sync,
          ...row,
        })),
      );
    rows.push(
      ...(await onServer(sync, (bench) => measureAgents(bench, options))).map((row) => ({ sync, ...row })),
    );
  }
  return {
    title: `Milliseconds from a signal to the first new turn of a saga that sleeps, ${options.samples} sagas each`,
    rows,
    notes: [
      "read leaves no effect behind; each idempotent call stands; each signal's id is remembered.",
      "Goal: the ratio to the shortest history, of the medians, is at most 1.2.",
      `agent: to the model's request, less the ${limits.signalSettleMs} ms that it waits for further signals; the`,
      "conversation is sent whole, so its length is part of it. KB: of the request's messages.",
    ],
  };
}

type Rows = Record<string, string | number>[];

async function onServer(sync: Sync, measure: (bench: BenchServer) => Promise<Rows>): Promise<Rows> {
  const bench = await openServer(sync);
  try {
    return await measure(bench);
  } finally {
    await bench.close();
  }
}

/** Wakes every saga once, lengths in turn, and makes a row for each length. */
async function wakeAll(
  lengths: readonly { readonly length: number; readonly ids: readonly string[] }[],
  wake: (saga: string) => Promise<number>,
): Promise<{ length: number; found: number[] }[]> {
  const rows = lengths.map(({ length }) => ({ length, found: [] as number[] }));
  for (let sample = 0; sample < lengths[0]!.ids.length; sample++)
    for (const [index, { ids }] of lengths.entries()) {
      const took = await wake(ids[sample]!);
      if (sample > 0) rows[index]!.found.push(took);
    }
  return rows;
}

const figuresOf = (found: readonly number[], base: readonly number[]) => ({
  median: rounded(median(found)),
  p95: rounded(percentile(found, 0.95)),
  least: rounded(Math.min(...found)),
  most: rounded(Math.max(...found)),
  ratio: rounded(median(found) / median(base)),
});

const idsOf = (lengths: readonly number[], samples: number, name: string) =>
  lengths.map((length) => ({
    length,
    ids: Array.from({ length: samples + 1 }, () => mintSagaId(name, Date.now(), Math.random())),
  }));

async function measureSagas(
  { ports }: BenchServer,
  history: History,
  { samples, turns }: WakeOptions,
): Promise<Rows> {
  const latest = new Map<string, number>();
  let seen: { saga: string; turned: () => void } | undefined;
  const observe: Partial<Observer> = {
    turn: ({ state }) => {
      latest.set(state.saga, state.turn);
      if (seen?.saga === state.saga) seen.turned();
    },
  };
  const app = noopApp({ effect: history === "idempotent" ? "idempotent" : "read" });
  const host = await hostOn(ports, app, observe);
  const sagas = idsOf(turns, samples, "noop");
  const grow = async (id: string, count: number): Promise<void> => {
    const steps = history === "signals" ? 1 : count - 1;
    await startSaga(ports, id, noopName("host"), { steps, stays: true });
    if (history !== "signals") return;
    for (let sent = 2; sent < count; sent++) {
      await until("the turn before", () => (latest.get(id) ?? 0) >= sent);
      await sendSignal(ports, id, noopSignal, {});
    }
  };
  await Promise.all(sagas.flatMap(({ length, ids }) => ids.map((id) => grow(id, length))));
  const isDone = () => sagas.every(({ length, ids }) => ids.every((id) => latest.get(id) === length));
  await until("every saga has its turns", isDone, 600_000);
  await until("the host lets go of all", () => host.resident() === 0);
  const rows = await wakeAll(sagas, async (saga) => {
    const turned = new Promise<void>((resolve) => (seen = { saga, turned: resolve }));
    const startedAt = performance.now();
    await sendSignal(ports, saga, noopSignal, {});
    await turned;
    return performance.now() - startedAt;
  });
  await host.stop(1_000);
  return rows.map(({ length, found }) => ({
    history,
    length: `${length} turns`,
    ...figuresOf(found, rows[0]!.found),
  }));
}

async function measureAgents({ ports }: BenchServer, { samples, decisions }: WakeOptions): Promise<Rows> {
  const asked = new Map<string, { step: number; at: number; bytes: number }>();
  const lengthOf = new Map<string, number>();
  const host = await hostOn(
    ports,
    waitingAgent(
      (request) =>
        asked.set(request.saga, {
          step: request.step,
          at: performance.now(),
          bytes: JSON.stringify(request.messages).length,
        }),
      (saga) => lengthOf.get(saga) ?? 0,
    ),
  );
  const agents = idsOf(decisions, samples, "waiter");
  for (const { length, ids } of agents)
    for (const id of ids) {
      lengthOf.set(id, length);
      await startSaga(ports, id, "waiter", {});
    }
  const isDone = () => agents.every(({ length, ids }) => ids.every((id) => asked.get(id)?.step === length));
  await until("every agent has its decisions", isDone, 600_000);
  await until("the host lets go of all", () => host.resident() === 0);
  const rows = await wakeAll(agents, async (saga) => {
    const before = asked.get(saga)!.step;
    const startedAt = performance.now();
    await sendSignal(ports, saga, "go", {});
    await until("the model is asked", () => asked.get(saga)!.step > before);
    return asked.get(saga)!.at - startedAt - limits.signalSettleMs;
  });
  await host.stop(1_000);
  return rows.map(({ length, found }, index) => ({
    history: "agent",
    length: `${length} decisions`,
    ...figuresOf(found, rows[0]!.found),
    KB: Math.round(asked.get(agents[index]!.ids[0]!)!.bytes / 1_000),
  }));
}

/** An agent that calls a tool so many times and then waits for a signal, after each of which it is asked again. */
function waitingAgent(
  note: (request: { saga: string; step: number; messages: readonly unknown[] }) => void,
  decisionsOf: (saga: string) => number,
): App {
  const search = defineTool({
    name: "search",
    description: "finds a text",
    effect: "read",
    placement: "host",
    input: z.object({ query: z.string() }),
    output: z.object({ text: z.string() }),
    perform: async ({ query }) => ({ text: `${query}: ${"what the search has found. ".repeat(40)}` }),
  });
  const waiter = defineAgent({
    name: "waiter",
    version: 1,
    description: "searches, then waits",
    model: "script",
    instructions: "Search, then wait.",
    input: z.object({}),
    output: z.object({}),
    signals: { go: z.object({}) },
    tools: [search],
  });
  const model = scriptedModel("script", (request) => {
    note(request);
    return request.step < decisionsOf(request.saga)
      ? { calls: [{ tool: "search", input: { query: `number ${request.step}` } }] }
      : { calls: [{ tool: "wait", input: { signals: ["go"] } }] };
  });
  return defineApp({ sagas: [waiter], models: { script: model } });
}
