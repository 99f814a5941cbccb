/**
 * Adopt: a machine as it was written for XState, with what it does bound from outside: its promises become tools, its
 * actions calls of tools or lines of the host's log. Its states, guards and functions stay as they are.
 *
 * OZ1 Nothing of the machine is changed: what comes out is a copy with other implementations.
 * OZ2 An action that is a tool is a call that goes on beside the machine, so it is refused where the machine ends: there
 *     it would never begin.
 */
import { type AnyStateMachine, type AnyStateNode, enqueueActions, log } from "xstate";
import type { Effect } from "../../protocol/tool.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import { type ToolSpec, toolsOf } from "../contract/tools-of.ts";
import type { Tool } from "../contract/tool.ts";
import { type Callable, toActors } from "../machine/callable.ts";
import { notThere, promiseWithin } from "../machine/foreign.ts";
import { isOwnAction } from "../machine/faults.ts";
import { nodesOf } from "../machine/snapshot.ts";

/** What is said of a promise or an action: the class of its effect, or with it what a tool says besides. */
export type EffectWords = Effect | (Omit<ToolSpec, "perform"> & { readonly effect: Effect });

/** What `adoptMachine` is told, by the names that the machine uses. */
export interface AdoptWords {
  /** Stands before the name of each tool, so that those of two machines in one application never collide. */
  readonly space?: string;
  /** Promises: what may be done when nobody knows whether it happened. */
  readonly effects?: Readonly<Record<string, EffectWords>>;
  /**
   * Actions that are functions of the author's own. `log`: what it prints becomes a line of the host's log, and it does
   * nothing else. Else it is a tool that is called with `{ context, event, params }` and not waited for.
   */
  readonly actions?: Readonly<Record<string, EffectWords | "log">>;
  /** In place of whatever stands there: sagas for machines, questions for prompts, tools of your own. */
  readonly actors?: Readonly<Record<string, Callable>>;
  /** Delays that the machine names and nothing declares, in milliseconds. XState takes one as none. */
  readonly delays?: Readonly<Record<string, number>>;
}

/**
 * A machine of plain XState for `defineSaga`, by a word about each of its effects. The machine goes on saying its own names;
 * a tool's name is `space__name`, in camel case where a name holds what a tool's may not. Throws APP_INVALID with every word that fits nothing in the
 * machine; what is left unsaid, `defineSaga` tells.
 *
 * @example
 * adoptMachine(lending, { space: "lending", effects: { "Get status": "read", "Send mail": "once" }, actions: { note: "log" } });
 */
export function adoptMachine<M extends AnyStateMachine>(machine: M, words: AdoptWords): M {
  const { space, effects = {}, actions = {}, actors = {}, delays = {} } = words;
  const faults = faultsOfWords(machine, words);
  const specs = new Map<string, ToolSpec>();
  const toolOf = new Map<string, string>();
  const add = (src: string, name: string, said: EffectWords, perform: ToolSpec["perform"]): void => {
    const key = nameFrom(name);
    if (specs.has(key)) faults.push(`two effects come to be named "${key}"; bind one of them by \`actors\``);
    specs.set(key, { ...(typeof said === "string" ? { effect: said } : said), perform });
    toolOf.set(src, key);
  };
  for (const [name, said] of Object.entries(effects))
    add(name, name, said, machine.implementations.actors[name] as never); // Proof: a promise, or told above.
  const called: Record<string, unknown> = {};
  for (const [name, said] of Object.entries(actions)) {
    const action = machine.implementations.actions[name] as OwnAction;
    if (said === "log") called[name] = printing(action);
    else {
      add(srcOfAction(name), name, said, performing(action));
      called[name] = calling(srcOfAction(name));
    }
  }
  if (faults.length > 0)
    throw new MeshError(
      "APP_INVALID",
      `the machine "${machine.id}" cannot be adopted so: ${faults.join("; ")}`,
    );
  const named = Object.fromEntries(specs);
  const tools: Readonly<Record<string, Tool>> = space === undefined ? toolsOf(named) : toolsOf(space, named);
  const bound = [...toolOf].map(([src, key]) => [src, tools[key]] as const);
  const all = { ...Object.fromEntries(bound), ...actors } as Record<string, Callable>; // Proof: each key of toolOf is a spec's.
  // Proof: names of the machine's own, bound to what stands for them; AnyStateMachine types none of it.
  return machine.provide({ actors: toActors(all), actions: called, delays } as never) as M;
}

/** A name that a tool may have: words of letters and digits in camel case. */
export function nameFrom(text: string): string {
  if (/^[a-zA-Z][a-zA-Z0-9_-]*$/.test(text)) return text;
  const words = text.split(/[^a-zA-Z0-9_]+/).filter((word) => word !== "");
  const joined = words.map((word, k) => (k === 0 ? lowerFirst(word) : upperFirst(word))).join("");
  return /^[a-zA-Z]/.test(joined) ? joined : `x${joined}`;
}

