/**
 * Goal: `verify --all` looks at every saga and says so, though one of them is far larger than the others and the machine is busy
 * with something else: it does not starve its own requests.
 * Method: agents on a real server, one of them with very many calls in one reply; then `verify` as a process of its own beside
 * processes that do nothing but compute. MESH_MANY=280x2000 is the size of the nightly run: so many sagas, so many calls.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { eachOf } from "../../services/process/each-of.ts";
import app, { looking } from "../apps/many-calls.ts";
import { startCli } from "../support/cli.ts";
import { openRealMesh, startAccountServer } from "../support/real-mesh.ts";

const [sagasCount = 40, callsCount = 300] = (process.env["MESH_MANY"] ?? "")
  .split("x")
  .filter(Boolean)
  .map(Number);
const neighbours: ChildProcess[] = [];
afterEach(() => {
  for (const one of neighbours.splice(0)) one.kill("SIGKILL");
});

test("verify of all sagas sums up beside a busy neighbour, one of them very large", async () => {
  const server = await startAccountServer(1);
  const mesh = await openRealMesh(server.nextUrl());
  try {
    const host = await mesh.host(app);
    const signal = AbortSignal.timeout(240_000);
    await eachOf(
      Array.from({ length: sagasCount }, (_, n) => n),
      8,
      async (n) => {
        const saga = await mesh.client.start(
          looking,
          { calls: n === 0 ? callsCount : 2 },
          { id: `looks-${n}` },
        );
        expect(await saga.result({ signal })).toMatchObject({ status: "completed" });
      },
    );
    await host.stop(0);
    // One for each processor of a small machine.
    for (const _ of [0, 1])
      neighbours.push(spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }));
    const beganAt = performance.now();
    const verify = startCli(["verify", "--all", "--app", "test/apps/many-calls.ts", "--server", mesh.url]);
    const { code, stdout, stderr } = await verify.ended;
    const seconds = ((performance.now() - beganAt) / 1_000).toFixed(1);
    console.log(`${sagasCount} sagas, one of ${callsCount} calls: ${seconds} s. ${stdout.trim()}`);
    expect(stderr).not.toContain("UNAVAILABLE");
    expect(stdout).toContain(`${sagasCount} sagas, `);
    expect(stdout).toContain(
      `: ${sagasCount} whole, 0 with findings; ${sagasCount} folded; ${sagasCount} ended`,
    );
    expect(code).toBe(0);
  } finally {
    await mesh.close();
    await server.stop();
  }
}, 600_000);
