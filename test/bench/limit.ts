/**
 * Limit: how much of what one server can do at all the steps of a host take.
 *
 * Method: as in steps.ts, with the effect in the host; the bare loop is the least that a step can cost with the same
 * promises to the ledger: one compare-and-set append after another for each saga, on the same server, in the same rounds.
 */
import type { Sync } from "./bench-mesh.ts";
import type { Report } from "./figures.ts";
import { measureSteps } from "./steps.ts";

export async function measureLimit(options: { rounds: number; syncs: readonly Sync[] }): Promise<Report> {
  const { rows } = await measureSteps({ ...options, placements: ["host"], sagas: [1, 64, 512] });
  return {
    title: `Steps as a share of bare JetStream on the same server, ${options.rounds} rounds`,
    rows: rows.map((row) => ({
      sync: row["sync"]!,
      sagas: row["sagas"]!,
      "bare steps/s": row["bare steps/s"]!,
      "steps/s": row["steps/s"]!,
      "of bare": row["of bare"]!,
    })),
    notes: ["of bare: steps per second as a share of the bare loop's, median of rounds (least to most)"],
  };
}
