/**
 * Goal: the model says of this machine's meshes what whole runs did there, to within a factor, and names the limit that is met first.
 * Method: runs of README.md, each beside the model of the same mesh: all its processes shared two processors.
 */
import { expect, test } from "vitest";
import { limitsOf, limitsOfServers, measured, type Mesh } from "./model.ts";

/** Runs of `cost`, `shards` and `peers`: steps a second, the least and the most. */
const runs: readonly (Pick<Mesh, "servers" | "shards" | "effect"> & { did: readonly [number, number] })[] = [
  { servers: 1, shards: 1, effect: "host", did: [4_430, 11_000] },
  { servers: 1, shards: 4, effect: "host", did: [4_990, 10_300] },
  { servers: 3, shards: 1, effect: "host", did: [4_070, 4_550] },
  { servers: 3, shards: 4, effect: "host", did: [3_670, 4_220] },
  { servers: 1, shards: 1, effect: "worker", did: [2_974, 3_640] },
  { servers: 3, shards: 1, effect: "worker", did: [1_550, 1_610] },
];

test.each(runs)(
  "$servers servers, $shards shards, effect in the $effect: between half and one and a half of what was done",
  ({ did, ...mesh }) => {
    const replicas = mesh.servers === 1 ? 1 : 3;
    const together = measured.hostUs[mesh.effect] + measured.serversUs[mesh.effect][replicas];
    const [ofOneHost] = limitsOf({ ...mesh, hosts: 1, processors: 2 });
    const reckoned = Math.min(ofOneHost!.stepsPerSecond, (2 * 1e6) / together);
    const [least, most] = did;
    expect(reckoned).toBeGreaterThan(least / 1.5);
    expect(reckoned).toBeLessThan(most * 2);
  },
);

test("what is turned lifts the limit that is named", () => {
  const mesh: Mesh = { servers: 1, processors: 8, hosts: 1, shards: 1, effect: "host" };
  const first = (changed: Partial<Mesh>) => limitsOf({ ...mesh, ...changed })[0]!;
  expect(first({}).turn).toBe("hosts");
  expect(first({ hosts: 10 }).what).toBe("streams of ledgers");
  expect(first({ hosts: 10, shards: 4 }).what).toBe("processors of hosts");
  expect(first({ hosts: 100, shards: 64 }).what).toBe("processors of servers");
  expect(first({ hosts: 100, shards: 64, servers: 30 }).what).toBe("processors of hosts");
  expect(first({ hosts: 100, shards: 64, servers: 30, effect: "worker" }).what).toBe("INBOX and WORK");
});

test("no server and no shard makes a mesh carry less, but that three servers keep each message thrice", () => {
  for (const effect of ["host", "worker"] as const)
    for (const servers of [3, 6, 30])
      for (const shards of [1, 8, 64]) {
        const carried = (more: number) =>
          limitsOfServers({ servers: servers + more, processors: 8, shards: shards + more, effect });
        carried(1).forEach(({ stepsPerSecond }, k) =>
          expect(stepsPerSecond).toBeGreaterThanOrEqual(carried(0)[k]!.stepsPerSecond),
        );
      }
});
