/** A host among the others: what it says of itself, on the memory mesh, and what it waits for. */
import { describe, expect, test } from "vitest";
import type { Declaration, ServedDefinition } from "../../../protocol/deployments.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { declare } from "../../../services/deployments/declared.ts";
import { livingHosts } from "../../../services/deployments/served.ts";
import { joinRoster } from "../../../services/host/roster.ts";
import type { Weighing } from "../../../services/host/shedding.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports } from "../../../services/wire/ports.ts";

const hire = (version: number): ServedDefinition => ({
  name: "hire",
  version,
  hash: `h${version}`,
  startable: true,
});
const current = (version: number): Declaration => ({
  current: { name: "hire", version, hash: `h${version}` },
  by: "ana",
  at: 0,
});

/** Of a host that is never overloaded. */
function weighing(declared: number): Weighing {
  return { now: () => ({ declared, now: declared, load: 0, by: "loop" }), weigh: () => undefined };
}

function meshOf(weights: Readonly<Record<string, number>> = {}) {
  const mesh = createMemoryMesh({ seed: 3, partitions: 8 });
  const outside = mesh.spawn("outside");
  const join = (name: string, serves: ServedDefinition[], instead?: (real: Ports) => Partial<Ports>) => {
    const { ports, clock } = mesh.spawn(name);
    let held: readonly number[] = [];
    const roster = joinRoster(
      {
        ports: { ...ports, ...instead?.(ports) },
        clock,
        log: silentLog,
        incarnation: name,
        serves,
        weighing: weighing(weights[name] ?? 1),
        hasLapsed: () => false,
      },
      { held: () => held, take: async (next) => void (held = next) },
    );
    return { roster, held: () => held };
  };
  return {
    join,
    /** What a host of a version without weights says of itself, for as long as a host's entry lives. */
    former: (partitions: number[]) =>
      mesh.clock.until(
        outside.ports.membership.beat(
          "former",
          new TextEncoder().encode(
            JSON.stringify({ partitions, draining: false, since: 0, serves: [], deployments: 0 }),
          ),
          limits.hostTtlMs,
        ),
      ),
    pass: (ms: number) => mesh.clock.until(outside.clock.sleep(ms)),
    living: () => mesh.clock.until(livingHosts(outside.ports.membership)),
    declare: (version: number) =>
      mesh.clock.until(
        declare({ registry: outside.ports.registry, clock: outside.clock }, "hire", () => current(version)),
      ),
  };
}

describe("a host among the others", () => {
  test("is known with what it serves, and knows the others with what they serve", async () => {
    const mesh = meshOf();
    const one = mesh.join("one", [hire(1)]);
    const two = mesh.join("two", [hire(1), hire(2)]);
    await mesh.pass(3_000);
    const known = [
      ["one", [hire(1)]],
      ["two", [hire(1), hire(2)]],
    ];
    for (const hosts of [await mesh.living(), one.roster.hosts(), two.roster.hosts()])
      expect(hosts.map(({ host, serves }) => [host, serves]).sort()).toEqual(known);
  });

  test("goes by what is declared within two beats, and says so", async () => {
    const mesh = meshOf();
    const one = mesh.join("one", [hire(1)]);
    const two = mesh.join("two", [hire(2)]);
    await mesh.pass(3_000);
    expect((await mesh.living()).map(({ deployments }) => deployments)).toEqual([0, 0]);
    for (const version of [1, 2]) {
      const { revision } = await mesh.declare(version);
      await mesh.pass(1_300);
      expect((await mesh.living()).map(({ deployments }) => deployments)).toEqual([revision, revision]);
      for (const { roster } of [one, two])
        expect(roster.declared()?.names.get("hire")).toEqual(current(version));
    }
  });

  test("takes nothing before it has read what is declared, and says all the time that it lives", async () => {
    const mesh = meshOf();
    let answers = false;
    const late = mesh.join("late", [hire(1)], ({ registry }) => ({
      registry: {
        ...registry,
        read: (key) =>
          answers
            ? registry.read(key)
            : Promise.reject(new MeshError("UNAVAILABLE", "no answer from the registry")),
      },
    }));
    const other = mesh.join("other", [hire(1)]);
    await mesh.pass(5_000);
    expect(late.held()).toEqual([]);
    expect((await mesh.living()).map(({ host }) => host).sort()).toEqual(["late", "other"]);
    answers = true;
    await mesh.pass(3_000);
    expect([...late.held(), ...other.held()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(late.held()).toHaveLength(4);
  });

  test("goes by what was declared for no longer than others know that it lives", async () => {
    for (const silent of ["registry", "membership"] as const) {
      const mesh = meshOf();
      let answers = true;
      const noAnswer = () => Promise.reject(new MeshError("UNAVAILABLE", `no answer from ${silent}`));
      const { roster } = mesh.join("one", [hire(1)], (ports) => ({
        registry: {
          ...ports.registry,
          read: (key) => (answers || silent !== "registry" ? ports.registry.read(key) : noAnswer()),
        },
        membership: {
          ...ports.membership,
          beat: (...said) =>
            answers || silent !== "membership" ? ports.membership.beat(...said) : noAnswer(),
        },
      }));
      await mesh.declare(1);
      await mesh.pass(3_000);
      const version = () => roster.declared()?.names.get("hire")?.current.version;
      expect(version()).toBe(1);
      answers = false;
      await mesh.declare(2);
      await mesh.pass(limits.hostTtlMs);
      if (silent === "membership") expect(await mesh.living()).toEqual([]);
      expect(roster.declared(), silent).toBeUndefined();
      answers = true;
      await mesh.pass(1_500);
      expect(version(), silent).toBe(2);
    }
  });

  test("takes its share by weight, and the same as others beside a host that knows of no weight (PM4)", async () => {
    const mesh = meshOf({ large: 3 });
    const large = mesh.join("large", [hire(1)]);
    const small = mesh.join("small", [hire(1)]);
    const counts = () => [large.held().length, small.held().length];
    await mesh.pass(4_000);
    expect(counts()).toEqual([6, 2]);
    await mesh.former([]);
    await mesh.pass(1_500);
    expect(counts()).toEqual([3, 3]);
    await mesh.pass(limits.hostTtlMs + 2_000); // Its entry runs out.
    expect(counts()).toEqual([6, 2]);
    expect([...large.held(), ...small.held()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
