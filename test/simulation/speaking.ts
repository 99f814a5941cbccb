/** Speaking: what of a mesh those need who only speak to it: clients, people, the outside. Memory and real meshes have it. */
import type { Clock, Ports } from "../../services/wire/ports.ts";

export interface SpeakingMesh {
  readonly clock: { now(): number; at(dueAt: number, fire: () => void): unknown };
  spawn(name: string): { readonly clock: Clock; readonly ports: Pick<Ports, "inbox"> };
}
export type Speaker = ReturnType<SpeakingMesh["spawn"]>;
