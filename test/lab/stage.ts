/**
 * Stage: a mesh of real processes under a mixed load, with an outside that keeps its own account. It is the chaos run's
 * (test/chaos), without its blows.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { openMesh } from "../../services/runtime/mesh.ts";
import { runCommand } from "../../services/nats/server/command.ts";
import { startCrew } from "../chaos/crew.ts";
import { createDriver, type Driver } from "../chaos/driver.ts";
import { appendLines } from "../chaos/lines.ts";
import { startServers } from "../chaos/servers.ts";
import { speakingMesh } from "../chaos/speaking.ts";
import { startWorld, type WorldProcess } from "../chaos/world.ts";
import { runCli } from "../support/cli.ts";
import { ensureNatsCli } from "../support/nats-cli.ts";
import type { Fault, Stage } from "./fault.ts";

const partitions = 4;
/** A journey and a plan begin about this often. */
const sagaEveryMs = 1_000;

export interface Raised {
  readonly stage: Stage;
  readonly driver: Driver;
  readonly world: WorldProcess;
}

/** Starts everything and waits until it serves. What it starts ends with `ends`. */
export async function raise(
  fault: Fault,
  size: 1 | 3,
  {
    folder,
    seed,
    ends,
    tell,
  }: { folder: string; seed: number; ends: AsyncDisposableStack; tell: Stage["tell"] },
): Promise<Raised> {
  const { first = [], environmentOf, extraConfig, before } = fault.raise ?? {};
  const undo = await before?.(folder);
  if (undo !== undefined) ends.defer(undo);
  const servers = await startServers(folder, partitions, {
    audits: false,
    size,
    ...(extraConfig === undefined ? {} : { extraConfig }),
  });
  ends.defer(() => servers.stop().catch(() => undefined));
  const addresses = servers.cluster.servers.map(({ url }) => url);
  const world = await startWorld({
    folder,
    seed,
    natsUrl: addresses.join(","),
    onEnd: () => undefined,
    isPatient: true,
  });
  ends.defer(async () => {
    world.child.process.kill("SIGKILL");
    await world.child.ended;
  });
  const crew = await startCrew({
    ...{ hosts: 2, workers: 2, folder, servers: addresses, worldUrl: world.url, fault: undefined, first },
    ...(environmentOf === undefined ? {} : { environmentOf: (name) => environmentOf(folder, name) }),
  });
  ends.defer(async () => {
    await crew.stop();
  });
  const client = await openMesh({ servers: addresses.join(","), name: "clients", report: () => undefined });
  ends.defer(client.close);
  const driver = createDriver({
    mesh: speakingMesh(client.ports, appendLines(join(folder, "acked-clients.jsonl"))),
    ...{ seed, everyMs: sagaEveryMs, sleepers: 0 },
  });
  await crew.serving();
  const url = addresses.join(",");
  const stage: Stage = {
    ...{ size, folder, servers, crew, ends, tell },
    hosts: crew.members.filter(({ role }) => role === "host"),
    workers: crew.members.filter(({ role }) => role === "worker"),
    operate: async (...words) => {
      const { code, stdout, stderr } = await runCli(words, { env: { NATS_URL: url } });
      appendFileSync(
        join(folder, "operator.log"),
        `$ sagamesh ${words.join(" ")}\n${stdout}${stderr}exit ${code}\n`,
      );
      tell(`operator: sagamesh ${words.join(" ")}: exit ${code}`);
      return code ?? 1;
    },
    nats: async (...words) => {
      const cli = await ensureNatsCli();
      if ("missing" in cli) throw new Error(cli.missing);
      tell(`operator: nats ${words.join(" ")}`);
      return runCommand({
        file: cli.path,
        args: ["--server", url, ...words],
        env: process.env,
        timeoutMs: 60_000,
      });
    },
  };
  return { stage, driver, world };
}
