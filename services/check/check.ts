/**
 * Check: a file of plain XState, what its machines need, and the application file that would serve them.
 */
import type { AnyStateMachine } from "xstate";
import { configOf } from "../../actors/machine/chart.ts";
import type { CheckDocument } from "../../protocol/documents/check.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import { type MachineFile, readMachineFile, type Started } from "./read.ts";
import type { Needs } from "./skeleton.ts";
import { innerMachines, surveyOf } from "./survey.ts";

/** A machine of the file with its needs. */
export interface CheckedMachine {
  readonly machine: AnyStateMachine;
  readonly needs: Needs;
  /** What the file itself gives it and sends it, where it starts it. */
  readonly own: Started | undefined;
}

/** What was found: the file's own faults, and its machines. */
export interface CheckedFile extends Pick<CheckDocument, "changes"> {
  readonly machines: readonly CheckedMachine[];
}

/** Reads a file and looks at its machines, or at the one that it exports as `only`. Throws as `readMachineFile`, and USAGE. */
export async function checkFile(file: string, only?: string): Promise<CheckedFile> {
  const read = await readMachineFile(file);
  const machines = chosen(file, read, only);
  // Twice, where that does nothing but make the machines: what comes out otherwise is another machine in each process.
  const isQuiet = read.isWhole && read.started.length === 0;
  const again = isQuiet ? await readMachineFile(file).catch(() => undefined) : undefined;
  const hidden = machines.flatMap(({ name, machine }) =>
    name === undefined ? [`the machine "${machine.id}" is not exported: \`export const …\``] : [],
  );
  const starts =
    read.started.length > 0
      ? [
          "it starts an actor when it is loaded: move `createActor(…).start()` and what follows to a file of its own",
        ]
      : [];
  return {
    changes: [...hidden, ...starts],
    machines: machines.map(({ name, machine }) => ({
      machine,
      needs: withLoaded(needsOf(machine, name), again, { name, machine }),
      own: read.started.find(({ logic }) => logic === machine),
    })),
  };
}

function chosen(file: string, { machines }: MachineFile, only: string | undefined): MachineFile["machines"] {
  if (machines.length === 0)
    throw new MeshError("MACHINE_FILE_INVALID", `${file} exports no machine of XState`, {
      remedy:
        "Name the file that makes the machine, and have it export it: export const machine = setup({…}).createMachine({…}).",
    });
  const inner = new Set(machines.flatMap(({ machine }) => innerMachines(machine).map(([, one]) => one)));
  if (only === undefined) return machines.filter(({ machine }) => !inner.has(machine));
  const found = machines.filter(({ name }) => name === only);
  if (found.length > 0) return found;
  const names = machines.flatMap(({ name }) => name ?? []);
  throw new MeshError("USAGE", `${file} exports no machine "${only}"${didYouMean(only, names)}`, {
    remedy: `Its machines are ${names.join(", ")}.`,
  });
}

function needsOf(machine: AnyStateMachine, name: string | undefined): Needs {
  const inner = innerMachines(machine).map(([key, one]) => [key, needsOf(one, undefined)] as const);
  return { check: surveyOf(machine, name), inner };
}

/** What the machine's own text makes anew each time that its file is loaded, such as `context: { id: randomUUID() }`. */
function withLoaded(
  { check, inner }: Needs,
  again: MachineFile | undefined,
  { name, machine }: MachineFile["machines"][number],
): Needs {
  const other = again?.machines.find((one) => one.name === name)?.machine;
  const places = other === undefined ? [] : differing(configOf(machine), configOf(other), "");
  if (places.length === 0) return { check, inner };
  const instead =
    "a function in its place that takes now(), random() or uuid() of sagamesh, or a member of the input";
  const asks = ["the outside when the file is loaded, so that each process has another machine"];
  const found = places.map((where) => ({ where, asks, instead }));
  return { check: { ...check, verdict: "change", impure: [...check.impure, ...found] }, inner };
}

/** Where two values differ, `context.startedAt`. */
function differing(one: Json | undefined, other: Json | undefined, at: string): string[] {
  if (!isTree(one) || !isTree(other)) return one === other ? [] : [at];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differing(one[name], other[name], at === "" ? name : `${at}.${name}`));
}

const isTree = (value: Json | undefined): value is Record<string, Json> =>
  typeof value === "object" && value !== null;
