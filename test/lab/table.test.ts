/**
 * Goal: the runbook's table has every fault of the lab, says of each when and where it was run, and is changed by row.
 * Method: the runbook as it is against the faults as they are; `withRows` on a small document.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { faults } from "./faults.ts";
import { dueRows, notYetRun, readRows, skippedRow, withRows } from "./table.ts";

const runbook = readFileSync(new URL("../../deploy/runbook.md", import.meta.url), "utf8");
const nameOf = ([fault, servers]: readonly string[]) => `${fault} on ${servers}`;

describe("the table of the lab", () => {
  test("has a row of each fault on each number of servers that it is for, and no other", () => {
    const due = dueRows(faults).map(({ fault, servers }) => `${fault} on ${servers}`);
    expect(readRows(runbook).map(nameOf)).toEqual(due);
    expect(readRows(withRows(runbook, [], dueRows(faults)))).toEqual(readRows(runbook));
  });

  test("says of every run on what day and machine it was made", () => {
    const undated = readRows(runbook)
      .filter(([, , twice]) => twice !== notYetRun)
      .filter((row) => !/^\d{4}-\d\d-\d\d, \S+ .+ cores/.test(row.at(-1) ?? ""));
    expect(undated.map(nameOf)).toEqual([]);
  });

  test("keeps all other rows when one is replaced, in the order of the faults", () => {
    const row = (name: string, why: string) => skippedRow(name, 1, why, "2026-01-01, Linux 1, 2 cores");
    const due = ["first", "second", "third"].map((fault) => ({ fault, servers: 1 }));
    const empty = "before\n<!-- made: lab -->\n<!-- /made: lab -->\nafter\n";
    const two = withRows(empty, [row("third", "a"), row("first", "b")], due);
    const three = withRows(two, [row("third", "d")], due);
    expect(readRows(three).map(([name, , why]) => `${name}: ${why}`)).toEqual([
      "first: skipped: b",
      `second: ${notYetRun}`,
      "third: skipped: d",
    ]);
    expect(readRows(withRows(three, [], due.slice(1, 2))).map(([name]) => name)).toEqual(["second"]);
    expect(three.startsWith("before\n")).toBe(true);
    expect(three.endsWith("\nafter\n")).toBe(true);
  });
});
