/**
 * Goal: a command that is told to end does, also where its server gives no answer.
 * Method: a server that takes connections and says nothing, and a real one that is stopped by SIGSTOP while a command
 * uses it. How the command ended tells whether it gave up by itself: one that is cut off ends with another code.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { startCli } from "../../support/cli.ts";
import { startTestServer } from "../../support/nats-server.ts";

test("a signal ends a command that still connects", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on("error", () => undefined)));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  const { port } = silent.address() as { port: number };
  try {
    const ls = startCli(["ls", "--server", `nats://127.0.0.1:${port}`]);
    await once(silent, "connection");
    ls.process.kill("SIGINT");
    // Without a connection it would have ended with the client's own timeout, which is told.
    expect(await ls.ended).toMatchObject({ code: 130, signal: null, stdout: "", stderr: "" });
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});

test("a host and a caller that waits end by themselves although their server stands still", async () => {
  const server = await startTestServer();
  const env = { NATS_URL: server.url, LOG_LEVEL: "warn" };
  const host = startCli(["host", "--app", "test/apps/desk.ts"], { env });
  try {
    await host.says("serves desk");
    const words = ["start", "desk", "--input", '{"errand":"wait","to":"rome"}', "--id", "stands-1", "--wait"];
    const caller = startCli(words, { env });
    await caller.says("#1 ", "stderr");
    process.kill(server.pid, "SIGSTOP");
    for (const { process: one } of [host, caller]) one.kill("SIGTERM");
    // 143 of the host would be the end of its grace.
    expect(await host.ended).toMatchObject({ code: 0, signal: null });
    const { stderr, ...ended } = await caller.ended;
    expect(ended).toMatchObject({ code: 143, signal: null });
    expect(stderr).not.toContain("exits at once");
  } finally {
    process.kill(server.pid, "SIGCONT");
    await server.stop();
  }
});
