/**
 * Skeleton: the application file of a machine, with a word about each of its effects.
 *
 * KG1 What it writes compiles and loads where the machine needs no change. The machine is imported, never copied.
 */
import { dirname, relative } from "node:path";
import { nameFrom } from "../../actors/saga/adopt.ts";
import type { MachineCheck } from "../../protocol/documents/check.ts";

/** A machine with its needs, and those of the machines in it, by the names that it invokes them by. */
export interface Needs {
  readonly check: MachineCheck;
  readonly inner: readonly (readonly [string, Needs])[];
}

/** The text of a file `target` for machines that `source` exports. Both are paths from one folder. */
export function skeletonOf(source: string, target: string, machines: readonly Needs[]): string {
  const exported = machines.flatMap(({ check }) => check.export ?? []);
  const taken = new Set<string>();
  const parts = machines.flatMap((needs) => {
    const { check } = needs;
    const name = check.export === "default" || check.export === undefined ? check.id : check.export;
    return sagaText(needs, importedAs(check), uniqueIn(taken, nameFrom(name)), taken);
  });
  const sagas = parts.filter(({ isTop }) => isTop).map(({ variable }) => variable);
  const from = relative(dirname(target), source).replaceAll("\\", "/");
  const specifier = JSON.stringify(from.startsWith(".") ? from : `./${from}`);
  const names = exported.map((name) => (name === "default" ? "default as plain" : name)).join(", ");
  return [
    `/**`,
    ` * The machines of ${from} as sagas. Of each effect say what may be done when no process knows whether it happened:`,
    ` * "read" and "idempotent" are run again, of "probe" the outside is asked, "once" is never run again.`,
    ` */`,
    `import type { AnyStateMachine } from "xstate";`,
    `import { z } from "zod";`,
    `import { adoptMachine, defineApp, defineSaga } from "sagamesh";`,
    `import { ${names} } from ${specifier};`,
    "",
    ...parts.map(({ text }) => text),
    `export default defineApp({ sagas: [${sagas.join(", ")}] });`,
    "",
  ].join("\n");
}

const importedAs = ({ export: name = "default" }: MachineCheck): string =>
  name === "default" ? "plain" : name;

interface Part {
  readonly variable: string;
  readonly text: string;
  readonly isTop: boolean;
}

/** Of the machines in it first, which it names. */
function sagaText(
  { check, inner }: Needs,
  machine: string,
  name: string,
  taken: Set<string>,
  isTop = true,
): Part[] {
  const below = inner.map(([key, needs]) => {
    const own = uniqueIn(taken, `${name}-${nameFrom(key)}`);
    const parts = sagaText(
      needs,
      `${machine}.implementations.actors[${quoted(key)}] as AnyStateMachine`,
      own,
      taken,
      false,
    );
    return { key, parts };
  });
  const promises = check.effects.filter(({ kind }) => kind === "promise");
  const words = [
    `  space: ${quoted(nameFrom(name))},`,
    ...table(
      "effects",
      promises.map((one) => [one.name, `"once"`] as const),
    ),
    ...table(
      "actions",
      check.actions.map((one) => [one.name, one.as === "log" ? `"log"` : `"once"`] as const),
    ),
    ...table(
      "delays",
      Object.entries(check.delays).map(([delay, ms]) => [delay, `${ms}`] as const),
    ),
    ...table(
      "actors",
      below.map(({ key, parts }) => [key, parts.at(-1)?.variable ?? ""] as const),
    ),
  ];
  const variable = `${variableOf(name)}Saga`;
  const text = [
    `${isTop ? "export " : ""}const ${variable} = defineSaga({`,
    `  name: ${quoted(name)},`,
    `  version: 1,`,
    `  input: ${check.input.length === 0 ? "z.unknown()" : looseObject(check.input)},`,
    `  output: z.unknown(),`,
    ...(check.signals.length === 0
      ? []
      : [
          `  signals: {`,
          ...check.signals.map((one) => `    ${keyed(one.name)}: ${looseObject(one.members)},`),
          `  },`,
        ]),
    `  machine: adoptMachine<AnyStateMachine>(${machine}, {`,
    ...words.map((line) => `  ${line}`),
    `  }),`,
    `});`,
    "",
  ].join("\n");
  return [...below.flatMap(({ parts }) => parts), { variable, text, isTop }];
}

const table = (name: string, rows: readonly (readonly [string, string])[]): string[] =>
  rows.length === 0
    ? []
    : [`  ${name}: {`, ...rows.map(([key, value]) => `    ${keyed(key)}: ${value},`), "  },"];

const looseObject = (members: readonly string[]): string =>
  members.length === 0
    ? "z.looseObject({})"
    : `z.looseObject({ ${members.map((member) => `${keyed(member)}: z.unknown()`).join(", ")} })`;

const quoted = (text: string): string => JSON.stringify(text);
const keyed = (name: string): string => (/^[a-zA-Z_$][\w$]*$/.test(name) ? name : quoted(name));
const variableOf = (name: string): string =>
  name.replaceAll(/[^\w]+(\w)/g, (_, next: string) => next.toUpperCase());

function uniqueIn(taken: Set<string>, name: string): string {
  let unique = name;
  for (let k = 2; taken.has(unique); k++) unique = `${name}${k}`;
  taken.add(unique);
  return unique;
}
