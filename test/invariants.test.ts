/**
 * Goal: a number such as `TU1` leads to one sentence, wherever it is read.
 * Method: the numbered lines of every preface are collected. Each file has a prefix of two letters that no other file
 * has, and a number that a comment cites is one of its own file's, or the comment names the file.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const folders = ["protocol", "actors", "services"];

const root = path.join(import.meta.dirname, "..");

const files = folders.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => `${folder}/${file}`)
    .map(read),
);

interface Source {
  readonly file: string;
  readonly text: string;
  /** The numbers its preface has, such as `TU1`. */
  readonly numbers: readonly string[];
}

function read(file: string): Source {
  const text = readFileSync(path.join(root, file), "utf8");
  const preface = /^\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? "";
  return { file, text, numbers: [...preface.matchAll(/^ \* ([A-Z]+\d+) /gm)].map(([, number]) => number!) };
}

const prefixOf = (number: string): string => number.replace(/\d+$/, "");

describe("numbered invariants", () => {
  it("have a prefix of two letters, counted from 1 without a gap", () => {
    const faults = files.flatMap(({ file, numbers }) =>
      numbers.flatMap((number, k) => {
        const expected = `${prefixOf(numbers[0]!)}${k + 1}`;
        return /^[A-Z]{2}\d+$/.test(number) && number === expected ? [] : [`${file}: ${number}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it("have a prefix that no other file has", () => {
    const owners = Map.groupBy(
      files.filter(({ numbers }) => numbers.length > 0),
      ({ numbers }) => prefixOf(numbers[0]!),
    );
    const shared = [...owners].filter(([, of]) => of.length > 1);
    expect(shared.map(([prefix, of]) => `${prefix}: ${of.map(({ file }) => file).join(", ")}`)).toEqual([]);
  });

  it("are cited in their own file, or with its name", () => {
    const ownerOf = new Map(files.flatMap(({ file, numbers }) => numbers.map((number) => [number, file])));
    const faults = files.flatMap(({ file, text }) =>
      commentsOf(text).flatMap((comment) =>
        [...comment.matchAll(/(?<!["\w])[A-Z]{1,2}\d{1,2}(?!["\w])/g)]
          .map(([number]) => number)
          .filter((number) => {
            if (number === "V8") return false; // the engine
            const owner = ownerOf.get(number);
            return owner !== file && !(owner !== undefined && comment.includes(path.basename(owner)));
          })
          .map((number) => `${file}: ${number} in "${comment.trim()}"`),
      ),
    );
    expect(faults).toEqual([]);
  });
});

/** Block comments whole, line comments one by one. Text in strings that looks like one does no harm here. */
const commentsOf = (text: string): string[] => text.match(/\/\*\*?[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm) ?? [];
