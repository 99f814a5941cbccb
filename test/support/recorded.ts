/**
 * Ledgers of the examples as a mesh stores them: messages with their headers, and the blobs they name. Recorded on the
 * test mesh, once for a test file.
 */
import { z } from "zod";
import { defineTool } from "../../actors/contract/tool.ts";
import { mayHoldBlob } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type App, defineApp } from "../../services/app/app.ts";
import type { LedgerSource } from "../../services/ledger/reader.ts";
import { ledgerOf } from "../../services/archive/file.ts";
import type { MemoryMesh } from "../../services/memory/mesh.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import type { StoredMessage } from "../../services/wire/ports.ts";
import type { TestMesh } from "../../services/testing/index.ts";
import { openTestMesh } from "../../services/testing/test-mesh.ts";
import type { TestMeshHooks } from "../../services/testing/test-processes.ts";
import { hireForRole } from "../examples/hiring.ts";
import purchaseApp, { purchase } from "../examples/purchase.ts";
import teamApp, { researchLead } from "../examples/research-team.ts";
import { calling } from "./workbench.ts";

export interface RecordedLedger {
  readonly app: App;
  readonly saga: SagaId;
  readonly messages: readonly StoredMessage[];
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** A ledger at hand as a source. */
export const sourceOf = ({
  saga,
  messages,
  blobs,
}: Pick<RecordedLedger, "saga" | "messages" | "blobs">): LedgerSource => ({
  ledger: ledgerOf(saga, messages),
  blobs: {
    get: async (digest) => {
      const bytes = blobs.get(digest);
      if (bytes === undefined) throw new Error(`no blob ${digest} was recorded`);
      return bytes;
    },
  },
});

/** Runs a story on a mesh in memory, and gives the ledgers of every saga that came of it. */
export async function record(
  app: App,
  play: (t: TestMesh, mesh: MemoryMesh) => Promise<unknown>,
  signing: TestMeshHooks["signing"] = {},
): Promise<RecordedLedger[]> {
  let mesh: MemoryMesh | undefined;
  await using t = openTestMesh(app, {}, { signing, opened: (opened) => (mesh = opened) });
  if (mesh === undefined) throw new Error("a test mesh tells of its mesh");
  await play(t, mesh);
  const { server } = mesh;
  return server.ledger.list().map(({ saga }) => {
    const messages = server.ledger.after(saga, 0);
    const blobs = new Map<string, Uint8Array>();
    const gather = (data: Uint8Array) => {
      if (!mayHoldBlob(data)) return;
      for (const [digest = ""] of Buffer.from(data)
        .toString("latin1")
        .matchAll(/[0-9a-f]{64}/g)) {
        const bytes = blobs.has(digest) ? undefined : blobAt(server, digest);
        if (bytes === undefined || sha256(bytes) !== digest) continue;
        blobs.set(digest, bytes);
        gather(bytes);
      }
    };
    for (const { data } of messages) gather(data);
    return { app, saga, messages, blobs };
  });
}

function blobAt(server: MemoryMesh["server"], digest: string): Uint8Array | undefined {
  try {
    return server.shelves.getBlob(digest);
  } catch {
    return undefined; // Another digest than a blob's.
  }
}

const draft = defineTool({
  name: "draft",
  description: "Writes a long draft.",
  effect: "idempotent",
  placement: "host",
  input: z.object({ of: z.string() }),
  output: z.object({ pages: z.array(z.string()) }),
  perform: async ({ of }) => ({ pages: [of.repeat(90_000), of.repeat(70_000)] }),
});
const drafting = calling(draft);

/** The examples: a team with its children, a purchase that people voted on, a hiring that was called off, large values. */
export async function recordExamples(): Promise<RecordedLedger[]> {
  const team = await record(teamApp, async (t) => {
    const lead = await t.start(
      researchLead,
      { question: "Which material?", topics: ["tin", "poison"] },
      { id: "team" },
    );
    await lead.result();
  });
  const bought = await record(purchaseApp, async (t) => {
    const order = { item: "a press", supplier: "Ada & Sons", cents: 90_000 };
    const saga = await t.start(purchase, order, { id: "bought" });
    const [task] = await t.tasks();
    if (task === undefined) throw new Error("a purchase of this sum is asked for");
    await t.crash();
    await t.vote(task, { vote: "approve", by: "leo", as: "team_lead" });
    await saga.result();
  });
  const model = scriptedModel("recruiting_model", ({ step }) => ({
    calls: [[{ tool: "search_candidates", input: { role: "dev" } }, ask][step - 1] ?? wait],
  }));
  const hiring = await record(
    defineApp({ sagas: [hireForRole], models: { recruiting_model: model } }),
    async (t) => {
      const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
      await t.advance("1d");
      await saga.cancel("the budget was cut");
      await saga.result();
    },
  );
  const large = await record(defineApp({ sagas: [drafting] }), async (t) => {
    await (await t.start(drafting, { of: "x" }, { id: "large" })).result();
  });
  return [...team, ...bought, ...hiring, ...large];
}

const ask = { tool: "request_interview", input: { candidateId: "ana" } };
const wait = { tool: "wait", input: { forMs: 86_400_000 } };
