/**
 * Survey: what a machine of plain XState needs to be a saga, in the order in which it is done.
 *
 * SQ1 It calls no function of the machine: what functions read is found in their text, so an alias gets past, and what is
 *     found may be read under a condition only. A test mesh finds the rest.
 */
import type { AnyStateMachine } from "xstate";
import { z } from "zod";
import { type Callable, callableOf } from "../../actors/machine/callable.ts";
import { memorySignal } from "../../actors/contract/memory-spec.ts";
import { isReserved } from "../../actors/contract/reserved-signals.ts";
import { isOwnAction, machineFaults } from "../../actors/machine/faults.ts";
import { foreignKind, isMachine } from "../../actors/machine/foreign.ts";
import { nodesOf } from "../../actors/machine/snapshot.ts";
import { adoptMachine, nameFrom, whereItEnds } from "../../actors/saga/adopt.ts";
import type { MachineCheck } from "../../protocol/documents/check.ts";
import { Name } from "../../protocol/ids.ts";
import { namedValue, nameOf, type Piece, piecesOf, textsOf } from "./pieces.ts";

/** Its needs. `exported` is the name that its file gives it. */
export function surveyOf(machine: AnyStateMachine, exported?: string): MachineCheck {
  const pieces = piecesOf(machine);
  const effects = effectsOf(machine, pieces);
  const actions = actionsOf(machine, pieces);
  const signals = signalsOf(machine, pieces);
  const machines = innerMachines(machine).map(([name, inner]) => ({ name, ...surveyOf(inner) }));
  const changes = [
    ...actions.flatMap(({ name, as }) => (as === "tool" ? whereItEnds(machine, name) : [])),
    ...remainingFaults(machine, effects, actions),
    ...signals.flatMap(({ name, members }) => faultsOfSignal(name, members)),
    ...machines.flatMap((inner) => inner.changes.map((change) => `in the machine "${inner.id}", ${change}`)),
  ];
  const impure = [
    ...impureOf(machine, pieces),
    ...machines.flatMap((inner) =>
      inner.impure.map((one) => ({ ...one, where: `in the machine "${inner.id}", ${one.where}` })),
    ),
  ];
  const isReady = effects.length + actions.length + machines.length === 0;
  const verdict = changes.length + impure.length > 0 ? "change" : isReady ? "ready" : "wrap";
  return {
    ...(exported === undefined ? {} : { export: exported }),
    ...{
      id: machine.id,
      verdict,
      effects,
      actions,
      signals,
      input: inputOf(machine),
      timers: timersOf(machine),
    },
    ...{ impure, changes, delays: delaysOf(machine) },
    machines: machines.map((inner) => ({ name: inner.name, id: inner.id, verdict: inner.verdict })),
  };
}

/** The machines that it invokes by name, each once. */
export const innerMachines = (machine: AnyStateMachine): (readonly [string, AnyStateMachine])[] =>
  Object.entries(machine.implementations.actors as Record<string, unknown>).flatMap(([name, logic]) =>
    isMachine(logic) && logic !== machine ? [[name, logic] as const] : [],
  );

function effectsOf(machine: AnyStateMachine, pieces: readonly Piece[]): MachineCheck["effects"] {
  return Object.entries(machine.implementations.actors as Record<string, unknown>).flatMap(
    ([name, logic]) => {
      if (callableOf(logic) !== undefined) return [];
      const kind = foreignKind(logic);
      if (kind !== "promise" && kind !== "machine") return [];
      const invoking = nodesOf(machine.root).filter(({ invoke }) => invoke.some(({ src }) => src === name));
      const spawning = pieces.filter((piece) => spawns(namedValue(machine, piece), name));
      const where = [
        ...invoking.map(({ id }) => `the state "${id}"`),
        ...spawning.map((piece) => piece.where),
      ];
      return [{ name, kind, called: nameFrom(name), where }];
    },
  );
}

const spawns = (action: unknown, name: string): boolean =>
  typeof action === "function" && "src" in action && action.src === name;

