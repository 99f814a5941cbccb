/**
 * Command: what a command declares, how its words are read, and its help.
 *
 * Node's own `parseArgs` reads the words: it is strict, so an option that is not declared is refused instead of
 * being dropped, and an option may be given more than once.
 *
 * CF1 Bad usage is a USAGE error that names the word and the command's help.
 */
import { parseArgs } from "node:util";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { maxOf } from "../../../protocol/extremes.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import type { CommandContext } from "./context.ts";

/**
 * What a shell may offer for a word (telling/completion.ts): what it is one of, or the names of files or folders. Of an
 * option its hint FILE or DIR says so as well. The command itself refuses what it does not take.
 */
export interface Offered {
  readonly choices?: readonly string[];
  readonly paths?: "files" | "folders";
}

export interface Option extends Offered {
  readonly type: "string" | "boolean";
  readonly help: string;
  /** What stands for the value in the help, for example FILE. */
  readonly hint?: string;
  readonly required?: true;
  readonly multiple?: true;
  /** It holds JSON, or of a pair what stands after the `=`: it may be in a file, or on standard input (given.ts). */
  readonly json?: "whole" | "pair";
}

export interface Positional extends Offered {
  readonly help: string;
  readonly optional?: true;
  /** Any number of words, or none; the last one only. */
  readonly multiple?: true;
  /** It holds JSON, which may be in a file, or on standard input (given.ts). */
  readonly json?: "whole";
}

type Options = Readonly<Record<string, Option>>;
type Positionals = Readonly<Record<string, Positional>>;

type ValueOf<O extends Option> = O extends { type: "boolean" }
  ? boolean
  : O extends { multiple: true }
    ? readonly string[] | undefined
    : O extends { required: true }
      ? string
      : string | undefined;

export type ArgsOf<P extends Positionals, O extends Options> = {
  readonly [K in keyof P]: P[K] extends { multiple: true }
    ? readonly string[]
    : P[K] extends { optional: true }
      ? string | undefined
      : string;
} & { readonly [K in keyof O]: ValueOf<O[K]> };

export interface Command<P extends Positionals = Positionals, O extends Options = Options> {
  readonly name: string;
  readonly summary: string;
  /** More than one line of help, where needed. */
  readonly details?: string;
  /** In the order in which they are written. */
  readonly positionals: P;
  readonly options: O;
  /** Options of every command that mean nothing to this one, and are refused. */
  readonly without?: readonly (keyof typeof globalOptions)[];
  /** It lasts, whoever reads what it says: that stdout is closed or full does not end it. */
  readonly serves?: true;
  readonly examples: readonly string[];
  /** The exit code: 0 done, 1 the saga or check failed. Bad usage is thrown. */
  run(args: ArgsOf<P, O>, context: CommandContext): Promise<number>;
}

/** A command with the types of its words inferred. */
export const defineCommand = <const P extends Positionals, const O extends Options>(
  command: Command<P, O>,
): Command => command; // `readArgs` makes the arguments from the same declarations.

/** Understood by every command. */
export const globalOptions = {
  server: { type: "string", hint: "URL", help: "the NATS server; else NATS_URL, else the embedded one" },
  data: { type: "string", hint: "DIR", help: "data folder of the embedded server; else SAGAMESH_DATA" },
  json: { type: "boolean", help: "for programs: JSON documents, one per line where there are many" },
  help: { type: "boolean", help: "show this" },
} as const satisfies Options;

