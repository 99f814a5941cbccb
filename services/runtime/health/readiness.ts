/** Readiness: whether a process that serves can do its work now, and why not. */
import { describeError, type MeshError } from "../../../protocol/errors.ts";
import type { MeshHealth } from "../../nats/health.ts";
import type { Ports } from "../../wire/ports.ts";
import { withinMs } from "../../nats/within-ms.ts";
import type { Part } from "./part.ts";

/** A probe waits a second or so; a server that takes longer is none to rely on. */
const answerMs = 1_000;

/** What health reads of a mesh. */
export interface WatchedMesh {
  readonly ports: Pick<Ports, "claims">;
  readonly fault: () => MeshError | undefined;
  readonly readHealth: () => Promise<MeshHealth>;
}

/** How far a process that serves has come. */
export type Phase =
  | { readonly kind: "starting"; readonly why?: MeshError | undefined }
  | { readonly kind: "serving"; readonly mesh: WatchedMesh; readonly parts: readonly Part[] }
  | { readonly kind: "draining" };

/** Undefined: it can do its work. Never throws; a server that does not answer within a second is a reason. */
export async function whyNotReady(phase: Phase): Promise<string | undefined> {
  if (phase.kind === "starting")
    return `starting: ${phase.why === undefined ? "the server and the streams are not there yet" : describeError(phase.why)}`;
  if (phase.kind === "draining") return "draining: takes nothing new";
  const { mesh, parts } = phase;
  const missing = mesh.fault();
  if (missing !== undefined) return describeError(missing);
  const now = await withinMs(answerMs, mesh.ports.claims.now());
  if (now === undefined) return `the NATS server's JetStream gave no answer within ${answerMs} ms`;
  for (const part of parts) {
    const why = await withinMs(
      answerMs,
      (part.whyNotReady?.() ?? Promise.resolve(undefined)).then((w) => ({ w })),
    );
    if (why === undefined) return `the NATS server's JetStream gave no answer within ${answerMs} ms`;
    if (why.w !== undefined) return why.w;
  }
  return undefined;
}
