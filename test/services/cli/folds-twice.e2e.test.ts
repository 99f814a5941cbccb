/**
 * Goal: `sagamesh host --folds-twice`, or its variable, refuses what a machine decides otherwise the second time; a host without it
 * takes that for a turn.
 * Method: hosts as processes, one after the other on one server, and a saga whose machine reads chance as it begins.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectError } from "../../support/cli-said.ts";
import { type RunningCli, runHere, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { until } from "../../support/real-mesh.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
}, 60_000);
afterAll(() => server.stop());

const cli = (...words: string[]) => runHere([...words, "--server", server.url]);
/** What `inspect` says of the saga once a host has looked at it. */
async function saidOf(host: RunningCli, saga: string) {
  await host.says("serves odd@1");
  expect((await cli("start", "odd", "--input", "null", "--id", saga)).code).toBe(0);
  const look = () => cli("inspect", saga);
  await until(
    `a host took ${saga}`,
    async () => /turn|parked/.test(Object.values(await look()).join()),
    60_000,
  );
  host.process.kill("SIGTERM");
  await host.ended;
  return look();
}

test("a host of development refuses an impure machine and says where it is impure, and another host does not", async () => {
  const host = (flags: string[], env: object = {}) =>
    startCli(["host", "--app", "test/apps/impure.ts", "--server", server.url, ...flags], { env: { ...env } });
  expect((await saidOf(host([]), "o1")).code).toBe(0);
  for (const [saga, flags, env] of [
    ["o2", ["--folds-twice"], {}],
    ["o3", [], { SAGAMESH_FOLDS_TWICE: "1" }],
  ] as const) {
    const said = await saidOf(host([...flags], env), saga);
    expectError(said, "SAGA_NOT_BEGUN", 1);
    expect(said.stderr).toMatch(/parked with MACHINE_IMPURE.*crypto\.randomUUID\(\) in .*impure\.ts:\d+/s);
    expect(said.stderr).toContain("write `now()`, `uuid()` and `random()`");
  }
}, 240_000);
