/**
 * Doctor: looks at a mesh and says what is wrong, each with what to do.
 *
 * D1 It changes nothing: a server without a mesh is a finding, not something to be filled.
 */
import { z } from "zod";
import type { DoctorDocument } from "../../protocol/documents.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { readRegistry } from "../client/registry.ts";
import { connectNats } from "../nats/connection.ts";
import { findRunningServer } from "../nats/embedded-server.ts";
import { type MeshHealth, readHealth } from "../nats/health.ts";
import { openNatsPorts } from "../nats/open.ts";
import type { Ports } from "../ports.ts";
import { type Config, redactUrl } from "./config.ts";
import { openServer } from "./mesh.ts";

type Finding = DoctorDocument["findings"][number];

const nothing: DoctorDocument = {
  ok: false,
  streams: [],
  hosts: [],
  partitions: [],
  tools: [],
  definitions: [],
  deadLetters: 0,
  durability: [],
  findings: [],
};

/** Examines the mesh. What cannot be reached is a finding; nothing is thrown for it. */
export async function examine(
  config: Config,
  options: { report: (line: string) => void; signal: AbortSignal },
): Promise<DoctorDocument> {
  const { servers, serverDir } = config;
  try {
    await using server = await openServer({ servers, dataDir: serverDir, mustExist: true, ...options });
    const nc = await connectNats({ servers: server.url.split(","), name: "sagamesh doctor", ...options });
    try {
      const health = await readHealth(nc);
      const document = {
        ...nothing,
        server: serverOf(health, server.url, servers === undefined),
        ...streamsOf(health),
      };
      const durability = await durabilityOf(health, servers === undefined ? serverDir : undefined);
      const findings = streamFindings(health);
      if (findings.length > 0) return { ...document, durability, findings };
      const ports = await openNatsPorts(nc); // Everything is there, so this creates nothing (D1).
      const mesh = await readMesh(ports, health);
      await ports.close();
      const all = meshFindings(health, mesh);
      return { ...document, ...mesh, durability, findings: all, ok: all.length === 0 };
    } finally {
      await nc.close();
    }
  } catch (error) {
    if (!isMeshError(error)) throw error;
    return {
      ...nothing,
      findings: [
        { code: error.code, what: describeError(error).replace(/^\[\w+\] /, ""), remedy: error.remedy },
      ],
    };
  }
}

const serverOf = ({ version, apiLevel }: MeshHealth, url: string, embedded: boolean) => ({
  url: redactUrl(url),
  version,
  apiLevel,
  embedded,
});

const streamsOf = ({ streams, tools }: MeshHealth): Pick<DoctorDocument, "streams" | "tools"> => ({
  streams: streams.map(({ name, messages, bytes, replicas, fault }) => ({
    name,
    messages,
    bytes,
    replicas,
    ...(fault === undefined ? {} : { fault }),
  })),
  tools: tools.map(({ name, waiting, held, pulled, paused }) => ({
    name,
    waiting,
    held,
    workers: pulled,
    paused,
  })),
});

const streamFindings = ({ streams }: MeshHealth): Finding[] =>
  streams.flatMap(({ name, fault, remedy }) =>
    fault === undefined
      ? []
      : [
          {
            code: "SERVER_MISCONFIGURED",
            what: `stream ${name}: ${fault.replace(/^\[\w+\] /, "")}`,
            remedy: remedy ?? "Compare it with what sagamesh declares.",
          },
        ],
  );

/** What a write survives, as far as the server tells. */
async function durabilityOf({ streams }: MeshHealth, serverDir: string | undefined): Promise<string[]> {
  const replicas = Math.min(...streams.map((stream) => stream.replicas));
  const running = serverDir === undefined ? undefined : await findRunningServer(serverDir);
  const sync =
    running === undefined
      ? "whether it syncs each write is the server's configuration"
      : running.syncAlways
        ? "a power cut"
        : "not a power cut";
  return [
    replicas > 1
      ? `${replicas} copies: a turn survives the loss of a server`
      : "one copy: a turn survives the death of any process, not the loss of the server's disk",
    running === undefined ? sync : `a turn survives ${sync}`.replace("survives not", "does not survive"),
  ];
}

type Mesh = Pick<DoctorDocument, "hosts" | "partitions" | "definitions" | "deadLetters">;

async function readMesh(ports: Ports, health: MeshHealth): Promise<Mesh> {
  const hosts = (await ports.membership.hosts()).map(({ host, data }) => ({
    host,
    partitions: partitionsIn(data),
  }));
  const { definitions } = await readRegistry(ports.registry);
  return {
    hosts,
    partitions: health.partitions
      .map(({ name, waiting, held, redelivered }) => {
        const partition = Number(name);
        const owner = hosts.find((one) => one.partitions.includes(partition));
        return {
          partition,
          waiting,
          held,
          redelivered,
          ...(owner === undefined ? {} : { host: owner.host }),
        };
      })
      .sort((a, b) => a.partition - b.partition),
    definitions: definitions.map(({ kind, name, version, hash }) => ({ kind, name, version, hash })),
    deadLetters: (await ports.dead.list()).length,
  };
}

/** What a host says of itself with each beat: the partitions it consumes. */
function partitionsIn(data: Uint8Array): number[] {
  try {
    return z.array(z.int()).parse(JSON.parse(Buffer.from(data).toString()));
  } catch {
    return []; // A newer host may say more than we understand.
  }
}

function meshFindings(health: MeshHealth, { hosts, partitions, deadLetters }: Mesh): Finding[] {
  const findings: Finding[] = [];
  if (hosts.length === 0)
    findings.push({
      code: "NO_HOST",
      what: "no host is running: nothing is decided",
      remedy: "Start one: `sagamesh host --app FILE`, or `sagamesh up --app FILE`.",
    });
  const orphans =
    hosts.length === 0 ? [] : partitions.filter((one) => one.host === undefined).map((one) => one.partition);
  if (orphans.length > 0)
    findings.push({
      code: "NO_OWNER",
      what: `no host has taken up partition ${orphans.join(", ")}`,
      remedy:
        "Wait 2 s and look again: partitions move when a host comes or goes. If it stays so, read the hosts' logs.",
    });
  for (const { name, waiting, pulled, paused } of health.tools)
    if (waiting > 0 && !pulled && !paused)
      findings.push({
        code: "NO_WORKER",
        what: `${waiting} calls of ${name} wait and no worker serves it`,
        remedy: `Start one: \`sagamesh worker --app FILE --tool ${name}\`.`,
      });
  if (deadLetters > 0)
    findings.push({
      code: "DEAD_LETTERS",
      what: `${deadLetters} message${deadLetters === 1 ? " was" : "s were"} set aside`,
      remedy: "Read them: `nats stream view DEAD`; the header Saga-Reason says why.",
    });
  return findings;
}
