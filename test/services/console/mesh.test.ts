/**
 * Goal: one look at a mesh serves all who ask at about the same time, a look that failed is not shown again, and a letter is
 * settled once.
 * Method: a doctor that counts how often it is asked, on the mesh in memory.
 */
import { expect, test } from "vitest";
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { createMeshTeller } from "../../../services/console/mesh.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";

const healthy = { ok: true, findings: [] } as unknown as DoctorDocument;

function open(examine: () => Promise<DoctorDocument>) {
  const mesh = createMemoryMesh({ seed: 1 });
  const deps = { ...mesh.spawn("console"), from: "tester" };
  return { mesh, teller: createMeshTeller(deps, examine) };
}

test("many who ask at once have the mesh looked at once, and later ones anew", async () => {
  let looks = 0;
  const { mesh, teller } = open(async () => {
    looks += 1;
    return healthy;
  });
  await mesh.clock.until(Promise.all(Array.from({ length: 20 }, () => teller.mesh())));
  expect(looks).toBe(1);
  await mesh.clock.advance(10_000);
  await mesh.clock.until(teller.mesh());
  expect(looks).toBe(2);
});

test("a look that failed is told to those who asked, and the next asks anew", async () => {
  let looks = 0;
  const { mesh, teller } = open(async () => {
    looks += 1;
    if (looks === 1) throw new MeshError("UNAVAILABLE", "no answer");
    return healthy;
  });
  await expect(mesh.clock.until(teller.mesh())).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(mesh.clock.until(teller.mesh())).resolves.toMatchObject({ lettersInAll: 0 });
});

test("a letter that is not there is neither shown nor settled", async () => {
  const { mesh, teller } = open(async () => healthy);
  const asks: (() => Promise<unknown>)[] = [
    () => teller.letter(7),
    () => teller.settle(7, "drop"),
    () => teller.settle(7, "retry"),
  ];
  for (const ask of asks)
    await expect(mesh.clock.until(ask())).rejects.toMatchObject({ code: "LETTER_UNKNOWN" });
});
