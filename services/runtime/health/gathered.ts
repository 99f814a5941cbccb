/**
 * Gathered: what a process tells of itself, brought up to the moment at which somebody reads it.
 */
import { briefDefinition, definitionOfText } from "../../../protocol/definition-text.ts";
import type { MeshError } from "../../../protocol/errors.ts";
import { createExposition, type Exposition } from "./exposition.ts";
import { createMeshGauges, type MeshGauges } from "./mesh-gauges.ts";
import { createMetrics, type Observers } from "./metrics.ts";
import type { Part } from "./part.ts";
import { createProcessGauges } from "./process-gauges.ts";
import { type Phase, type WatchedMesh, whyNotReady } from "./readiness.ts";

/** How far the process has come, as it says itself. */
export interface Progress {
  /** The mesh is open; `parts` are what serves, once it does. */
  serving(mesh: WatchedMesh, parts: readonly Part[]): void;
  /** What it waits for as it starts; undefined for nothing in particular. */
  waits(why: MeshError | undefined): void;
  /** From here on not ready. */
  draining(): void;
}

export interface Gathered extends Progress {
  readonly observers: Observers;
  /** Undefined: it can do its work now. Never throws. */
  readonly whyNot: () => Promise<string | undefined>;
  /** All metrics as they are now; a server that is silent is waited for a few seconds. Never throws. */
  readonly read: () => Promise<Pick<Exposition, "read" | "text">>;
  readonly close: () => void;
}

/** `version`: of the package. `linesLost`: how many lines this process could not write so far. */
export function gather(version: string, linesLost: () => number): Gathered {
  const exposition = createExposition();
  const observers = createMetrics(exposition);
  const processGauges = createProcessGauges(exposition, linesLost);
  const info = exposition.gauge("sagamesh_info", "Always 1; the labels say what this is.", ["version"]);
  info.set([version], 1);
  const ready = exposition.gauge("sagamesh_ready", "1 if the process can do its work now, else 0.");
  const showParts = partGauges(exposition);
  let phase: Phase = { kind: "starting" };
  let meshGauges: MeshGauges | undefined;
  const whyNot = () => whyNotReady(phase);
  return {
    observers,
    whyNot,
    read: async () => {
      await meshGauges?.refresh();
      processGauges.refresh();
      ready.set([], (await whyNot()) === undefined ? 1 : 0);
      showParts(phase.kind === "serving" ? phase.parts : []);
      return exposition;
    },
    serving: (mesh, parts) => {
      meshGauges = createMeshGauges(exposition, mesh.readHealth, () => performance.now());
      phase = { kind: "serving", mesh, parts };
    },
    waits: (why) => {
      if (phase.kind === "starting") phase = { kind: "starting", why };
    },
    draining: () => (phase = { kind: "draining" }),
    close: () => processGauges.close(),
  };
}

/** The gauges of what hosts tell; those whose labels come and go are written anew each time. */
export function partGauges({ gauge }: Exposition): (parts: readonly Part[]) => void {
  const resident = gauge("sagamesh_sagas_resident", "Sagas in this host's memory.");
  const partitions = gauge("sagamesh_partitions", "Partitions this host takes inputs of.");
  const waiting = gauge(
    "sagamesh_sagas_waiting_for_host",
    "Sagas whose inputs this host puts off because no host serves their definition.",
    ["definition"],
  );
  const left = gauge("sagamesh_storage_left_bytes", "What is left of a disk or a limit.", ["of"]);
  const all = gauge("sagamesh_storage_bytes", "All there is of that disk or limit.", ["of"]);
  return (parts) => {
    for (const one of [waiting, left, all]) one.clear();
    for (const part of parts) {
      if (part.resident !== undefined) resident.set([], part.resident());
      if (part.partitions !== undefined) partitions.set([], part.partitions().length);
      for (const { of, leftBytes, allBytes } of part.storage?.() ?? []) {
        left.set([of], leftBytes);
        all.set([of], allBytes);
      }
      for (const { definition, sagas } of part.waiting?.() ?? [])
        waiting.set([labelOf(definition)], sagas.length);
    }
  };
}

/** A start may wait for a name alone. */
function labelOf(definition: string): string {
  const ref = definitionOfText(definition);
  return ref === undefined ? definition : briefDefinition(ref);
}