/** Calls that print, and those that make a text of what is printed. */
const printing = /\bconsole\s*\.\s*\w+\s*\(/g;
const wording = /(?:\bJSON\.stringify|\bString|\.(?:toString|toFixed|toISOString|join))\s*\(/g;

/** Named ones; what stands inline is a fault, for it has no name to be bound by. */
function actionsOf(machine: AnyStateMachine, pieces: readonly Piece[]): MachineCheck["actions"] {
  return Object.entries(machine.implementations.actions as Record<string, unknown>).flatMap(
    ([name, action]) => {
      if (!isOwnAction(action)) return [];
      const where = pieces.filter(({ role, value }) => role === "action" && nameOf(value) === name);
      const as = onlyPrints(String(action)) ? ("log" as const) : ("tool" as const);
      return [{ name, as, called: nameFrom(name), where: [...new Set(where.map((piece) => piece.where))] }];
    },
  );
}

/** Beside what it prints nothing calls or assigns. In doubt it does more: a tool is right for either. */
function onlyPrints(text: string): boolean {
  const body = text.replace(/^[^]*?(?:=>|\)\s*\{)/, "");
  const rest = body.replace(printing, ";(").replace(wording, ";(");
  return rest !== body && !/\w\s*\(|[^=!<>]=[^=>]|\+\+|--|\b(?:await|delete|new)\b/.test(rest);
}

/** What the machine tells itself, and XState tells it. */
const isInner = (event: string): boolean => event.startsWith("xstate.") || event === "always" || event === "";

function signalsOf(machine: AnyStateMachine, pieces: readonly Piece[]): MachineCheck["signals"] {
  const raised = new Set(pieces.flatMap((piece) => raisedBy(namedValue(machine, piece))));
  const found = new Map<string, { where: Set<string>; members: Set<string> }>();
  for (const node of nodesOf(machine.root))
    for (const event of node.transitions.keys()) {
      if (isInner(event) || event.includes("*") || raised.has(event)) continue;
      const one = found.get(event) ?? { where: new Set(), members: new Set() };
      one.where.add(node.id);
      found.set(event, one);
    }
  for (const piece of pieces)
    for (const text of textsOf(namedValue(machine, piece)))
      for (const member of membersIn(text, "event")) found.get(piece.event ?? "")?.members.add(member);
  return [...found].map(([name, { where, members }]) => ({
    name,
    where: [...where],
    members: [...members].filter((member) => member !== "type"),
  }));
}

function raisedBy(action: unknown): string[] {
  if (typeof action !== "function") return [];
  const event: unknown = "event" in action ? action.event : undefined;
  const fixed = typeof event === "object" && event !== null && "type" in event ? [String(event.type)] : [];
  const isSent = "type" in action && action.type === "xstate.sendTo"; // To an actor, which is another machine.
  const texts = textsOf(action).flatMap((text) =>
    [...text.matchAll(/\braise\(\s*\{\s*type:\s*["'`]([^"'`]+)["'`]/g)].map(([, type = ""]) => type),
  );
  return [...(isSent ? [] : fixed), ...texts];
}

/** Members of an argument that a function's text reads: `event.a`, `event["a"]`, `({ event: { a } })`. */
function membersIn(text: string, name: string): string[] {
  const dotted = [...text.matchAll(new RegExp(`\\b${name}\\??\\.(\\w+)`, "g"))];
  const quoted = [...text.matchAll(new RegExp(`\\b${name}\\??\\.?\\[\\s*["'](\\w+)["']`, "g"))];
  const [, taken = ""] = new RegExp(`\\b${name}\\s*:\\s*\\{([^}]*)\\}`).exec(text) ?? [];
  const apart = taken.split(",").flatMap((one) => /^\s*(\w+)/.exec(one)?.[1] ?? []);
  return [...new Set([...[...dotted, ...quoted].flatMap(([, member]) => member ?? []), ...apart])];
}

const inputOf = (machine: AnyStateMachine): string[] =>
  textsOf(machine.config.context as unknown).flatMap((text) => membersIn(text, "input"));

function faultsOfSignal(name: string, members: readonly string[]): string[] {
  const bad = Name.safeParse(name).success
    ? []
    : [
        `the event "${name}" is no signal's name, which is a letter, then letters, digits, _ or -, and no dot: say "${nameFrom(name)}"`,
      ];
  const taken =
    isReserved(name) || name === memorySignal
      ? [
          `the event "${name}" is a signal that every saga has and takes by itself: name it otherwise, for example "user_${name}"`,
        ]
      : [];
  const whole = members.includes("data")
    ? [`the event "${name}" is read for \`data\`, where a saga's event has all of its data: read its members`]
    : [];
  return [...bad, ...taken, ...whole];
}

/** Delays that the machine names and nothing declares, where the name is a time as ISO 8601 writes it. */
export function delaysOf(machine: AnyStateMachine): Record<string, number> {
  const named = nodesOf(machine.root).flatMap((node) => node.after.map(({ delay }): unknown => delay));
  return Object.fromEntries(
    named.flatMap((name) => {
      if (typeof name !== "string" || Object.hasOwn(machine.implementations.delays, name)) return [];
      const ms = isoMs(name);
      return ms === undefined ? [] : [[name, ms] as const];
    }),
  );
}

/** A time of weeks, days, hours, minutes and seconds; months and years have no length. */
function isoMs(text: string): number | undefined {
  const parts = /^P(?:T?(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  if (parts === null || !/\d/.test(text)) return undefined;
  const lengths = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];
  return lengths.reduce((sum, length, k) => sum + length * Number(parts[k + 1] ?? 0), 0);
}

function timersOf(machine: AnyStateMachine): MachineCheck["timers"] {
  const given = delaysOf(machine);
  return nodesOf(machine.root).flatMap((node) =>
    node.after.map(({ delay }) => {
      const known: unknown =
        typeof delay === "string" ? (machine.implementations.delays[delay] ?? given[delay]) : delay;
      return {
        where: node.id,
        delay: typeof known === "number" ? known : typeof delay === "string" ? delay : "computed",
      };
    }),
  );
}

/** What in a function's text asks the outside, and what is asked in its place. */
const outside: readonly (readonly [RegExp, string, string])[] = [
  [
    /\bDate\.now\(|\bnew Date\(\s*\)|\bperformance\.now\(/,
    "the time",
    "now() of sagamesh, which is the time of the event",
  ],
  [/\bMath\.random\(|\brandomInt\(|\bgetRandomValues\(/, "chance", "random() of sagamesh"],
  [/\brandomUUID\(|\bnanoid\(|\buuidv\d\(/, "a new id", "uuid() of sagamesh"],
  [/\bprocess\.(?!stdout)\w+/, "the process", "a member of the input"],
  [
    /\bfetch\(|\breadFileSync\(|\blocalStorage\b|\bsessionStorage\b/,
    "the outside",
    "a tool: invoke it and take its output",
  ],
];

/** Actions of the author's own are left out: they become tools, which may ask what they like. */
function impureOf(machine: AnyStateMachine, pieces: readonly Piece[]): MachineCheck["impure"] {
  return pieces.flatMap((piece) => {
    const value = namedValue(machine, piece);
    if (piece.role === "action" && isOwnAction(value)) return [];
    const texts = textsOf(value);
    const hit = outside.filter(([asks]) => texts.some((text) => asks.test(text)));
    if (hit.length === 0) return [];
    const name = piece.role === "data" ? undefined : nameOf(piece.value);
    const where = name === undefined ? piece.where : `${piece.where}, "${name}"`;
    return [
      { where, asks: hit.map(([, asks]) => asks), instead: hit.map(([, , instead]) => instead).join("; ") },
    ];
  });
}

/** What `defineSaga` would still refuse once all that can be bound from outside is bound. */
function remainingFaults(
  machine: AnyStateMachine,
  effects: MachineCheck["effects"],
  actions: MachineCheck["actions"],
): string[] {
  const adopted = adoptMachine(machine, {
    delays: delaysOf(machine),
    actions: Object.fromEntries(actions.map(({ name }) => [name, "log" as const])),
    actors: Object.fromEntries(effects.map(({ name, kind, called }) => [name, standIn(kind, called)])),
  });
  return machineFaults(adopted);
}

/** Takes and gives anything. */
const standIn = (kind: "promise" | "machine", name: string): Callable => ({
  ...{ kind: kind === "machine" ? "saga" : "tool", name },
  ...{ input: z.unknown(), output: z.unknown() },
});
