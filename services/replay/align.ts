/**
 * Align: two runs side by side. What both have in the same order shares a row; the rest stands alone.
 */
import type { PathStep } from "../../protocol/documents/replay.ts";

export interface Row {
  readonly recorded?: PathStep;
  readonly got?: PathStep;
}

/** Rows of both paths, by a longest common subsequence of what was done with what. */
export function align(recorded: readonly PathStep[], got: readonly PathStep[]): Row[] {
  const same = (a: PathStep | undefined, b: PathStep | undefined) =>
    a !== undefined && b !== undefined && a.kind === b.kind && a.title === b.title;
  const lengths = Array.from({ length: recorded.length + 1 }, () => new Uint32Array(got.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = recorded.length - 1; i >= 0; i--)
    for (let j = got.length - 1; j >= 0; j--) {
      const row = lengths[i];
      if (row !== undefined)
        row[j] = same(recorded[i], got[j]) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  const rows: Row[] = [];
  for (let i = 0, j = 0; i < recorded.length || j < got.length;) {
    const [a, b] = [recorded[i], got[j]];
    if (a !== undefined && b !== undefined && same(a, b)) {
      rows.push({ recorded: a, got: b });
      i++;
      j++;
    } else if (b === undefined || (a !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      if (a !== undefined) rows.push({ recorded: a });
      i++;
    } else {
      rows.push({ got: b });
      j++;
    }
  }
  return rows;
}
