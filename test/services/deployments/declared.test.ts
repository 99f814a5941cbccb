/** What people declared: one document in the memory mesh's registry, written by several at once, and broken by hand. */
import { describe, expect, test } from "vitest";
import type { Declaration } from "../../../protocol/deployments.ts";
import { declare, nothingDeclared, readDeclared } from "../../../services/deployments/declared.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";

const declaration = (name: string, version: number): Declaration => ({
  current: { name, version, hash: `${name}${version}` },
  by: "ana",
  at: 7,
});

function mesh() {
  const memory = createMemoryMesh({ seed: 1 });
  const { ports, clock } = memory.spawn("person");
  return {
    registry: ports.registry,
    deps: { registry: ports.registry, clock },
    until: <T>(work: Promise<T>) => memory.clock.until(work),
  };
}

describe("what is declared", () => {
  test("is nothing at first, and then what was declared last of each name", async () => {
    const { deps, registry, until } = mesh();
    expect(await until(readDeclared(registry))).toEqual(nothingDeclared);
    await until(declare(deps, "hire", () => declaration("hire", 1)));
    await until(declare(deps, "trip", () => declaration("trip", 4)));
    const { revision } = await until(declare(deps, "hire", () => declaration("hire", 2)));
    const declared = await until(readDeclared(registry));
    expect(declared.revision).toBe(revision);
    expect([...declared.names].sort()).toEqual([
      ["hire", declaration("hire", 2)],
      ["trip", declaration("trip", 4)],
    ]);
  });

  test("of twenty at once loses none", async () => {
    const { deps, registry, until } = mesh();
    const names = Array.from({ length: 20 }, (_, at) => `name${at}`);
    await until(Promise.all(names.map((name) => declare(deps, name, () => declaration(name, 1)))));
    expect([...(await until(readDeclared(registry))).names.keys()].sort()).toEqual(names.sort());
  });

  test("is not written again by a change that changes nothing, and goes when it is taken away", async () => {
    const { deps, until } = mesh();
    const { revision } = await until(declare(deps, "hire", () => declaration("hire", 1)));
    expect((await until(declare(deps, "hire", (present) => present))).revision).toBe(revision);
    const after = await until(declare(deps, "hire", () => undefined));
    expect(after.revision).toBeGreaterThan(revision);
    expect([...after.names]).toEqual([]);
  });
});

describe("a document that cannot be read", () => {
  test("of one name is told, leaves the other names as they are, and can be declared anew", async () => {
    const { deps, registry, until } = mesh();
    const broken = { hire: { current: "hire@2" }, trip: declaration("trip", 4) };
    await until(registry.write("deployments", Buffer.from(JSON.stringify(broken)), 0));
    const declared = await until(readDeclared(registry));
    expect([...declared.names.keys()]).toEqual(["trip"]);
    expect(declared.faults).toEqual([expect.stringContaining("what is declared of hire cannot be read")]);
    await until(declare(deps, "other", () => declaration("other", 1)));
    expect((await until(readDeclared(registry))).faults).toHaveLength(1);
    await until(declare(deps, "hire", () => declaration("hire", 2)));
    expect(await until(readDeclared(registry))).toMatchObject({ faults: [] });
  });

  test.each([["nothing"], ["[1]"], ["{"], [""]])(
    "as a whole (%s) is told, and declares nothing",
    async (text) => {
      const { deps, registry, until } = mesh();
      await until(registry.write("deployments", Buffer.from(text), 0));
      const declared = await until(readDeclared(registry));
      expect(declared.names.size).toBe(0);
      expect(declared.faults).toHaveLength(1);
      expect((await until(declare(deps, "hire", () => declaration("hire", 1)))).faults).toEqual([]);
    },
  );
});
