/**
 * Goal: an older copy of the store, put back under everything that went on meanwhile, doubles no `idempotent` effect at an
 * outside that honours keys: what is decided again is decided under the same key.
 * Method: a real server with its store in files, which is held still for the moment of the copy; hosts, machines with
 * parallel regions and children, agents; and an outside that is an HTTP server and keeps an account by key. The
 * wishes that are put to it are each put once by what the sagas are, so a wish under two keys is one that was doubled.
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type AnyStateMachine, setup } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { openRealMesh, until } from "../support/real-mesh.ts";

const steps = 12;
const Wish = z.object({ of: z.string() });

/** Remembers what it did for which key, and says the same again. */
async function openOutside() {
  const performed = new Map<string, string>();
  let requests = 0;
  const server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"]);
    const wish = decodeURIComponent(request.url ?? "");
    requests += 1;
    performed.set(key, wish);
    setTimeout(() => response.end(wish), 30 + Math.random() * 250);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ask: async (wish: string, key: string) => {
      const path = `${url}/${encodeURIComponent(wish)}`;
      return (await fetch(path, { headers: { "idempotency-key": key } })).text();
    },
    performed,
    requests: () => requests,
  };
}

function appAt(outside: Awaited<ReturnType<typeof openOutside>>) {
  const book = defineTool({
    ...{ name: "book", description: "Books.", effect: "idempotent", placement: "host" },
    ...{ input: Wish, output: z.object({ said: z.string() }) },
    perform: async ({ of }, { key }) => ({ said: await outside.ask(of, key) }),
  });
  const lines = (name: string, regions: number, more: Record<string, SagaDefinition>) => {
    const actors = toActors({ book, ...more });
    const machine = (
      setup({ actors }) as unknown as { createMachine(config: object): AnyStateMachine }
    ).createMachine({
      type: "parallel",
      context: ({ input }: { input: unknown }) => input,
      states: Object.fromEntries(
        Array.from({ length: regions }, (_, r) => [
          `r${r}`,
          {
            initial: "s0",
            states: {
              ...Object.fromEntries(
                Array.from({ length: steps }, (__, k) => [
                  `s${k}`,
                  {
                    invoke: {
                      id: `r${r}`,
                      src: k === 3 && more["line"] !== undefined ? "line" : "book",
                      input: ({ context }: { context: { of: string } }) => ({
                        of: `${context.of} ${r}.${k}`,
                      }),
                      onDone: `s${k + 1}`,
                    },
                  },
                ]),
              ),
              [`s${steps}`]: { type: "final" },
            },
          },
        ]),
      ),
    });
    return defineSaga({ name, version: 1, input: Wish, output: z.json(), machine });
  };
  const line = lines("line", 1, {});
  const trip = lines("trip", 3, { line });
  const clerk = defineAgent({
    ...{ name: "clerk", version: 1, description: "Books.", model: "scripted", instructions: "Book." },
    ...{ input: Wish, output: z.json(), tools: [book], signals: {} },
  });
  const model = scriptedModel("scripted", ({ messages }) => {
    const [first] = messages;
    const part = first?.role === "user" ? first.parts[0] : undefined;
    const name = /job-\d+/.exec(part?.type === "text" ? part.text : "")?.[0] ?? "";
    const replies = messages.filter(({ role }) => role === "assistant").length;
    if (replies === steps) return { calls: [{ tool: "finish", input: { output: null } }] };
    return { calls: [0, 1, 2].map((k) => ({ tool: "book", input: { of: `${name} ${replies}.${k}` } })) };
  });
  return {
    app: defineApp({ sagas: [trip, line, clerk], models: { scripted: model } }),
    trip,
    clerk,
  };
}

test(
  "what is decided again from an older copy of the store goes out under the same keys",
  { timeout: 90_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-restored-"));
    const [dataDir, copy] = [join(folder, "server"), join(folder, "copy")];
    const outside = await openOutside();
    const { app, trip, clerk } = appAt(outside);
    const server = await startEmbeddedServer({ dataDir, report: () => {} });
    onTestFinished(async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const store = join(dataDir, "store");
    const ids = Array.from({ length: 10 }, (_, k) => `job-${k}`);

    const before = await openRealMesh(server.url);
    await before.host(app);
    await before.host(app);
    for (const [k, id] of ids.entries())
      await before.client.start(k % 2 === 0 ? trip : clerk, { of: id }, { id });
    await until("some is done", () => outside.performed.size > 60);
    process.kill(server.pid, "SIGSTOP");
    await cp(store, copy, { recursive: true });
    process.kill(server.pid, "SIGCONT");
    const atCopy = outside.performed.size;
    await until("much more is done", () => outside.performed.size > atCopy + 120);
    process.kill(server.pid, "SIGKILL");
    await before.close().catch(() => undefined);
    const atLoss = outside.requests();

    await rm(store, { recursive: true });
    await cp(copy, store, { recursive: true });
    const again = await server.revive();
    const after = await openRealMesh(again.url);
    onTestFinished(() => after.close());
    await after.host(app);
    await after.host(app);
    const ended = async (id: string) => (await after.view(id)).status;
    await until(
      "all end",
      async () => (await Promise.all(ids.map(ended))).every((one) => one !== "running"),
      60_000,
    );
    expect(await Promise.all(ids.map(ended))).toEqual(ids.map(() => "completed"));

    const wishes = new Map<string, number>();
    for (const wish of outside.performed.values()) wishes.set(wish, (wishes.get(wish) ?? 0) + 1);
    const trips = 5 * 3 * (steps - 1 + steps);
    expect(wishes.size).toBe(trips + 5 * 3 * steps);
    expect([...wishes].filter(([, times]) => times > 1)).toEqual([]);
    // It was decided again, and asked for again.
    expect(outside.requests()).toBeGreaterThan(outside.performed.size + 50);
    expect(atLoss).toBeGreaterThan(atCopy);
  },
);
