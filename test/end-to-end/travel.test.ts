/**
 * Goal: the journey is booked, changed and concluded from the command line as its file says, and its state is shown.
 * Method: the example through `up`, `start`, `signal` and `inspect`, processes of their own on a real server.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { StateDocument } from "../../protocol/documents/state.ts";
import { runCli, startCli } from "../support/cli.ts";
import { startTestServer } from "../support/nats-server.ts";

const app = "test/examples/travel/travel.ts";

test("a train that is taken back takes what follows it, which is booked again, and the state says on what verdicts", async () => {
  const server = await startTestServer();
  const env = { NATS_URL: server.url };
  const up = startCli(["up", "--app", app, "--json"], { env });
  try {
    await up.says('"role":"up"');
    const cli = async (...args: string[]) => {
      const { stdout, stderr, code } = await runCli(args, { env });
      expect(code, stdout + stderr).toBe(0);
      return stdout;
    };
    /** The state once T5 has committed with this run. */
    const booked = async (call: string) => {
      for (;;) {
        const told = await cli("inspect", "trip-1", "--state", "dependency", "--app", app, "--json");
        const state = StateDocument.parse(JSON.parse(told));
        if (state.dimension !== "dependency") throw new Error("another dimension");
        const isThere = state.effects.some((effect) => effect.call === call);
        if (isThere && state.nodes.every(({ status }) => status === "committed")) return state;
      }
    };
    const start = ["start", "travel", "--input", '{"open_for_days":30}', "--id", "trip-1"];
    await cli(...start);
    await booked("T5.1");
    // The words of the example's own head.
    const head = readFileSync(new URL(`../../${app}`, import.meta.url), "utf8");
    const [, data = ""] = /signal trip-1 cancelled \\\n \*\s+'(\{.*\})'/.exec(head) ?? [];
    await cli("signal", "trip-1", "cancelled", data);
    const { nodes, effects } = await booked("T5.2");
    expect(effects.map(({ call }) => call).sort()).toEqual(["T1.1", "T2.1", "T3.2", "T4.2", "T5.2"]);
    for (const { verdicts = [] } of nodes) {
      expect(verdicts.map(({ validator }) => validator).sort()).toEqual([
        "honest_output",
        "journey_in_order",
        "request_in_bounds",
        "total_cost",
      ]);
      for (const { verdict, tokens } of verdicts) expect([verdict, tokens < 1_000]).toEqual(["accept", true]);
    }
    await cli("signal", "trip-1", "conclude");
    expect(await cli(...start, "--wait")).toContain("trip-1 completed");
  } finally {
    up.process.kill("SIGTERM");
    await up.ended;
    await server.stop();
  }
}, 120_000);
