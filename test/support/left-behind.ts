/** Left behind: what an example's run leaves on a mesh in memory, for those who look at it afterwards. */
import type { MemoryMesh } from "../../services/memory/mesh.ts";
import { openTestMesh } from "../../services/testing/test-mesh.ts";
import { chanceOf, type Example } from "./recorded-runs.ts";

/** Lets an example run, and opens what it left behind. */
export async function leftBy(example: Example, seed: number) {
  const pick = chanceOf(seed);
  let memory: MemoryMesh | undefined;
  const app = example.app(pick);
  const t = openTestMesh(app, { seed }, { opened: (mesh) => (memory = mesh) });
  await example.act(t, pick);
  const { ports, clock } = (memory as MemoryMesh).spawn("verifier"); // Proof: the hook is called at once.
  const until = <T>(what: Promise<T>): Promise<T> => (memory as MemoryMesh).clock.until(what);
  const sagas = (await until(ports.ledger.list())).map(({ saga }) => saga);
  const deps = { ports, clock, archives: undefined };
  return { app, t, ports, deps, until, sagas };
}
