/**
 * Goal: on real servers too, one and three, an id is one start's: every caller is told at once whose.
 * Method: callers on connections of their own start many ids with different inputs at the same time, while no host runs,
 * while one runs, and while hosts die by SIGKILL and others come; what each was told is held against the ledgers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf } from "../../../protocol/digest.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { startSaga } from "../../../services/client/start.ts";
import { readBegun } from "../../../services/ledger/begun.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { type RunningCli, startCli } from "../../support/cli.ts";
import { startTestCluster } from "../../support/cluster.ts";
import { startTestServer } from "../../support/nats-server.ts";
import { until } from "../../support/real-mesh.ts";

const callers = 6;
const places = ["rome", "oslo", "lima"];

describe.each([
  ["one server", 1],
  ["three servers", 3],
] as const)("on %s", (_, replicas) => {
  let url: string;
  const closing: (() => unknown)[] = [];
  const open: Ports[] = [];

  beforeAll(async () => {
    const server = replicas === 1 ? await startTestServer() : await startTestCluster();
    ({ url } = server);
    closing.push(() => server.stop());
    for (let n = 0; n < callers; n++) {
      const nc = await connectNats({ servers: url.split(","), name: `caller-${n}` });
      const ports = await openNatsPorts(nc, { replicas });
      open.push(ports);
      closing.unshift(async () => {
        await ports.close();
        await nc.close();
      });
    }
  }, 120_000);
  afterAll(async () => {
    for (const close of closing) await close();
  });

  const host = async (): Promise<RunningCli> => {
    const cli = startCli(["host", "--app", "test/apps/desk.ts", "--server", url, "--json"], {
      env: { LOG_LEVEL: "info" },
    });
    closing.unshift(() => cli.process.kill("SIGKILL"));
    await cli.says('"role":"host"');
    return cli;
  };

  /** All callers start the id, each place is wanted by two of them, a few milliseconds apart. */
  const race = (id: string) =>
    Promise.all(
      open.map(async (ports, n) => {
        const to = places[n % places.length]!;
        const deps = { ports, clock: systemClock, chance: systemChance, from: `caller-${n}` };
        await systemClock.sleep(Math.random() * 12);
        const input = { errand: "wait", to };
        const said = await startSaga(deps, { id: parseSagaId(id), name: "desk", input }).then(
          () => "ok",
          (error: unknown) => (isMeshError(error) ? error.code : String(error)),
        );
        return { to, said };
      }),
    );

  /** One place won and both that wanted it were let in, every other was told; the ledger is of that place. */
  async function check(id: string, told: Awaited<ReturnType<typeof race>>): Promise<void> {
    const won = [...new Set(told.filter(({ said }) => said === "ok").map(({ to }) => to))];
    expect(won).toHaveLength(1);
    expect(told.map(({ said }) => said)).toEqual(
      told.map(({ to }) => (to === won[0] ? "ok" : "SAGA_ID_TAKEN")),
    );
    const read = () => readBegun(open[0]!, parseSagaId(id));
    await until(`${id} begins`, async () => (await read()) !== undefined, 60_000);
    expect((await read())?.as?.inputDigest).toBe(digestOf({ errand: "wait", to: won[0] }));
  }

  const ids = (kind: string) => Array.from({ length: 40 }, (_, n) => `${kind}-${n}`);

  test("without a host one input of each id wins, and every other caller is told before one runs", async () => {
    const told = new Map<string, Awaited<ReturnType<typeof race>>>();
    for (const id of ids("early")) told.set(id, await race(id));
    const late = await race("early-0");
    expect(late).toEqual(told.get("early-0"));
    const cli = await host();
    for (const [id, said] of told) await check(id, said);
    // Long taken and acked: the ledger alone tells.
    expect(await race("early-0")).toEqual(told.get("early-0"));
    cli.process.kill("SIGKILL");
  });

  test("while hosts take the starts, die and are replaced it is the same", async () => {
    const told = new Map<string, Awaited<ReturnType<typeof race>>>();
    let cli = await host();
    let starting = Promise.resolve();
    for (const [n, id] of ids("raced").entries()) {
      told.set(id, await race(id));
      if (n % 14 === 10) {
        await starting;
        cli.process.kill("SIGKILL");
        starting = host().then((next) => void (cli = next));
      }
    }
    await starting;
    for (const [id, said] of told) await check(id, said);
  });
});
