/**
 * Goal: on a terminal a table has its width and statuses their colours, and nothing of either is in a pipe or can be made
 * by what a saga holds. Method: the door of the output with a terminal at its end and without; and processes, whose
 * environment says what Node takes colours to be.
 */
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MeshError } from "../../../../protocol/errors.ts";
import { createOutput, type Output } from "../../../../services/cli/frame/output.ts";
import { painted, type Screen } from "../../../../services/cli/frame/screen.ts";
import { table } from "../../../../services/cli/frame/table.ts";
import { describeEnd } from "../../../../services/cli/telling/describe.ts";
import { runCli } from "../../../support/cli.ts";

function said(screen: Screen | undefined, say: (output: Output) => void, json = false): string {
  let all = "";
  const write = (piece: string) => void (all += piece);
  const screens = screen === undefined ? {} : { screens: () => ({ out: screen, err: screen }) };
  say(createOutput({ out: write, err: write, ...screens }, json));
  return all;
}
const printed = (screen: Screen | undefined, text: () => string) =>
  said(screen, (output) => output.print({}, text));

const header = ["SAGA", "STATUS", "USED", "WAITS FOR"];
const id = "a-saga-with-a-long-name-0123456789";
const rows = [
  [id, "completed", "1 of 2", "nothing at all, and that for a very long time to come, as people say"],
  ["b", "failed", "", "x"],
];

test("a table of 200,000 rows is written like one of two", () => {
  const many = Array.from({ length: 200_000 }, (_, n) => [`s-${n}`, "completed", "", ""]);
  const text = printed({ columns: 80 }, () => table(header, many));
  expect(text.split("\n")).toHaveLength(200_002);
  expect(text).toContain("\ns-199999  completed\n");
});

describe("a table", () => {
  test("on a terminal is no wider than it; the widest text gives way with an ellipsis, no id does", () => {
    const lines = printed({ columns: 80 }, () => table(header, rows))
      .trimEnd()
      .split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBe(80);
    expect(lines[1]).toMatch(new RegExp(`^${id}  completed  1 of 2  nothing at all.*…$`));
    expect(lines[2]).toMatch(/^b +failed +x$/);
  });

  test("in a pipe is whole", () => {
    const whole = printed(undefined, () => table(header, rows));
    expect(whole).toContain(rows[0]?.[3]);
    expect(printed({ columns: 500 }, () => table(header, rows))).toBe(whole);
  });

  test("never has an id cut, however narrow the terminal, and fits where its ids leave room, whatever its text", () => {
    const text = fc.string({ unit: "binary", maxLength: 120 });
    const ascii = fc.string({ maxLength: 120 });
    fc.assert(
      fc.property(fc.integer({ min: 66, max: 120 }), text, text, ascii, (columns, first, second, plain) => {
        const all = printed({ columns }, () => table(header, [[id, "failed", first, second]]));
        expect(all).toContain(id);
        const lines = all.trimEnd().split("\n");
        expect(lines.length).toBe(2);
        const fits = printed({ columns }, () => table(header, [[id, "failed", plain, plain]]));
        for (const line of fits.trimEnd().split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      }),
    );
    expect(printed({ columns: 10 }, () => table(header, rows))).toContain(id);
  });

  test("counts letters that take two places as two", () => {
    const wide = printed({ columns: 40 }, () => table(["SAGA", "QUESTION"], [["a", "漢".repeat(60)]]));
    expect(wide.split("\n")[1]).toBe(`a     ${"漢".repeat(16)}…`);
  });

  test("is as wide with colours as without, and colours statuses alone", () => {
    const plain = printed({ columns: 80 }, () => table(header, rows));
    const coloured = printed({ columns: 80, colours: true }, () => table(header, rows));
    expect(coloured).toContain("\u001b[32mcompleted\u001b[39m");
    expect(coloured).toContain("\u001b[31mfailed\u001b[39m");
    expect(coloured.split("\u001b").length).toBe(5);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
    const doubt = printed({ colours: true }, () => table(["OUTCOME", "NAME"], [["in_doubt", "failed"]]));
    expect(doubt).toBe("OUTCOME   NAME\n\u001b[33min_doubt\u001b[39m  failed\n");
  });
});

describe("a colour", () => {
  test("is ours alone: what a saga holds makes none, also within one of ours", () => {
    const held = "\u001b[31mred\u001b[39m";
    const all = printed({ colours: true }, () => `${held} ${painted("yellow", held)}`);
    expect(all).toBe(
      String.raw`\x1b[31mred\x1b[39m ` + `\u001b[33m${String.raw`\x1b[31mred\x1b[39m`}\u001b[39m\n`,
    );
  });

  test("is on an error's first word and on a saga's end, and in no JSON and no pipe", () => {
    const fail = (output: Output) => output.fail(new MeshError("USAGE", "no", { remedy: "yes" }));
    expect(said({ colours: true }, fail)).toMatch(/^\u001b\[31merror:\u001b\[39m \[USAGE\] no\n/);
    expect(said(undefined, fail)).toMatch(/^error: \[USAGE\] no\n/);
    expect(said({ colours: true }, fail, true)).not.toContain("\u001b");
    const end = { status: "failed", code: "X", reason: "why", standing: [], output: null } as const;
    expect(printed({ colours: true }, () => describeEnd(end as never))).toBe(
      "\u001b[31mfailed\u001b[39m [X] why\n",
    );
    expect(printed({}, () => describeEnd(end as never))).toBe("failed [X] why\n");
  });

  test("is in a process's output where FORCE_COLOR asks for it, else in no pipe, and never with NO_COLOR or --json", async () => {
    const run = async (env: Record<string, string>, ...more: string[]) =>
      (await runCli(["no-such-command", ...more], { env })).stderr;
    const [forced, piped, refused, json] = await Promise.all([
      run({ FORCE_COLOR: "1" }),
      run({}),
      run({ NO_COLOR: "1" }),
      run({ FORCE_COLOR: "1" }, "--json"),
    ]);
    expect(forced).toContain("\u001b[31merror:\u001b[39m");
    for (const none of [piped, refused, json]) expect(none).not.toContain("\u001b");
    expect(piped).toMatch(/^error: /);
  });
});
