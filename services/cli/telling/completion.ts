/**
 * Completion: what a shell reads to complete the words of the command line, made from what the commands declare.
 *
 * XS1 What is offered is what the table of commands has: no name of a command, option or choice is written here.
 * XS2 A help text is quoted for its shell: nothing of it is run when the shell reads the script.
 */
import {
  type Command,
  globalOptions,
  type Offered,
  type Option,
  placeholder,
  sharedOptions,
} from "../frame/command.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script for this shell. Its last line ends without a line end. */
export function completionFor(shell: Shell, commands: readonly Command[]): string {
  const words = commands.map(wordsOf);
  switch (shell) {
    case "bash":
      return bash(words);
    case "zsh":
      return zsh(words);
    case "fish":
      return fish(words);
  }
}

interface Words {
  readonly name: string;
  readonly summary: string;
  readonly places: readonly Place[];
  readonly options: readonly NamedOption[];
}

interface Place extends Offered {
  readonly name: string;
  readonly optional: boolean;
  readonly multiple: boolean;
}

interface NamedOption extends Option {
  readonly name: string;
}

const wordsOf = (command: Command): Words => ({
  name: command.name,
  summary: command.summary,
  places: Object.entries(command.positionals).map(([name, { optional, multiple, ...offered }]) => ({
    ...offered,
    ...{ name, optional: optional === true, multiple: multiple === true },
  })),
  options: namedOptions({ ...command.options, ...sharedOptions(command) }),
});

const namedOptions = (options: Readonly<Record<string, Option>>): NamedOption[] =>
  Object.entries(options).map(([name, option]) => ({ ...option, name, ...pathsOf(option) }));

/** An option's hint says that it names a file or folder. */
function pathsOf({ paths, hint }: Option): Pick<Offered, "paths"> {
  if (paths !== undefined) return { paths };
  if (hint === "FILE") return { paths: "files" };
  return hint === "DIR" ? { paths: "folders" } : {};
}

/** In single quotes, as bash and zsh read them. XS2. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Of what stands at a place or after an option: `words …`, `files`, `folders` or `any`. */
const bashKind = ({ choices, paths }: Offered): string =>
  choices === undefined ? (paths ?? "any") : `words ${choices.join(" ")}`;

function bash(all: readonly Words[]): string {
  const before = { name: "", summary: "", places: [], options: namedOptions(globalOptions) };
  const cases = [before, ...all].flatMap(({ name, places, options }) => [
    `    ${name}:options) known=${quoted(`words ${options.map((one) => `--${one.name}`).join(" ")}`)} ;;`,
    ...options
      .filter(({ type }) => type === "string")
      .map((option) => `    ${name}:--${option.name}) known=${quoted(bashKind(option))} ;;`),
    ...places.map(
      (place, index) =>
        `    ${name}:${place.multiple ? "[0-9]*" : String(index + 1)}) known=${quoted(bashKind(place))} ;;`,
    ),
  ]);
  return bashScript
    .replace("COMMANDS", () => all.map(({ name }) => name).join(" "))
    .replace("    CASES", () => cases.join("\n"));
}

/**
 * The words before the one that is typed say which command it is and what stands there. Bash takes `=` and `:` as words of
 * their own: after an option they belong to it, elsewhere they glue what is around them.
 */
const bashScript = `# sagamesh: source <(sagamesh completion bash)
_sagamesh_known() {
  known=''
  case $1 in
    :1) known='words COMMANDS' ;;
    CASES
  esac
  [[ $known ]]
}
_sagamesh() {
  local current=\${COMP_WORDS[COMP_CWORD]} command='' option='' glued='' place=1 known='' at word
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    if [[ $word == [=:] ]]; then
      [[ $option ]] || glued=1
    elif [[ $glued ]]; then
      glued=''
    elif [[ $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      if _sagamesh_known "$command:$word"; then option=$word; fi
    elif [[ ! $command ]]; then
      command=$word
    else
      place=$((place + 1))
    fi
  done
  COMPREPLY=()
  if [[ $glued ]]; then return; fi
  if [[ $current == [=:] ]]; then
    if [[ ! $option ]]; then return; fi
    current=''
  fi
  if [[ $option ]]; then
    _sagamesh_known "$command:$option"
  elif [[ $current == -* ]]; then
    _sagamesh_known "$command:options"
  else
    _sagamesh_known "$command:$place"
  fi
  local IFS=$' \\n'
  case $known in
    words*) COMPREPLY=($(compgen -W "\${known#words }" -- "$current")) ;;
    files) _sagamesh_paths default -f ;;
    folders) _sagamesh_paths dirnames -d ;;
  esac
}
_sagamesh_paths() { # As readline does it, which quotes them; an older bash has no compopt.
  local IFS=$'\\n'
  compopt -o "$1" 2>/dev/null || COMPREPLY=($(compgen "$2" -- "$current"))
}
complete -F _sagamesh sagamesh`;

