/**
 * A host that stands still and did not die: nothing it had is a suspect. And what it leaves when it does die: no child
 * process outlives it.
 *
 * Method: `sagamesh host` as a person starts it, stopped by SIGSTOP for longer than a lease, or killed. What was ever
 * written to SUSPECT is counted by its stream.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { noopName } from "../../bench/noop-saga.ts";
import { startSaga } from "../../bench/bench-mesh.ts";
import { type RunningCli, startCli } from "../../support/cli.ts";
import { type AccountServer, openRealMesh, startAccountServer, until } from "../../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(2);
});
afterAll(() => server.stop());

const app = "test/bench/starved-app.ts";
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function hostOf(url: string): Promise<{ host: RunningCli; said(event: string): number }> {
  const host = startCli(["host", "--app", app, "--server", url, "--json"], { env: { LOG_LEVEL: "info" } });
  let log = "";
  host.process.stderr?.on("data", (text: string) => (log += text));
  await host.says('"role"');
  return { host, said: (event) => log.split(`"msg":"${event}"`).length - 1 };
}

test("two stops of 3.6 s under sixty sagas leave no mark and start no child, and all sagas end", async () => {
  const mesh = await openRealMesh(server.nextUrl());
  const { host, said } = await hostOf(mesh.url);
  try {
    const ids = Array.from({ length: 60 }, (_, n) => `s-${n}`);
    for (const id of ids) await startSaga(mesh.ports, id, noopName("host"), { steps: 50 });
    await until("all run", async () => (await Promise.all(ids.map(mesh.head))).every((head) => head > 0));
    for (let stop = 0; stop < 2; stop++) {
      host.process.kill("SIGSTOP");
      await pause(3_600);
      host.process.kill("SIGCONT");
      await until("it has noticed", () => said("host stood still for too long") > stop);
      await pause(1_000);
    }
    const ended = async () =>
      Promise.all(ids.map(async (id) => (await mesh.view(id)).status === "completed"));
    await until("all end", async () => (await ended()).every(Boolean), 80_000);
    const { json } = await mesh.nc.request("$JS.API.STREAM.INFO.KV_SUSPECT", "").then((answer) => ({
      json: answer.json<{ state: { last_seq: number } }>(),
    }));
    expect(json.state.last_seq).toBe(0);
    expect(said("suspect taken in a child process")).toBe(0);
    expect(said("host is overloaded")).toBeGreaterThan(0);
  } finally {
    host.process.kill("SIGCONT");
    host.process.kill("SIGKILL");
    await host.ended;
    await mesh.close();
  }
});
