/**
 * Bytes: what a no-op step takes on the ledger.
 *
 * Method: one saga of no-op steps; the stream's own count of bytes, which has headers, subject and the record's
 * frame in it, divided by the turns.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { streams } from "../../protocol/subjects.ts";
import { openServer, runToEnd, stateOf } from "./bench-mesh.ts";
import type { Report } from "./figures.ts";
import { noopApp, noopName, type Placement } from "./noop-saga.ts";

export async function measureStepBytes(steps: number): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const placement of ["host", "worker"] as const) rows.push(await measureSteps(placement, steps));
  return {
    title: "Bytes of a no-op step on LEDGER, headers and frame included",
    rows,
    notes: ["Goal: under 700."],
  };
}

async function measureSteps(placement: Placement, steps: number): Promise<Record<string, string | number>> {
  const bench = await openServer("default");
  try {
    const app = noopApp();
    const saga = mintSagaId("noop", Date.now(), Math.random());
    const ended = await runToEnd(bench, app, saga, noopName(placement), { steps });
    const { bytes, messages } = await stateOf(bench, streams.ledger);
    const middle = (await bench.ports.ledger.read(saga, 0, ended))[Math.floor(steps / 2)]!;
    const headerBytes = Object.entries(middle.headers).reduce(
      (sum, [name, value]) => sum + name.length + value.length + 4,
      14,
    );
    return {
      effect: placement === "host" ? "in the host" : "through WORK",
      turns: messages,
      "bytes per turn": Math.round(bytes / messages),
      body: middle.data.length,
      headers: headerBytes,
      "subject and frame": Math.round(bytes / messages) - middle.data.length - headerBytes,
    };
  } finally {
    await bench.close();
  }
}