export interface GlobalArgs {
  readonly server: string | undefined;
  readonly data: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** What the command takes of the options of every command. */
export const sharedOptions = ({ without = [] }: Command): Options =>
  Object.fromEntries(
    Object.entries(globalOptions).filter(([name]) => !(without as readonly string[]).includes(name)),
  );

/** Reads a command's words. Throws USAGE. */
export function readArgs(
  command: Command,
  words: readonly string[],
): { args: Record<string, unknown>; globals: GlobalArgs } {
  const remedy = `See sagamesh ${command.name} --help.`;
  const usage = (what: string) => new MeshError("USAGE", `${command.name}: ${what}`, { remedy });
  const { values, positionals } = parse(command, words, usage);
  const globals = { json: false, help: false, ...pick(values, Object.keys(globalOptions)) } as GlobalArgs; // Of these options.
  if (globals.help) return { args: {}, globals };
  const names = Object.keys(command.positionals);
  const takesMore = Object.values(command.positionals).at(-1)?.multiple === true;
  const missing = names.filter((name, index) => {
    const { optional, multiple } = command.positionals[name] ?? {};
    return positionals[index] === undefined && optional !== true && multiple !== true;
  });
  if (missing.length > 0)
    throw usage(`${missing.map(placeholder).join(" and ")} ${missing.length === 1 ? "is" : "are"} missing`);
  if (positionals.length > names.length && !takesMore)
    throw usage(`"${positionals[names.length] ?? ""}" is one word too many; quote values that hold spaces`);
  for (const [name, option] of Object.entries(command.options))
    if (option.required === true && values[name] === undefined)
      throw usage(`--${name} ${option.hint ?? "VALUE"} is missing`);
  const flags = Object.entries(command.options).map(([name, { type }]) => [
    name,
    values[name] ?? (type === "boolean" ? false : undefined),
  ]);
  return {
    args: Object.fromEntries([
      ...names.map((name, index) => [
        name,
        command.positionals[name]?.multiple === true ? positionals.slice(index) : positionals[index],
      ]),
      ...flags,
    ]) as Record<string, unknown>,
    globals,
  };
}

function parse(command: Command, words: readonly string[], usage: (what: string) => MeshError) {
  const options = Object.fromEntries(
    Object.entries({ ...sharedOptions(command), ...command.options } as Options).map(
      ([name, { type, multiple }]) => [
        name,
        { type, multiple: multiple === true, ...(name === "help" ? { short: "h" } : {}) },
      ],
    ),
  );
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    const unknown = /^Unknown option '--([^']+)'/.exec(describeError(error))?.[1];
    const hint = unknown === undefined ? "" : didYouMean(unknown, Object.keys(options));
    throw usage(`${lowerFirst(describeError(error).split(". ")[0] ?? "")}${hint}`);
  }
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
const pick = (values: object, names: readonly string[]) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
/** A positional as the help names it. */
export const placeholder = (name: string): string => name.toUpperCase();

/** The help of one command, with an example. */
export function commandHelp(command: Command): string {
  const positionals = Object.entries(command.positionals);
  const usage = [
    `sagamesh ${command.name}`,
    ...positionals.map(([name, { optional, multiple }]) =>
      multiple === true
        ? `[${placeholder(name)} ...]`
        : optional === true
          ? `[${placeholder(name)}]`
          : placeholder(name),
    ),
    ...Object.entries(command.options).map(([name, option]) =>
      option.required === true ? optionWord(name, option) : `[${optionWord(name, option)}]`,
    ),
  ].join(" ");
  const rows = [
    ...positionals.map(([name, one]) => [placeholder(name), helpOf(one)] as const),
    ...Object.entries(command.options).map(
      ([name, option]) => [optionWord(name, option), helpOf(option)] as const,
    ),
    ...Object.entries(sharedOptions(command)).map(
      ([name, option]) => [optionWord(name, option), option.help] as const,
    ),
  ];
  return [
    command.summary,
    ...(command.details === undefined ? [] : ["", command.details]),
    "",
    `Usage: ${usage}`,
    "",
    ...columns(rows),
    "",
    ...command.examples.map((example) => `Example: ${example}`),
  ].join("\n");
}

/** What the help of a word adds that may be given in another way (given.ts). */
const givenHelp = "; @FILE or - (standard input) in its place";

const helpOf = ({ help, json }: Option | Positional): string =>
  json === undefined ? help : `${help}${givenHelp}`;

const optionWord = (name: string, option: Option): string =>
  `--${name}${option.type === "boolean" ? "" : ` ${option.hint ?? "VALUE"}`}${option.multiple === true ? " ..." : ""}`;

/** Rows of two columns, indented. */
export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = maxOf(rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
