/**
 * Goal: nothing that a saga holds reaches a terminal as something that it obeys.
 * Method: the one door of what commands say is given arbitrary text, control characters above all; and no file of the
 * command line has another way out.
 */
import { readdir, readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MeshError } from "../../../../protocol/errors.ts";
import { createOutput, type Output } from "../../../../services/cli/frame/output.ts";

const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const unit = fc.oneof(
  fc.constantFrom("\u001b[2J", "\u001b]0;title\u0007", "\r", "\u009b31m", "\u202e", "\u0000", "\u007f", "\b"),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const text = fc.array(unit, { maxLength: 12 }).map((parts) => parts.join(""));

function said(json: boolean, say: (output: Output) => void): string {
  let all = "";
  const write = (piece: string) => void (all += piece);
  say(createOutput({ out: write, err: write }, json));
  return all;
}

describe("what a command says", () => {
  test("to a person holds no control character, whatever a saga holds", () => {
    fc.assert(
      fc.property(text, (held) => {
        const all = said(false, (output) => {
          output.print({ held }, () => `a ${held}\n\tb`);
          output.note(held);
          output.flow(held, "results");
          output.flow(held, "progress");
          output.fail(new MeshError("INTERNAL", held, { remedy: held }));
          output.fail(new Error(held));
        });
        expect(all).not.toMatch(obeyed);
      }),
    );
  });

  test("shows a control character by its number, and leaves lines, tabs and other letters alone", () => {
    const all = said(false, (output) => output.print({}, () => "a\tb\n\u001b[31mé漢🦊\u202e"));
    expect(all).toBe("a\tb\n\\x1b[31mé漢🦊\\u202e\n");
  });

  test("to a program holds none either, and is the same document", () => {
    fc.assert(
      fc.property(text, (held) => {
        const all = said(true, (output) => output.print({ held, [held]: 1 }, () => ""));
        expect(all).not.toMatch(obeyed);
        expect(JSON.parse(all)).toEqual({ held, [held]: 1 });
      }),
    );
  });

  test("has one door: no other file of the command line writes to a stream or a console", async () => {
    const folder = new URL("../../../../services/cli/", import.meta.url);
    const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts"));
    const others: string[] = [];
    for (const name of files)
      if (/process\.std(out|err)\.write|console\.\w+\(/.test(await readFile(new URL(name, folder), "utf8")))
        others.push(name);
    expect(others.sort()).toEqual(["frame/run.ts", "main.ts"]);
  });
});
