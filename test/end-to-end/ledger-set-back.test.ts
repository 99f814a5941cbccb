/**
 * Goal: LEDGER alone put back from an older copy under a host, a worker and a reader that live: the reader is told, the host
 * takes note, a `once` effect that the lost turns had done is in doubt with a task, and is not performed again.
 * Method: a real server with its store in files, killed for the moment in which the copy takes the stream's place.
 */
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { defineApp } from "../../services/app/app.ts";
import { beyondName, readNote } from "../../services/ledger/beyond.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { openRealMesh, until } from "../support/real-mesh.ts";

test(
  "a ledger put back under those who had seen more is told to each, and nothing is done twice",
  { timeout: 120_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-set-back-"));
    const [dataDir, copy] = [join(folder, "server"), join(folder, "copy")];
    const account: string[] = [];
    const charge = defineTool({
      ...{ name: "charge", description: "Charges.", effect: "once", compensation: "point_of_no_return" },
      ...{ onDoubt: "ask", timeoutMs: 1_000, input: z.object({}), output: z.object({}) },
      perform: async (_, { key }) => {
        account.push(key);
        return {};
      },
    });
    const clerk = defineAgent({
      ...{ name: "clerk", version: 1, description: "Charges.", model: "scripted", instructions: "Charge." },
      ...{ input: z.object({}), output: z.json(), tools: [charge], signals: { go: z.object({}) } },
    });
    const model = scriptedModel("scripted", ({ messages }) => {
      const replies = messages.filter(({ role }) => role === "assistant").length;
      if (replies === 1) return { calls: [{ tool: "charge", input: {} }] };
      return { calls: [{ tool: "wait", input: { signals: ["go"] } }] };
    });
    const app = defineApp({ sagas: [clerk], models: { scripted: model } });
    const server = await startEmbeddedServer({ dataDir, report: () => {} });
    onTestFinished(async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const mesh = await openRealMesh(server.url);
    onTestFinished(() => mesh.close().catch(() => undefined));
    await mesh.host(app);
    await mesh.worker(app);
    const saga = parseSagaId("clerk-1");
    const handle = await mesh.client.start(clerk, {}, { id: saga });
    const store = join(dataDir, "store");
    const countOf = () =>
      mesh.turns(saga).then(
        (turns) => turns.length,
        () => 0, // The server is on its way.
      );
    const isWaiting = async (turns: number) => (await countOf()) >= turns;
    await until("it waits", () => isWaiting(2));
    const atCopy = (await mesh.turns(saga)).length;
    const all = await readdir(store, { recursive: true });
    const ledger = join(
      store,
      all.find((path) => path.endsWith(join("streams", "LEDGER")))!,
    );
    process.kill(server.pid, "SIGSTOP");
    await cp(ledger, copy, { recursive: true });
    process.kill(server.pid, "SIGCONT");
    await handle.signal("go", {});
    await until("it has charged", async () => account.length === 1 && (await isWaiting(atCopy + 3)));
    let seen = 0;
    const reads = async () => {
      for await (const { turn } of handle.entries()) seen = turn;
      return "ended";
    };
    const told = reads().catch((error: unknown) => (error as { code?: string }).code);
    await until("the reader has seen more", () => seen > atCopy);
    process.kill(server.pid, "SIGKILL");
    await rm(ledger, { recursive: true });
    await cp(copy, ledger, { recursive: true });
    await server.revive();
    await until("the ledger is back", async () => (await countOf()) === atCopy, 20_000);
    await handle.signal("go", {});
    expect(await told).toBe("LEDGER_BEHIND");
    const asks = async () => (await mesh.view(saga)).open.some(({ intent }) => intent.kind === "task");
    await until("a person is asked", asks, 60_000);
    const note = readNote(await mesh.ports.snapshots.get(saga, beyondName));
    expect(note).toMatchObject({ endsWith: atCopy, calls: [{ tool: "charge" }] });
    expect(account).toHaveLength(1);
  },
);