const lowerFirst = (word: string): string => word.slice(0, 1).toLowerCase() + word.slice(1);
const upperFirst = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

interface Acted {
  readonly context: unknown;
  readonly event: unknown;
}
type OwnAction = (
  given: Acted & { readonly self: unknown; readonly system: unknown },
  params: unknown,
) => unknown;

/** Its actor has a name that no author's has. */
const srcOfAction = (name: string): string => `action ${name}`;

const absent = () => ({ self: notThere("self"), system: notThere("system") });

/** The body of the tool that an action becomes. What an action returns is nothing to XState. */
const performing =
  (action: OwnAction) =>
  ({ context, event, params }: Acted & { readonly params?: unknown }): Promise<void> =>
    // eslint-disable-next-line no-restricted-syntax -- a body, which performers call and no fold
    Promise.resolve(action({ context, event, ...absent() }, params)).then(() => undefined);

/** The action that calls it: under one id however often, for what is spawned later under an id stops nothing. */
const calling = (src: string): unknown =>
  enqueueActions(({ context, event, enqueue }, params: unknown) => {
    const input = {
      context: context as unknown,
      event: event as unknown,
      ...(params !== undefined && { params }),
    };
    enqueue.spawnChild(src as never, { id: src, input }); // Proof: bound above; XState types no actor here.
  });

const printing = (action: OwnAction): unknown =>
  log(({ context, event }, params: unknown) =>
    printedBy(() => action({ context: context, event: event, ...absent() }, params)),
  );

/** What a function writes to the console, one line each, which goes there no more. */
function printedBy(run: () => unknown): string {
  const lines: string[] = [];
  const print = (...said: unknown[]): void => void lines.push(said.map(wordOf).join(" "));
  const console = globalThis.console as unknown as Record<string, unknown>; // eslint-disable-line no-restricted-globals -- put back before this returns
  const names = ["log", "info", "warn", "error", "debug"];
  const own = names.map((name) => console[name]);
  try {
    for (const name of names) console[name] = print;
    run();
    return lines.join("\n");
  } finally {
    for (const [k, name] of names.entries()) console[name] = own[k];
  }
}

function wordOf(said: unknown): string {
  if (typeof said === "string") return said;
  if (said instanceof Error) return describeError(said);
  return JSON.stringify(said) ?? String(said);
}

/** All that is said of what the machine has not, and OZ2. */
function faultsOfWords(
  machine: AnyStateMachine,
  { effects = {}, actions = {}, actors = {} }: AdoptWords,
): string[] {
  const { actors: logics, actions: own } = machine.implementations;
  const faults: string[] = [];
  const missing = (what: string, name: string, names: readonly string[]) =>
    faults.push(`it has no ${what} "${name}"${didYouMean(name, names)}`);
  for (const name of Object.keys(effects)) {
    const logic: unknown = Object.hasOwn(logics, name) ? logics[name] : undefined;
    if (logic === undefined) missing("actor", name, Object.keys(logics));
    else if (promiseWithin(logic) === undefined)
      faults.push(`the actor "${name}" is no promise; bind it by \`actors\``);
  }
  for (const [name, said] of Object.entries(actions)) {
    const action: unknown = Object.hasOwn(own, name) ? own[name] : undefined;
    if (action === undefined) missing("action", name, Object.keys(own));
    else if (!isOwnAction(action))
      faults.push(`the action "${name}" is one of XState's own and stays as it is`);
    else if (said !== "log") faults.push(...whereItEnds(machine, name));
  }
  const invoked = nodesOf(machine.root).flatMap(({ invoke }) => invoke.map(({ src }) => src as unknown));
  for (const name of Object.keys(actors))
    if (!Object.hasOwn(logics, name) && !invoked.includes(name)) missing("actor", name, Object.keys(logics));
  return faults;
}

/** OZ2: the states and transitions at which the machine ends, as far as its configuration tells, that name the action. */
export function whereItEnds({ root }: AnyStateMachine, name: string): string[] {
  const names = (actions: readonly unknown[]) =>
    actions.some(
      (one) =>
        one === name || (typeof one === "object" && one !== null && "type" in one && one.type === name),
    );
  const isEnd = (node: AnyStateNode) => node.parent === root && node.type === "final";
  const never = (where: string) =>
    `the action "${name}" stands ${where}, where the machine ends and what it begins is left: call it in a state before`;
  return nodesOf(root).flatMap((node) => [
    ...(isEnd(node) && names(node.entry) ? [never(`at the entry of "${node.id}"`)] : []),
    ...[...node.transitions.values(), node.always ?? []].flat().flatMap((one) => {
      const ends = (one.target ?? []).find(isEnd);
      return ends !== undefined && (names(one.actions) || names(node.exit))
        ? [never(`on the way from "${node.id}" to "${ends.id}"`)]
        : [];
    }),
  ]);
}
