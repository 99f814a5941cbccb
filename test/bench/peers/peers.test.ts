/**
 * Goal: the tables of the comparison say what was measured. Method: found figures, made up, through the report and onto
 * paper. Running peers is no test: it gets other products.
 */
import { describe, expect, test } from "vitest";
import type { Report } from "../figures.ts";
import { renderResults } from "../results.ts";
import { quickSizes } from "./cases.ts";
import type { Peer } from "./peer.ts";
import { allPeers, reportOf } from "./peers.ts";

const [own, other, third] = [...allPeers, { ...allPeers[1]!, name: "third" }] as unknown as [
  Peer,
  Peer,
  Peer,
];
const setting = { name: "one", sync: "always", rounds: 3, sizes: quickSizes } as const;
const figures = (...values: number[]) => values.map((value) => ({ "": { "ms/step": value } }));

describe("a report of peers", () => {
  test("takes the ratio round by round, not of the medians", () => {
    const { rows } = reportOf(
      setting,
      new Map([
        [own, figures(1, 2, 4)],
        [other, figures(3, 2, 8)],
      ]),
    );
    expect(rows).toEqual([
      { peer: own.name, rounds: 3, "of sagamesh's": "1", "ms/step": 2 },
      { peer: other.name, rounds: 3, "of sagamesh's": "2 (1 to 3)", "ms/step": 3 },
    ]);
  });

  test("says of a peer that did not do it why, whether or not sagamesh did", () => {
    const { rows } = reportOf(
      setting,
      new Map<Peer, ReturnType<typeof figures> | string>([
        [own, "over 240 s: run"],
        [other, figures(3)],
        [third, "it keeps at most 50,000 events"],
      ]),
    );
    expect(rows.map((row) => row["of sagamesh's"])).toEqual([
      "over 240 s: run",
      "–",
      "it keeps at most 50,000 events",
    ]);
  });

  test("stands on paper as a table whose cells stay cells", () => {
    const report: Report = { title: "T", rows: [{ a: "x|y", b: 1 }, { c: "two\nlines" }], notes: [] };
    expect(renderResults(["- here"], [report])).toContain(
      "| a | b | c |\n| --- | --- | --- |\n| x\\|y | 1 |  |\n|  |  | two lines |",
    );
  });
});
