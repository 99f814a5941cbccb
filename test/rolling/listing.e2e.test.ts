/**
 * Goal: while hosts that keep the listing of sagas take the places of hosts that do not, and back, `ls` and `tasks` tell what the
 * ledgers say; and once none of the former is left they go by the rows, those of sagas that former hosts began, answered and
 * ended too.
 * Method: `sagamesh host` as an operator starts it, on a real server, in both versions, which are ended and killed. What is told
 * is compared with all ledgers.
 */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { listSagas } from "../../services/client/list.ts";
import { openTasks } from "../../services/client/tasks.ts";
import { type RunningCli, runHere, startCli } from "../support/cli.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";

const own = ownOfFile("rolling-listing", 2);

/** Longer than a keeper waits for what a dead one may still say, than it takes to take in, and than the mark's pause. */
const wholeWithinMs = 60_000;

const formerFirst = fileURLToPath(new URL("former-listing.ts", import.meta.url));

/** A deployment of one place after the other. */
async function withDeployment(work: (d: ReturnType<typeof deploymentOn>) => Promise<void>): Promise<void> {
  const mesh = await openRealMesh(own.server.nextUrl());
  const deployment = deploymentOn(mesh);
  try {
    await work(deployment);
  } finally {
    deployment.close();
    await mesh.close();
  }
}

function deploymentOn({ url, ports }: RealMesh) {
  const running = new Set<RunningCli>();
  const begin = async (version: "former" | "new"): Promise<RunningCli> => {
    const env = version === "former" ? { NODE_OPTIONS: `--import=${formerFirst}` } : {};
    const cli = startCli(["host", "--app", "test/apps/desk.ts", "--server", url, "--json"], {
      env: { LOG_LEVEL: "warn", ...env },
    });
    running.add(cli);
    await cli.says('"role":"host"');
    return cli;
  };
  const end = async (cli: RunningCli, signal: "SIGTERM" | "SIGKILL") => {
    cli.process.kill(signal);
    await cli.ended;
    running.delete(cli);
  };
  const run = async (...words: string[]) => {
    const { code, stderr } = await runHere([...words, "--server", url]);
    expect(code, stderr).toBe(0);
  };
  const look = async () => {
    const why: string[] = [];
    const tasks = await openTasks(ports, (one) => why.push(one));
    const rows = await listSagas(ports, {}, Date.now(), (one) => why.push(one));
    return {
      why: [...new Set(why)].join(),
      tasks: tasks.map(({ saga, intent }) => `${saga} ${intent}`).sort(),
      rows: rows.map(({ saga, status }) => `${saga} ${status}`).sort(),
    };
  };
  const byLedgers = async () => {
    const { listing: _, ...others } = ports;
    const tasks = await openTasks(others);
    const rows = await listSagas(others, {}, Date.now());
    return {
      tasks: tasks.map(({ saga, intent }) => `${saga} ${intent}`).sort(),
      rows: rows.map(({ saga, status }) => `${saga} ${status}`).sort(),
    };
  };
  return {
    begin,
    end,
    look,
    /** Sagas that ask ana, and wait. */
    ask: async (...ids: string[]) => {
      for (const id of ids)
        await run("start", "desk", "--input", '{"errand":"upgrade","to":"rome"}', "--id", id);
    },
    cancel: async (...ids: string[]) => {
      for (const id of ids) await run("signal", id, "cancel", '{"reason":"no more"}');
    },
    /** Until who looks is told that these ask and those ended; and all that is told is what the ledgers say. */
    tells: async (asking: readonly string[], ended: readonly string[]) => {
      await until("all stands as it is to", async () => {
        const { tasks, rows } = await look();
        const isAsking = (id: string) => tasks.some((task) => task.startsWith(`${id} `));
        const hasEnded = (id: string) => rows.includes(`${id} cancelled`);
        return asking.every(isAsking) && ended.every(hasEnded) && tasks.length === asking.length;
      });
      const { why, ...told } = await look();
      expect(told).toEqual(await byLedgers());
      return why;
    },
    /** Until the rows are gone by; then they tell what the ledgers say. */
    isWhole: async () => {
      await until("the rows are gone by", async () => (await look()).why === "", wholeWithinMs);
      const { why, ...told } = await look();
      expect({ why, ...told }).toEqual({ why: "", ...(await byLedgers()) });
    },
    close: () => {
      for (const cli of running) cli.process.kill("SIGKILL");
    },
  };
}

test("beside former hosts every ledger is read, and what they did is in the rows once they are gone", async () => {
  await withDeployment(async ({ begin, end, ask, cancel, tells, isWhole }) => {
    const former = await begin("former");
    await ask("a1", "a2", "a3");
    expect(await tells(["a1", "a2", "a3"], [])).toContain("no host has written the listing of sagas yet");
    const kept = await begin("new");
    await ask("b1", "b2", "b3", "b4");
    await cancel("a1", "b1");
    const beside = await tells(["a2", "a3", "b2", "b3", "b4"], ["a1", "b1"]);
    expect(beside).toContain("every ledger is read");
    await end(former, "SIGKILL");
    await cancel("a2");
    await tells(["a3", "b2", "b3", "b4"], ["a1", "a2", "b1"]);
    await isWhole();
    expect(await tells(["a3", "b2", "b3", "b4"], ["a1", "a2", "b1"])).toBe("");
    await end(kept, "SIGTERM");
  });
}, 240_000);

test("back to former hosts and forth again: what they answered and began meanwhile is told", async () => {
  await withDeployment(async ({ begin, end, ask, cancel, tells, isWhole }) => {
    const first = await begin("new");
    await ask("a1", "a2", "a3");
    await tells(["a1", "a2", "a3"], []);
    await isWhole();
    const former = await begin("former");
    await ask("b1", "b2");
    await tells(["a1", "a2", "a3", "b1", "b2"], []);
    await end(first, "SIGKILL");
    await cancel("a1", "b1");
    await ask("c1");
    await tells(["a2", "a3", "b2", "c1"], ["a1", "b1"]);
    await end(former, "SIGTERM");
    expect((await tells(["a2", "a3", "b2", "c1"], ["a1", "b1"])).length).toBeGreaterThan(0); // Nobody has taken that in.
    const second = await begin("new");
    await isWhole();
    await cancel("a2");
    expect(await tells(["a3", "b2", "c1"], ["a1", "a2", "b1"])).toBe("");
    await end(second, "SIGTERM");
  });
}, 240_000);
