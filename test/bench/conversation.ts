/**
 * Conversation: what an agent's conversation takes on disk against the messages it is made of.
 *
 * Method: an agent of so many decisions on a scripted model; each decision calls one tool. The bytes of LEDGER, BLOB
 * and SNAPSHOT, as JetStream counts them and as the sizes of all their files, against the JSON of the conversation's
 * distinct messages, which are folded from the ledger. What a decision adds does not depend on how long its messages
 * are, so the ratio does: it is shown for a mix and for answers of one length.
 *
 * The mix is what tools give agents: few answers are long, and those hold most of the bytes. Of ten, two are
 * confirmations (200 characters), two are records of an API (1,000), three are search results (3,000), two are files
 * that are read (6,000) and one is a page or a log that is cut where tools cut (16,000). The model thinks aloud in
 * three replies of four, 400 characters each, and its arguments are some 90. Five hundred such decisions are 2.3 MB,
 * about 600,000 tokens: more would fit no model's window.
 *
 * It does not measure: compression by the store, replicas, INBOX and WORK, which an ack empties; thinking that a
 * provider wants back verbatim, which is part of a message and stands once like the rest of it.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { foldLedger } from "../../actors/kernel/replay.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { buckets, streams } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app/app.ts";
import { emptyHead, readTurns } from "../../services/ledger/reader.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { blobStream, bucketStream } from "../../services/nats/streams.ts";
import { type BenchServer, openServer, runToEnd, stateOf } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";

/** Characters of the tool's answers: one length for all, or the mix above. */
export type Answers = number | "mix";

const mix = [200, 3_000, 1_000, 6_000, 200, 3_000, 16_000, 1_000, 3_000, 6_000];
const thoughtChars = [400, 400, 0, 400];
const queryChars = 80;

/** What a provider says of a call late in a conversation: most of the request is read from its cache. */
const usage = { inputTokens: 1_214, outputTokens: 187, cacheReadTokens: 212_480 };

export interface Taken {
  /** The ledger's messages as text. */
  readonly bodies: readonly string[];
  /** JSON of the distinct messages. */
  readonly messageBytes: number;
  /** As JetStream counts messages. */
  readonly storedBytes: number;
  /** Sizes of all files of the three streams. */
  readonly fileBytes: number;
}

/** Runs one conversation on a server of its own and weighs it. */
export async function weighConversation(decisions: number, answers: Answers): Promise<Taken> {
  const bench = await openServer("default");
  try {
    const app = conversationApp(decisions, answers);
    const saga = mintSagaId("research", Date.now(), Math.random());
    const throughSeq = await runToEnd(bench, app, saga, "research", { about: "everything" });
    const turns = await readTurns(bench.ports, saga, emptyHead, throughSeq);
    const { messages } = foldLedger(
      app.definitions[0]!,
      turns.map(({ turn }) => turn),
    );
    const distinct = new Set(messages.map((message) => JSON.stringify(message)));
    const kept = [streams.ledger, blobStream, bucketStream(buckets.snapshot)];
    const stored = await Promise.all(kept.map(async (stream) => (await stateOf(bench, stream)).bytes));
    const files = await Promise.all(kept.map((stream) => folderBytes(bench, stream)));
    return {
      bodies: (await bench.ports.ledger.read(saga, 0, throughSeq)).map(({ data }) =>
        Buffer.from(data).toString(),
      ),
      messageBytes: sum([...distinct].map((json) => Buffer.byteLength(json))),
      storedBytes: sum(stored),
      fileBytes: sum(files),
    };
  } finally {
    await bench.close();
  }
}

export async function measureConversations(decisions: number, kinds: readonly Answers[]): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const answers of kinds) {
    const { bodies, messageBytes, storedBytes, fileBytes } = await weighConversation(decisions, answers);
    rows.push({
      "answers, characters": answers,
      turns: bodies.length,
      "messages, KB": Math.round(messageBytes / 1_000),
      "stored, KB": Math.round(storedBytes / 1_000),
      "of messages": rounded(storedBytes / messageBytes),
      "on disk": rounded(fileBytes / messageBytes),
      "overhead per decision, bytes": Math.round((storedBytes - messageBytes) / decisions),
    });
  }
  return {
    title: `A conversation of ${decisions} decisions: LEDGER, BLOB and SNAPSHOT against its messages`,
    rows,
    notes: [
      "of messages: bytes as JetStream counts them; on disk: sizes of all files. Goal for the mix: at most 1.3.",
      "mix: of ten answers two of 200 characters, two of 1,000, three of 3,000, two of 6,000, one of 16,000.",
    ],
  };
}

function conversationApp(decisions: number, answers: Answers) {
  const lengthOf = (step: number) => (answers === "mix" ? mix[step % mix.length]! : answers);
  const search = defineTool({
    name: "search_files",
    description: "finds a text",
    effect: "read",
    input: z.object({ step: z.int(), query: z.string() }),
    output: z.object({ text: z.string() }),
    perform: async ({ step }) => ({ text: prose(`answer ${step}`, lengthOf(step)) }),
  });
  const research = defineAgent({
    name: "research",
    version: 1,
    description: "talks at length",
    model: "script",
    instructions: "Go on until you know everything.",
    input: z.object({ about: z.string() }),
    output: z.object({ done: z.boolean() }),
    signals: {},
    tools: [search],
  });
  const model = scriptedModel("script", ({ step }) => {
    if (step === decisions) return { calls: [{ tool: "finish", input: { output: { done: true } } }], usage };
    const chars = thoughtChars[step % thoughtChars.length]!;
    return {
      ...(chars === 0 ? {} : { text: prose(`thought ${step}`, chars) }),
      calls: [{ tool: "search_files", input: { step, query: prose(`query ${step}`, queryChars) } }],
      stop: "calls",
      usage,
    };
  });
  return defineApp({ sagas: [research], models: { script: model } });
}

/** Text of a length that is different for every seed. */
const prose = (seed: string, chars: number): string =>
  `${seed}: ${"the quick brown fox jumps over the lazy dog and reads the ledger. ".repeat(Math.ceil(chars / 64))}`.slice(
    0,
    chars,
  );

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** The sizes of a stream's files, its index and configuration with them. */
async function folderBytes({ server }: BenchServer, stream: string): Promise<number> {
  const entries = await readdir(server.dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && `${entry.parentPath}/`.includes(`/${stream}/`));
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  return sum(sizes);
}
