/**
 * Goal: a shell offers what the commands declare, and runs nothing of what it is told. Method: bash reads the script and
 * is asked what it would offer, as it asks itself; zsh and fish read theirs where the machine has them, and everywhere the
 * texts are held to the table.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands as groups } from "../../../../services/cli/commands.ts";
import {
  type Command,
  globalOptions,
  type Positional,
  sharedOptions,
} from "../../../../services/cli/frame/command.ts";
import { completionFor, type Shell, shells } from "../../../../services/cli/telling/completion.ts";
import { runHere } from "../../../support/cli.ts";

let commands: readonly Command[];
let folder: string;
beforeAll(async () => {
  commands = await Promise.all(
    Object.values(groups)
      .flatMap((group) => Object.values(group))
      .map((load) => load()),
  );
  folder = await mkdtemp(join(tmpdir(), "sagamesh-completion-"));
  await writeFile(join(folder, "app one.ts"), "");
  await writeFile(join(folder, "appendix.md"), "");
  await mkdir(join(folder, "apps"));
});
afterAll(() => rm(folder, { recursive: true }));

/** What bash offers for each of these lines, whose words stand as bash splits them; the last one is being typed. */
async function bashOffers(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const word = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const asked = lines.map(
    (words) =>
      `COMP_WORDS=(sagamesh ${words.map(word).join(" ")}); COMP_CWORD=${words.length}; _sagamesh; printf '%s\\n' "\${COMPREPLY[@]}" --end--`,
  );
  const script = [completionFor("bash", commands), ...asked].join("\n");
  const said = await new Promise<string>((resolve, reject) => {
    const child = execFile("bash", ["--norc"], { cwd: folder }, (error, stdout, stderr) => {
      if (error !== null || stderr !== "") reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
    child.stdin?.end(script);
  });
  return said
    .split("--end--\n")
    .slice(0, -1)
    .map((part) => part.split("\n").filter((one) => one !== ""));
}

const offered = async (...words: string[]): Promise<string[]> => (await bashOffers([words]))[0] ?? [];
const optionsOf = (command: Command) =>
  Object.keys({ ...command.options, ...sharedOptions(command) }).map((name) => `--${name}`);

describe("bash offers", () => {
  test("every command at first, and those that begin as it was typed", async () => {
    expect((await offered("")).sort()).toEqual(commands.map(({ name }) => name).sort());
    expect(await offered("dep")).toEqual(["deployments"]);
    expect(await offered("--")).toEqual(Object.keys(globalOptions).map((name) => `--${name}`));
  });

  test("of every command all its options, and no other's", async () => {
    const all = await bashOffers(commands.map(({ name }) => [name, "--"]));
    expect(all.map((options) => options.sort())).toEqual(commands.map((one) => optionsOf(one).sort()));
  });

  test("every choice that is declared, at its place or after its option", async () => {
    const declared = commands.flatMap(({ name, positionals, options }) => [
      ...Object.values(positionals).map(({ choices }, index) => ({
        words: [name, ...Array.from({ length: index }, () => "x"), ""],
        choices,
      })),
      ...Object.entries(options).map(([option, { choices }]) => ({
        words: [name, `--${option}`, ""],
        choices,
      })),
    ]);
    const lines = declared.flatMap(({ words, choices }) =>
      choices === undefined ? [] : [{ words, choices }],
    );
    expect(lines.length).toBeGreaterThan(8);
    expect(await bashOffers(lines.map(({ words }) => words))).toEqual(lines.map(({ choices }) => choices));
  });

  test("files for --app, with = as well, folders alone for a folder, and nothing for an id", async () => {
    const files = ["app one.ts", "appendix.md", "apps"];
    expect((await offered("host", "--app", "app")).sort()).toEqual(files);
    expect((await offered("host", "--app", "=", "app")).sort()).toEqual(files);
    expect((await offered("host", "--app", "=")).sort()).toEqual(files);
    expect((await offered("import", "a.json", "app")).sort()).toEqual(files);
    expect(await offered("archive", "--to", "app")).toEqual(["apps"]);
    expect(await offered("start", "--id", "app")).toEqual([]);
  });

  test("what the command takes, whatever stands before it or around it", async () => {
    expect(await offered("--server", "nats", ":", "//x", ":", "4222", "dead", "s")).toEqual(["show"]);
    expect(await offered("dead", "--code", "host", "s")).toEqual(["show"]);
    expect(await offered("dead", "--all", "s")).toEqual(["show"]);
    expect(await offered("dead", "show", "s")).toEqual([]);
    expect(await offered("fork", "a", "--effects", "=", "l")).toEqual(["live"]);
  });
});

const isNeeded = ({ optional, multiple }: Positional) => optional !== true && multiple !== true;

test("a choice that is not declared is bad usage, and every declared one is known to its command", async () => {
  for (const { name, positionals } of commands) {
    const [first, ...others] = Object.values(positionals);
    if (first?.choices === undefined || first.choices.length === 1) continue;
    const { code, stderr } = await runHere([name, "no-such-word", ...(others.some(isNeeded) ? ["x"] : [])]);
    expect([name, code]).toEqual([name, 2]);
    for (const choice of first.choices) expect(stderr, name).toContain(choice);
  }
});

describe.each(shells)("%s", (shell: Shell) => {
  test("`completion` prints its script", async () => {
    const { code, stdout, stderr } = await runHere(["completion", shell]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(`${completionFor(shell, commands)}\n`);
  });

  test("its script names every command and option", () => {
    const script = completionFor(shell, commands);
    for (const command of commands) {
      const lines = script.split("\n").filter((line) => new RegExp(`\\b${command.name}\\b`).test(line));
      for (const option of optionsOf(command)) {
        const named = shell === "fish" ? `-l ${option.slice(2)} ` : option;
        expect(lines.some((line) => line.includes(named), `${command.name} ${option}`)).toBe(true);
      }
    }
  });

  const isHere = spawnSync(shell, ["--version"]).status === 0;
  test.skipIf(!isHere)("reads it without a complaint", async () => {
    const flags = shell === "fish" ? ["--no-execute"] : ["-n"];
    const file = join(folder, `script.${shell}`); // fish checks nothing that is piped.
    await writeFile(file, completionFor(shell, commands));
    const { status, stderr } = spawnSync(shell, [...flags, file]);
    expect([status, String(stderr)]).toEqual([0, ""]);
    await rm(file); // The folder's files are offered by the tests beside this one.
  });
});

test("a help text with quotes, brackets and a command in it stays text", () => {
  const sly = "it's [a]: $(touch sly) `touch sly` \\";
  const command: Command = {
    ...{ name: "sly", summary: sly, positionals: {}, examples: [], run: () => Promise.resolve(0) },
    options: { sly: { type: "string", hint: "FILE", help: sly } },
  };
  // bash reads the quotes of zsh as zsh does: what it makes of a word is what zsh is given.
  const [summary] = /'sly:.*/.exec(completionFor("zsh", [command])) ?? [];
  const [option] = /'--sly\[.*?' '--server/.exec(completionFor("zsh", [command])) ?? [];
  const words = `printf '%s\\n' ${summary ?? ""} ${(option ?? "").replace(/ '--server$/, "")}`;
  expect(String(spawnSync("bash", ["-c", words]).stdout).split("\n")).toEqual([
    `sly:${sly}`,
    String.raw`--sly[it's \[a\]\: $(touch sly) ${"`touch sly`"} \\]:FILE:_files`,
    "",
  ]);
  const said = completionFor("fish", [command]);
  expect(said).toContain(String.raw`-d 'it\'s [a]: $(touch sly) ${"`touch sly`"} \\'`);
});