/** What zsh does at such a word. */
function zshAction({ choices, paths }: Offered): string {
  if (choices !== undefined) return `(${choices.join(" ")})`;
  if (paths === undefined) return " ";
  return paths === "files" ? "_files" : "_files -/";
}

/** A colon ends a part of a specification, a bracket its description. */
const zshPart = (text: string): string => text.replaceAll(/[\\:[\]]/g, String.raw`\$&`);

function zsh(all: readonly Words[]): string {
  const option = (one: NamedOption) => {
    const value = one.type === "boolean" ? "" : `:${zshPart(one.hint ?? "VALUE")}:${zshAction(one)}`;
    return quoted(`${one.multiple === true ? "*" : ""}--${one.name}[${zshPart(one.help)}]${value}`);
  };
  const place = (one: Place) =>
    quoted(
      `${one.multiple ? "*:" : one.optional ? "::" : ":"}${zshPart(placeholder(one.name))}:${zshAction(one)}`,
    );
  return [
    "#compdef sagamesh",
    "# sagamesh: source <(sagamesh completion zsh), or keep it as _sagamesh in a folder of fpath",
    "_sagamesh() {",
    "  local curcontext=$curcontext state line",
    "  typeset -A opt_args",
    "  local -a commands",
    "  commands=(",
    ...all.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`),
    "  )",
    "  _arguments -C '1: :->command' '*:: :->words'",
    "  case $state in",
    "  command) _describe command commands ;;",
    "  words)",
    "    case $words[1] in",
    ...all.map(
      ({ name, places, options }) =>
        `    ${name}) _arguments -s ${[...options.map(option), ...places.map(place)].join(" ")} ;;`,
    ),
    "    esac ;;",
    "  esac",
    "}",
    'if [ "$funcstack[1]" = _sagamesh ]; then _sagamesh "$@"; else compdef _sagamesh sagamesh; fi',
  ].join("\n");
}

/** In single quotes, as fish reads them. XS2. */
const fishQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

/** The arguments that say what stands after an option, or at a place. */
function fishValue({ choices, paths }: Offered): string {
  if (choices !== undefined) return ` -x -a ${fishQuoted(choices.join(" "))}`;
  if (paths === undefined) return " -x";
  return paths === "files" ? " -r -F" : " -x -a '(__fish_complete_directories)'";
}

function fish(all: readonly Words[]): string {
  const of = (name: string, more = "") => `complete -c sagamesh -n '__sagamesh_is ${name}${more}'`;
  const option = (name: string, one: NamedOption) =>
    `${of(name)} -l ${one.name}${one.type === "boolean" ? "" : fishValue(one)} -d ${fishQuoted(one.help)}`;
  const place = (name: string, { choices, paths }: Place) => {
    if (choices !== undefined) {
      const words = choices.join(" ");
      return [`${of(name, `; and not __fish_seen_subcommand_from ${words}`)} -a '${words}'`];
    }
    if (paths === undefined) return [];
    return [`${of(name)} ${paths === "files" ? "-F" : "-a '(__fish_complete_directories)'"}`];
  };
  return [
    "# sagamesh: sagamesh completion fish > ~/.config/fish/completions/sagamesh.fish",
    "function __sagamesh_is",
    "  set -l words (commandline -opc)",
    '  test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"',
    "end",
    "complete -c sagamesh -f",
    ...all.flatMap(({ name, summary, places, options }) => [
      `complete -c sagamesh -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...options.map((one) => option(name, one)),
      ...places.flatMap((one) => place(name, one)),
    ]),
  ].join("\n");
}
