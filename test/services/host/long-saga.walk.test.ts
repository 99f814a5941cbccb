/**
 * Goal: a step in a saga of ten thousand turns costs what it costs in a short one. Method: counts, which load does not
 * change: blocks of code that run, requests, and bytes, of 200 steps early in a ledger and of four times 200 late in it, in a process
 * of its own (support/work-counted.ts).
 */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { compiledAnew } from "../../support/compiled-once.ts";
import { share } from "../../support/share.ts";
import type { Counted } from "../../support/work-counted.ts";

const root = path.join(import.meta.dirname, "../../..");
const counting = promisify(execFile);

async function counted(kind: string, turns: number): Promise<readonly [Counted, ...Counted[]]> {
  const script = path.join(root, "test/support/work-counted.ts");
  // An optimised function is counted in part.
  const flags = ["--conditions=sagamesh-source", "--no-opt", "--no-maglev"];
  const args = [...flags, script, kind, String(turns)];
  const { stdout } = await counting(process.execPath, args, {
    ...{ cwd: root, env: compiledAnew, maxBuffer: 64 * 1024 * 1024 },
  });
  return JSON.parse(stdout) as [Counted, ...Counted[]];
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);

/** What runs more often late than early, the most first: where to look when this fails. */
const grown = (early: Counted, late: Counted): string =>
  Object.entries(late.blocks)
    .map(([name, times]) => ({ name, more: times - (early.blocks[name] ?? 0) }))
    .sort((a, b) => b.more - a.more)
    .slice(0, 12)
    .map(({ name, more }) => `${name} +${more}`)
    .join("\n");

test.each(["machine", "agent"])(
  "the steps of %s late in its ledger are the work of early ones",
  async (kind) => {
    const [early, ...lates] = await counted(kind, share(3_000, 10_000));
    const late = lates.reduce((least, one) => (sum(one.blocks) < sum(least.blocks) ? one : least));
    expect(sum(early.blocks)).toBeGreaterThan(10_000); // It is the work that was counted.
    expect(sum(late.blocks) / sum(early.blocks), grown(early, late)).toBeLessThan(1.02);
    expect(late.requests).toEqual(early.requests);
    expect(late.bytes.ledger / early.bytes.ledger).toBeLessThan(1.05);
    expect(late.bytes.snapshots / early.bytes.snapshots).toBeLessThan(1.05);
    // What comes now and then, as parts of the past that become one, is little for each of the steps between.
    const all = lates.reduce((blocks, one) => blocks + sum(one.blocks), 0) / lates.length;
    expect(all / sum(early.blocks)).toBeLessThan(1.25);
  },
  300_000,
);
