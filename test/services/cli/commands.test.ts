/**
 * Goal: what all commands have in common is so of each: exit codes, what a misspelt word is answered, and that JSON may
 * be in a file.
 * Method: over the table of commands, so that one that is added is held to it; in this process, against a server address
 * where nothing listens.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../../services/cli/commands.ts";
import type { Command } from "../../../services/cli/frame/command.ts";
import { readGiven } from "../../../services/cli/frame/given.ts";
import { runCli, runHere } from "../../support/cli.ts";

const all: readonly Command[] = await Promise.all(
  Object.values(commands).flatMap((group) => Object.values(group).map((load) => load())),
);
const byName = all.map((command) => [command.name, command] as const);
const nowhere = ["--server", "nats://127.0.0.1:1"];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-commands-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("bad usage", () => {
  test.each(byName)("of %s exits with 2 and names the word and the help", async (name) => {
    const { code, stderr } = await runHere([name, "--no-such-option-at-all"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^error: \[USAGE\] .*--no-such-option-at-all'\nremedy: See sagamesh \S+ --help\.\n$/,
    );
  });

  test.each(byName)("of %s with a misspelt option says which was meant", async (name, { options }) => {
    const known = Object.keys(options);
    for (const option of known.filter((one) => one.length >= 5)) {
      const misspelt = `${option.slice(0, -2)}${option.at(-1)}${option.at(-2)}`;
      if (misspelt === option) continue;
      const { code, stderr } = await runHere([name, `--${misspelt}`]);
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`did you mean "${option}"?`),
      });
    }
  });

  test("a misspelt command is told with the one that was meant", async () => {
    for (const [name] of byName.filter(([one]) => one.length >= 4)) {
      const { code, stderr } = await runHere([`${name.slice(0, 1)}${name.slice(2)}`]);
      expect(code).toBe(2);
      expect(stderr).toContain("did you mean ");
    }
    expect((await runHere(["inspcet", "x"])).stderr).toContain(
      'no command "inspcet"; did you mean "inspect"?',
    );
  });
});

describe("what the outside lacks", () => {
  /** Those that ask no server, or begin to serve something of their own. */
  const alone = new Set(["demo", "decode", "gateway", "console", "link", "completion", "new"]);
  const examples = all
    .filter(({ name }) => !alone.has(name))
    .flatMap(({ examples: lines, without = [] }) =>
      lines.map(
        (line) => [line, [...wordsOf(line), ...(without.includes("server") ? [] : nowhere)]] as const,
      ),
    )
    .filter(([line]) => !/(plan|index) --schema|mcp check/.test(line)); // Those ask nothing, this lacks a word the first time.

  test.each(examples)("is no bad usage: %s exits with 1", async (_, words) => {
    const { code, stderr } = await runHere(words);
    expect({ code, stderr }).toMatchObject({ code: 1 });
  });

  /** A line of a shell as words; what is set before the command is left out, and where its output goes. */
  function wordsOf(line: string): string[] {
    const words = [...line.replace(/ > [^'"]*$/, "").matchAll(/(?:'([^']*)'|"([^"]*)"|[^\s'"])+/g)].map(
      ([word]) =>
        word.replaceAll(/^(--?[\w-]+=)?'([^']*)'$/g, "$1$2").replaceAll(/(^|=)(['"])(.*)\2$/g, "$1$3"),
    );
    return words.slice(words.indexOf("sagamesh") + 1);
  }
});

describe("JSON on a command line", () => {
  const taking = all.flatMap((command) =>
    Object.entries({ ...command.positionals, ...command.options }).map(([name, word]) => ({
      command,
      name,
      word,
    })),
  );

  test("may be given in another way wherever a command takes it", () => {
    const forgotten = taking.filter(
      ({ word }) =>
        word.json === undefined &&
        /JSON/.test(`${"hint" in word ? word.hint : ""} ${word.help}`) &&
        !/FILE|^ ?a file|print /.test(`${"hint" in word ? word.hint : ""} ${word.help}`),
    );
    expect(forgotten.map(({ command, name }) => `${command.name} ${name}`)).toEqual([]);
  });

  test.each(
    taking
      .filter(({ word }) => word.json !== undefined)
      .map((one) => [one.command.name, one.name, one] as const),
  )("of %s, %s is read from a file", async (_, name, { command, word }) => {
    const path = join(folder, "given.json");
    await writeFile(path, `{"in":"a file"}`);
    const { signal } = new AbortController();
    const prefix = word.json === "pair" ? "7=" : "";
    const words = (text: string) => (word.multiple === true ? [`${prefix}${text}`] : `${prefix}${text}`);
    const read = async (text: string) => (await readGiven(command, { [name]: words(text) }, signal))[name];
    expect(await read(`@${path}`)).toEqual(words(`{"in":"a file"}`));
    expect(await read("@@ana")).toEqual(words("@ana"));
    expect(await read(`{"as":"typed"}`)).toEqual(words(`{"as":"typed"}`));
    await expect(read("@/no/such/file")).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  });

  test("is read from standard input", async () => {
    const ended = await runCli(["start", "x", "--input", "-", ...nowhere], { stdin: "{" });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/^error: \[BAD_JSON\] --input is not JSON/);
  });
});
