/**
 * Model: what a mesh carries, reckoned from what was measured, for meshes that are larger than one machine.
 *
 * Method: each limit of a mesh is a rate that follows from one measured coefficient; the least of them is met first. The coefficients are
 * those of `cost` and `stream` on two shared processors (README.md, with dates), and the test beside this compares the model with
 * what whole runs did on the same machine.
 *
 * It does not know: networks between machines, disks (but for `sync: always`, which was measured on one), steps that compute, large
 * messages, how well one server uses more than two processors.
 */
import { limits } from "../../protocol/limits.ts";
import { shardsMax } from "../../protocol/shards.ts";
import { type Report, rounded } from "./figures.ts";

/** A mesh whose hosts have a processor each, for one Node process uses no more. */
export interface Mesh {
  readonly servers: number;
  /** Processors of each server. */
  readonly processors: number;
  readonly hosts: number;
  readonly shards: number;
  /** Where its steps are performed: one through WORK is a message more in WORK, and one in INBOX. */
  readonly effect: "host" | "worker";
}

/** A rate that a mesh cannot go beyond, steps a second. */
export interface Limit {
  readonly what: string;
  readonly stepsPerSecond: number;
  /** What an operator turns to lift it. */
  readonly turn: string;
}

/** Measured: microseconds of processor time a step; messages a second of one stream. */
export const measured = {
  hostUs: { host: 150, worker: 250 },
  /** Of all servers together, of one and of three that each keep every message. */
  serversUs: { host: { 1: 65, 3: 170 }, worker: { 1: 150, 3: 650 } },
  ledgersPerSecond: { 1: 39_000, 3: 20_300 },
  queuedPerSecond: { 1: 33_200, 3: 12_600 },
} as const;

/** What servers and streams bear of the mesh, whatever its hosts do. */
export function limitsOfServers({ servers, processors, shards, effect }: Omit<Mesh, "hosts">): Limit[] {
  const replicas = servers < 3 ? 1 : 3;
  const working = (replicas === 1 ? 1 : servers) * processors;
  const all: Limit[] = [
    {
      what: "processors of servers",
      stepsPerSecond: (working * 1e6) / measured.serversUs[effect][replicas],
      turn: "servers, or their processors",
    },
    {
      what: "streams of ledgers",
      stepsPerSecond: shards * measured.ledgersPerSecond[replicas],
      turn: "`shards N --yes`",
    },
  ];
  const queues = {
    what: "INBOX and WORK",
    stepsPerSecond: measured.queuedPerSecond[replicas],
    turn: "tools in the host; a mesh each",
  };
  return effect === "worker" ? [...all, queues] : all;
}

/** All limits of a mesh, the one that is met first first. */
export function limitsOf(mesh: Mesh): readonly Limit[] {
  const ofHosts = {
    what: "processors of hosts",
    stepsPerSecond: (mesh.hosts * 1e6) / measured.hostUs[mesh.effect],
    turn: "hosts",
  };
  return [ofHosts, ...limitsOfServers(mesh)].sort((a, b) => a.stepsPerSecond - b.stepsPerSecond);
}

const meshes = [1, 3, 30].flatMap((servers) => [1, 10, 100].map((hosts) => ({ servers, hosts })));
const processors = 8;
/** As many as there are to be had before they are the limit, and one for each three servers at least. */
const shardsOf = (servers: number, hosts: number): number => {
  const each = measured.ledgersPerSecond[servers < 3 ? 1 : 3];
  return Math.min(shardsMax, Math.ceil(Math.max((hosts * 1e6) / measured.hostUs.host / each, servers / 3)));
};

/** What 1, 3 and 30 servers and 1, 10 and 100 hosts carry. */
export function reckon(): Report {
  const rows = (["host", "worker"] as const).flatMap((effect) =>
    meshes.map(({ servers, hosts }) => {
      const shards = shardsOf(servers, hosts);
      const [first, next] = limitsOf({ servers, processors, hosts, shards, effect }) as [Limit, Limit];
      return {
        ...{ effect, servers, hosts, shards, "steps/s": rounded(first.stepsPerSecond) },
        ...{ "met first": first.what, turn: first.turn },
        ...{ next: next.what, at: rounded(next.stepsPerSecond) },
      };
    }),
  );
  return {
    title: `What a mesh carries, by reckoning: servers of ${processors} processors, hosts of one`,
    rows,
    notes: [`Of agents that take 5 s for a step a host has ${limits.sagasPerHostMax / 5} steps/s.`],
  };
}
