/**
 * Tokens: how much later a listener has a word than the model port said it.
 *
 * Method: a port that says a word every 5 ms, as a fast model does, with the time of its saying in it; a host and a
 * listener, each on a connection of its own to one server, all in this process, so both times are of one clock. Once
 * with one saga and once with 16 that talk at once.
 *
 * It does not measure: a network between the processes, a terminal, nor the provider's own delay.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { defineApp } from "../../services/app/app.ts";
import { followLive } from "../../services/client/live.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { hostOn, openServer, startSaga } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";

const wordEveryMs = 5;
const words = 400;

const talker: ModelPort = {
  name: "talker",
  decide: async (_, { live }) => {
    for (let word = 0; word < words; word++) {
      await new Promise((resolve) => setTimeout(resolve, wordEveryMs));
      live({ text: `${performance.now()} ` });
    }
    return { model: "talker", calls: [{ tool: "finish", input: { output: {} } }] };
  },
};

const agent = defineAgent({
  name: "talker",
  version: 1,
  description: "Talks.",
  model: "talker",
  instructions: "Talk.",
  input: z.object({}),
  output: z.object({}),
  signals: {},
  tools: [],
});

/** Milliseconds of each word, sorted. */
async function measure(sagas: number): Promise<number[]> {
  const bench = await openServer("default");
  const nc = await connectNats({ servers: bench.server.url, name: "listener" });
  const ports = await openNatsPorts(nc);
  const host = await hostOn(bench.ports, defineApp({ sagas: [agent], models: { talker } }));
  const late: number[] = [];
  const listen = async (saga: SagaId) => {
    for await (const event of followLive(ports, saga))
      if (event.type === "token") late.push(performance.now() - Number(event.piece));
  };
  try {
    const ids = Array.from({ length: sagas }, (_, n) => `talker-${n}` as SagaId);
    for (const id of ids) await startSaga(bench.ports, id, "talker", {});
    await Promise.all(ids.map(listen));
  } finally {
    await host.stop(0);
    await ports.close();
    await nc.close();
    await bench.close();
  }
  return late.sort((a, b) => a - b);
}

export async function measureTokens(): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const sagas of [1, 16]) {
    const late = await measure(sagas);
    const at = (share: number) => rounded(late[Math.floor((late.length - 1) * share)] ?? 0);
    rows.push({ sagas, words: late.length, "p50 ms": at(0.5), "p99 ms": at(0.99), "most ms": at(1) });
  }
  return {
    title: `A word every ${wordEveryMs} ms per saga: how much later a listener has it`,
    rows,
    notes: ["Server, host and listener on one machine."],
  };
}
