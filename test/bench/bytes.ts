/**
 * Bytes: what a step takes on the ledger, and what a conversation takes on disk.
 *
 * Method, steps: one saga of no-op steps; the stream's own count of bytes, which has headers, subject and the
 * record's frame in it, divided by the turns.
 * Method, conversation: an agent of so many decisions on a scripted model; each decision calls a tool. The bytes
 * of LEDGER, BLOB and SNAPSHOT, as JetStream counts them and as the files' sizes on disk, against the JSON of the
 * conversation's distinct messages, which are folded from the ledger. The ratio depends on how long a message
 * is, because what a turn adds does not: so it is shown for several lengths.
 *
 * It does not measure: compression by the store, replicas, INBOX and WORK, which an ack empties.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { z } from "zod";
import { defineAgent } from "../../actors/define.ts";
import { foldLedger } from "../../actors/replay.ts";
import { defineTool } from "../../actors/tool.ts";
import { mintSagaId, type SagaId } from "../../protocol/ids.ts";
import { buckets, streams } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app.ts";
import { emptyHead, readTurns } from "../../services/ledger-reader.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { blobStream, bucketStream } from "../../services/nats/streams.ts";
import { type BenchServer, hostOn, openServer, startSaga, until, workerOn } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopApp, noopName, type Placement } from "./noop-saga.ts";

export async function measureStepBytes(steps: number): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const placement of ["host", "worker"] as const) rows.push(await measureSteps(placement, steps));
  return {
    title: "Bytes of a no-op step on LEDGER, headers and frame included",
    rows,
    notes: ["Goal: under 700."],
  };
}

async function measureSteps(placement: Placement, steps: number): Promise<Record<string, string | number>> {
  const bench = await openServer("default");
  try {
    const app = noopApp();
    const saga = mintSagaId("noop", Date.now(), Math.random());
    const ended = await runToEnd(bench, app, saga, noopName(placement), { steps });
    const { bytes, messages } = await stateOf(bench, streams.ledger);
    const middle = (await bench.ports.ledger.read(saga, 0, ended))[Math.floor(steps / 2)]!;
    const headerBytes = Object.entries(middle.headers).reduce(
      (sum, [name, value]) => sum + name.length + value.length + 4,
      14,
    );
    return {
      effect: placement === "host" ? "in the host" : "through WORK",
      turns: messages,
      "bytes per turn": Math.round(bytes / messages),
      body: middle.data.length,
      headers: headerBytes,
      "subject and frame": Math.round(bytes / messages) - middle.data.length - headerBytes,
    };
  } finally {
    await bench.close();
  }
}

export interface ConversationOptions {
  readonly decisions: number;
  /** Characters of a tool's answer; the model's own text and arguments are an eighth of it each. */
  readonly answerChars: readonly number[];
}

export async function measureConversation({ decisions, answerChars }: ConversationOptions): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const chars of answerChars) rows.push(await measureOne(decisions, chars));
  return {
    title: `A conversation of ${decisions} decisions: LEDGER, BLOB and SNAPSHOT against its messages`,
    rows,
    notes: ["of messages: bytes as JetStream counts them; on disk: sizes of the files. Goal: at most 1.3."],
  };
}

async function measureOne(decisions: number, chars: number): Promise<Record<string, string | number>> {
  const bench = await openServer("default");
  try {
    const app = conversationApp(decisions, chars);
    const saga = mintSagaId("talk", Date.now(), Math.random());
    const throughSeq = await runToEnd(bench, app, saga, "talk", { about: "everything" });
    const turns = await readTurns(bench.ports, saga, emptyHead, throughSeq);
    const { messages } = foldLedger(
      app.definitions[0]!,
      turns.map(({ turn }) => turn),
    );
    const messageBytes = [...new Set(messages.map((message) => JSON.stringify(message)))].reduce(
      (sum, json) => sum + Buffer.byteLength(json),
      0,
    );
    const kept = [streams.ledger, blobStream, bucketStream(buckets.snapshot)];
    const stored = (await Promise.all(kept.map((stream) => stateOf(bench, stream)))).reduce(
      (sum, { bytes }) => sum + bytes,
      0,
    );
    const files = (await Promise.all(kept.map((stream) => folderBytes(bench, stream)))).reduce(
      (sum, bytes) => sum + bytes,
      0,
    );
    return {
      "answer, characters": chars,
      turns: turns.length,
      "messages, KB": Math.round(messageBytes / 1_000),
      "stored, KB": Math.round(stored / 1_000),
      "of messages": rounded(stored / messageBytes),
      "on disk": rounded(files / messageBytes),
      "overhead per decision, bytes": Math.round((stored - messageBytes) / decisions),
    };
  } finally {
    await bench.close();
  }
}

function conversationApp(decisions: number, chars: number) {
  const search = defineTool({
    name: "search",
    description: "finds a text",
    effect: "read",
    input: z.object({ query: z.string() }),
    output: z.object({ text: z.string() }),
    perform: async ({ query }) => ({ text: prose(query, chars) }),
  });
  const talk = defineAgent({
    name: "talk",
    version: 1,
    description: "talks at length",
    model: "script",
    instructions: "Go on until you know everything.",
    input: z.object({ about: z.string() }),
    output: z.object({ done: z.boolean() }),
    signals: {},
    tools: [search],
  });
  const model = scriptedModel("script", ({ step }) =>
    step < decisions
      ? {
          text: prose(`thought ${step}`, chars / 8),
          calls: [{ tool: "search", input: { query: prose(`query ${step}`, chars / 8) } }],
        }
      : { calls: [{ tool: "finish", input: { output: { done: true } } }] },
  );
  return defineApp({ agents: [talk], models: { script: model } });
}

/** Text of a length that is different for every seed. */
const prose = (seed: string, chars: number): string =>
  `${seed}: ${"the quick brown fox jumps over the lazy dog and reads the ledger. ".repeat(Math.ceil(chars / 64))}`.slice(
    0,
    chars,
  );

/** Starts a saga and waits for its end; the sequence of its last turn. */
async function runToEnd(
  bench: BenchServer,
  app: ReturnType<typeof noopApp>,
  saga: SagaId,
  name: string,
  input: unknown,
): Promise<number> {
  let hasEnded = false;
  const host = await hostOn(bench.ports, app, {
    turn: ({ state }) => {
      hasEnded ||= state.phase.kind === "ended";
    },
  });
  const worker = await workerOn(bench.ports, app);
  await startSaga(bench.ports, saga, name, input);
  await until("the saga ends", () => hasEnded);
  await host.stop(1_000);
  await worker.stop(1_000);
  return (await bench.ports.ledger.last(saga))?.seq ?? 0;
}

async function stateOf({ nc }: BenchServer, stream: string): Promise<{ bytes: number; messages: number }> {
  const { state } = await (await jetstreamManager(nc)).streams.info(stream);
  return { bytes: state.bytes, messages: state.messages };
}

/** The sizes of a stream's message files; its index is a few bytes per message more, and made anew when lost. */
async function folderBytes({ server }: BenchServer, stream: string): Promise<number> {
  const folders = await readdir(server.dataDir, { recursive: true });
  const blocks = folders.filter((path) => path.includes(`/${stream}/`) && path.endsWith(".blk"));
  const sizes = await Promise.all(blocks.map(async (path) => (await stat(join(server.dataDir, path))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
