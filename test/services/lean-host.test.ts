/**
 * What a host process loads, seen by a module hook in the process itself.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCli } from "../support/cli.ts";
import { startTestServer } from "../support/nats-server.ts";

test("a host loads no other command, and no model SDK, demo or testing code unless its application does", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-lean-"));
  const server = await startTestServer();
  try {
    const file = join(folder, "modules");
    const record = new URL("../support/record-modules.ts", import.meta.url);
    const env = { MODULES_FILE: file, NODE_OPTIONS: `--import=${record.href}` };
    const host = startCli(["host", "--app", "test/examples/weekend.ts", "--server", server.url], { env });
    await host.says("serves weekend@1");
    host.process.kill("SIGTERM");
    await host.ended;
    const urls = (await readFile(file, "utf8")).split("\n");
    const loaded = (part: RegExp) => urls.filter((url) => part.test(url));
    expect(loaded(/\/services\/cli\/commands\//)).toEqual([expect.stringMatching(/\/host\.ts$/)]);
    expect(loaded(/@anthropic-ai|\/services\/(demo|testing|worker|memory)\//)).toEqual([]);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
