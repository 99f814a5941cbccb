/**
 * What a host process loads, seen by a module hook in the process itself.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCli } from "../../support/cli.ts";
import { startTestServer } from "../../support/nats-server.ts";

/** URLs of the modules that a host of this application loads. */
async function modulesOf(app: string, serves: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-lean-"));
  const server = await startTestServer();
  try {
    const file = join(folder, "modules");
    const record = new URL("../../support/record-modules.ts", import.meta.url);
    const env = { MODULES_FILE: file, NODE_OPTIONS: `--import=${record.href}` };
    const host = startCli(["host", "--app", app, "--server", server.url], { env });
    await host.says(serves);
    host.process.kill("SIGTERM");
    await host.ended;
    return (await readFile(file, "utf8")).split("\n");
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

test("a host loads no other command, and no model SDK, demo or testing code unless its application does", async () => {
  const urls = await modulesOf("test/examples/weekend.ts", "serves weekend@1");
  const loaded = (part: RegExp) => urls.filter((url) => part.test(url));
  expect(loaded(/\/services\/cli\/commands\//)).toEqual([expect.stringMatching(/\/host\.ts$/)]);
  expect(loaded(/@anthropic-ai|\/services\/(demo|testing|worker|memory|mcp|sandbox|otlp|http)\//)).toEqual(
    [],
  );
});

test("a host whose agent has MCP tools and may run code loads their contracts, and neither client nor engine", async () => {
  const urls = await modulesOf("test/apps/tooled.ts", "serves tooled@1");
  const loaded = (part: RegExp) => urls.filter((url) => part.test(url));
  expect(loaded(/\/services\/(mcp|sandbox)\/index\.ts$/)).toHaveLength(2);
  expect(loaded(/@modelcontextprotocol|quickjs|\/services\/sandbox\/(thread|prelude)\.ts$/)).toEqual([]);
});
