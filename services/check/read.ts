/**
 * Read: a file of plain XState, to the machines in it.
 *
 * XV1 No machine is started: what the file itself would start is held, so that a check has no effect but those of the file's
 *     own lines.
 * XV2 A machine is found that the file does not export, if it starts it.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { AnyStateMachine } from "xstate";
import { isMachine } from "../../actors/machine/foreign.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { loadRemedy } from "../app/load-remedy.ts";

/** The machines of a file, exported ones by their names. */
export interface MachineFile {
  readonly path: string;
  /** Whether its lines came to their end. */
  readonly isWhole: boolean;
  readonly machines: readonly { readonly name: string | undefined; readonly machine: AnyStateMachine }[];
  /** What the file starts when it is loaded, and what it sends meanwhile. */
  readonly started: readonly Started[];
}

/** An actor that was held. */
export interface Started {
  readonly logic: unknown;
  readonly input: unknown;
  readonly sent: { readonly type: string; readonly [member: string]: unknown }[];
}

/** How long the lines of a file may wait for something before its machines are looked at; those of examples wait seconds. */
const waitMs = 2_000;

/** What the stand-in for XState tells, under a name that no other module has. */
interface Seen {
  readonly started: Started[];
  file?: Readonly<Record<string, unknown>>;
  /** Told as the file's own lines begin: what they import is there. */
  begun(): void;
}
const seenAs = Symbol.for("sagamesh.check");

/** Throws FILE_UNREADABLE, MACHINE_FILE_INVALID. What the file prints is dropped. */
export async function readMachineFile(file: string, withinMs = waitMs): Promise<MachineFile> {
  const path = resolve(file);
  if (!existsSync(path)) throw new MeshError("FILE_UNREADABLE", `there is no file ${path}`);
  const reading = ++readings;
  const href = `${pathToFileURL(path).href}?sagamesh-reading=${reading}`; // A module is loaded once; each reading is of another.
  const begun = Promise.withResolvers<void>();
  const seen: Seen = { started: [], begun: begun.resolve };
  (globalThis as Record<symbol, unknown>)[seenAs] = seen;
  const hooks = registerHooks(hooksFor(href, `?sagamesh-check=${reading}`));
  const quiet = silenced();
  try {
    const loaded = import(href) as Promise<Readonly<Record<string, unknown>>>;
    // From there on: how long modules take to be found is the machine's own, and no wait of the file's.
    const late = begun.promise.then(() => sleep(withinMs));
    const whole = await Promise.race([loaded, late]);
    return { path, isWhole: whole !== undefined, ...machinesOf(whole ?? seen.file ?? {}, seen) };
  } catch (error) {
    throw invalid(file, error);
  } finally {
    quiet();
    hooks.deregister();
    Reflect.deleteProperty(globalThis, seenAs);
  }
}

function machinesOf(
  members: Readonly<Record<string, unknown>>,
  { started }: Seen,
): Pick<MachineFile, "machines" | "started"> {
  const machines = new Map<AnyStateMachine, string | undefined>();
  for (const name of Object.keys(members)) {
    const value = valueOf(members, name);
    if (isMachine(value) && (!machines.has(value) || name !== "default")) machines.set(value, name);
  }
  for (const { logic } of started)
    if (isMachine(logic) && !machines.has(logic)) machines.set(logic, undefined);
  return {
    machines: [...machines].map(([machine, name]) => ({ name, machine })),
    started,
  };
}

/** A member of a file that has not come to its end may not be there yet. */
function valueOf(members: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return members[name];
  } catch {
    return undefined;
  }
}

type Hooks = Parameters<typeof registerHooks>[0];

/** Of each reading another, for a module is loaded once. */
let readings = 0;

/**
 * XV1: for the file and what it imports, `xstate` is a module that says all that XState's does, but whose actors never begin. Where
 * none is installed beside the file it is ours.
 */
const hooksFor = (file: string, mark: string): Hooks => ({
  resolve: (specifier, context, next) => {
    const isXState = specifier === "xstate" || specifier.startsWith("xstate/");
    if (!isXState || context.conditions.includes("require")) return next(specifier, context);
    const real = (() => {
      try {
        return next(specifier, context);
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    })();
    const isOurs = context.parentURL?.endsWith(mark) === true;
    if (specifier !== "xstate" || isOurs) return real;
    return { url: `${real.url}${mark}`, format: "module", shortCircuit: true };
  },
  load: (url, context, next) =>
    url.endsWith(mark)
      ? { format: "module", source: heldXState(url.slice(0, -mark.length), file), shortCircuit: true }
      : next(url, context),
});

/** It imports the file that imports it: so the file's members are known before its lines have come to their end. */
const heldXState = (real: string, file: string): string => `
import * as real from ${JSON.stringify(real)};
import * as file from ${JSON.stringify(file)};
export * from ${JSON.stringify(real)};
const seen = globalThis[Symbol.for("sagamesh.check")];
if (seen) seen.file = file;
seen?.begun();
const held = (logic, options) => {
  const actor = real.createActor(logic, options);
  const sent = [];
  seen?.started.push({ logic, input: options?.input, sent });
  actor.start = () => actor;
  actor.send = (event) => void sent.push(event);
  return actor;
};
export const createActor = held;
export const interpret = held;
export const waitFor = () => new Promise(() => {});
export const toPromise = () => new Promise(() => {});
`;

/** Until it is called what is printed is dropped. */
function silenced(): () => void {
  const names = ["log", "info", "warn", "error", "debug"] as const;
  const own = { ...console };
  for (const name of names) console[name] = () => undefined;
  return () => void Object.assign(console, own);
}

const invalid = (file: string, error: unknown): MeshError =>
  new MeshError("MACHINE_FILE_INVALID", `${file} could not be loaded: ${describeError(error)}`, {
    cause: error,
    remedy: loadRemedy(file, error),
  });
