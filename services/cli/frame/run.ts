/**
 * Run: from the words of a command line to an exit code.
 *
 * RU1 Exit codes: 0 done, 1 the saga or check failed or it could not be done, 2 bad usage.
 * RU2 A reader that goes away (`| head`) is no error, and ends a command that has nothing else to do. One that serves goes on.
 * RU3 A result that cannot be written is an error; of one that serves it is counted (outlet.ts).
 */
import { flushCompileCache } from "node:module";
import { styleText } from "node:util";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { maxOf } from "../../../protocol/extremes.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import { readConfig } from "../../runtime/config.ts";
import { listenForShutdown } from "../../runtime/shutdown.ts";
import { outletOf } from "../../runtime/outlet.ts";
import { packageVersion } from "../../runtime/version.ts";
import { columns, type Command, commandHelp, globalOptions, readArgs } from "./command.ts";
import { readGiven } from "./given.ts";
import type { Screen } from "./screen.ts";
import { createOutput, isUsageError, type Streams } from "./output.ts";

/** By the title of a group and the name of a command: how it is loaded. */
export type CommandGroups = Readonly<Record<string, Readonly<Record<string, () => Promise<Command>>>>>;

/** Runs one command line and ends the process with its exit code. */
export async function runCommandLine(groups: CommandGroups, words: readonly string[]): Promise<void> {
  const shutdown = listenForShutdown((line) => createOutput(streams, words.includes("--json")).note(line));
  const [out, err] = [outletOf(1), outletOf(2)];
  const reader = { lasts: false, hasGone: false };
  out.whenClosed(() => {
    reader.hasGone = true;
    if (!reader.lasts) shutdown.request("the reader of the output has gone"); // RU2
  });
  const streams: Streams = {
    out: out.write,
    err: err.write,
    lasts: () => {
      reader.lasts = true;
      for (const outlet of [out, err]) outlet.bound();
    },
    screens: () => ({ out: screenOf(process.stdout), err: screenOf(process.stderr) }),
  };
  let code = await runWords(groups, words, streams, shutdown.signal);
  // What was written must have left before the process goes; an open handle must not keep it.
  if (!reader.lasts && out.failure() === undefined)
    await new Promise((resolve) => process.stdout.write("", resolve));
  if (!reader.lasts && !reader.hasGone && out.failure() !== undefined) {
    createOutput(streams, words.includes("--json")).fail(unwritten(out.failure())); // RU3
    code = 1;
  }
  flushCompileCache(); // Else the exit would, which is not given long: of a first start that is hundreds of files.
  // What was asked to end and ended well is a success: a host that drained, for example.
  process.exit((reader.hasGone && !reader.lasts) || code === 0 ? 0 : (shutdown.exitCode() ?? code));
}

const unwritten = (error: Error | undefined): MeshError =>
  new MeshError("STORAGE_FULL", `what the command has to say could not be written: ${describeError(error)}`, {
    cause: error,
    remedy: "Free space where stdout goes to, or write it elsewhere. What the command has done is done.",
  });

/**
 * Runs one command line in this process and resolves to its exit code; what it says goes to `streams`. Never rejects.
 * The signal asks it to end.
 */
export async function runWords(
  groups: CommandGroups,
  words: readonly string[],
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  const output = createOutput(streams, words.includes("--json"));
  try {
    const { name, rest } = splitWords(words);
    if (name === undefined) {
      if (words.includes("--version")) output.print({ version: packageVersion() }, packageVersion);
      else streams.out(`${await overallHelp(groups)}\n`);
      return words.length === 0 ? 2 : 0;
    }
    const load = Object.values(groups).find((group) => Object.hasOwn(group, name))?.[name];
    if (load === undefined)
      throw new MeshError(
        "USAGE",
        `there is no command "${name}"${didYouMean(name, Object.values(groups).flatMap(Object.keys))}`,
        {
          remedy: "`sagamesh --help` lists the commands.",
        },
      );
    const command = await load();
    const { args, globals } = readArgs(command, rest);
    if (globals.help) {
      streams.out(`${commandHelp(command)}\n`);
      return 0;
    }
    if (command.serves === true) streams.lasts?.();
    const given = await readGiven(command, args, signal);
    return await command.run(given as never, { config: readConfig(globals), output, signal });
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 1; // Asked to end; nothing to explain.
    output.fail(error);
    return isUsageError(error) ? 2 : 1;
  }
}

/** The command's name and the words around it: options that all commands share may stand before it. */
function splitWords(words: readonly string[]): { name: string | undefined; rest: readonly string[] } {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (!word.startsWith("-")) return { name: word, rest: words.toSpliced(index, 1) };
    if (word === "--") break;
    const shared = Object.entries(globalOptions).find(([name]) => word === `--${name}`);
    if (shared !== undefined && shared[1].type === "string") index += 1;
    else if (shared === undefined && word !== "-h" && word !== "--version" && !word.includes("="))
      throw new MeshError("USAGE", `unknown option ${word}`, {
        remedy: "`sagamesh --help` lists the commands.",
      });
  }
  return { name: undefined, rest: [] };
}

async function overallHelp(groups: CommandGroups): Promise<string> {
  const width = maxOf(
    Object.values(groups)
      .flatMap(Object.keys)
      .map((name) => name.length),
  );
  const listed: string[] = [];
  for (const [title, group] of Object.entries(groups)) {
    const all = await Promise.all(Object.values(group).map((load) => load()));
    listed.push("", `${title}:`, ...all.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`));
  }
  const shared = Object.entries(globalOptions).map(
    ([name, option]) => [`--${name}${"hint" in option ? ` ${option.hint}` : ""}`, option.help] as const,
  );
  return [
    "sagamesh: a durable runtime for AI agents on NATS JetStream",
    "",
    "Usage: sagamesh COMMAND [ARGUMENTS] [--help]",
    ...listed,
    "",
    "Options of every command:",
    ...columns(shared),
    "",
    "Environment: NATS_URL, SAGAMESH_DATA, SAGAMESH_CACHE, SAGAMESH_INDEX_URL, SAGAMESH_GATEWAY_URL, SAGAMESH_GATEWAY_SECRET, SAGAMESH_CALLBACK_URL, SAGAMESH_REPLICAS, SAGAMESH_HOST_NKEY, SAGAMESH_NKEY, SAGAMESH_HELD_MAX_MS, SAGAMESH_RESERVE_MB, SAGAMESH_FOLDS_TWICE, SAGAMESH_WEIGHT, SAGAMESH_HEALTH_PORT, SAGAMESH_HEALTH_HOST, LOG_LEVEL, ANTHROPIC_API_KEY",
    "Exit codes: 0 done, 1 the saga or check failed, 2 bad usage",
    "",
    "Example: sagamesh up --app app.ts",
  ].join("\n");
}

/** Node's own rules say whether it takes colours: a terminal, NO_COLOR, FORCE_COLOR. */
const screenOf = (stream: NodeJS.WriteStream): Screen => ({
  columns: stream.isTTY && stream.columns > 0 ? stream.columns : undefined,
  colours: styleText("red", "x", { stream }) !== "x",
});
