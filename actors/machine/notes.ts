/**
 * A machine's notes: what is likely a slip in it, found when the application is loaded, and costs its sagas nothing.
 *
 * Owns: events that nothing sends, and signals that no state takes. Does not own: what a ledger could not record, which is a
 * fault and refused (faults.ts).
 *
 * NX1 A note is never a fault: what raises an event is read out of the text of functions, which a computed name gets past;
 *     a signal may be declared for what is to come; and what was loaded before it was noted is loaded still.
 * NX2 Finding them calls no function of the machine. An event counts as raised where an action raises it by its type, or a
 *     function that may raise holds its name in quotes.
 */
import type { AnyStateMachine } from "xstate";
import { didYouMean } from "../../protocol/nearest.ts";
import { nodesOf } from "./snapshot.ts";

/** How many states a note names of those that wait for one event. */
const statesNamed = 3;

/** All notes on a machine whose saga declares these signals, each a sentence that says where and what to do. */
export function machineNotes(machine: AnyStateMachine, signals: readonly string[]): string[] {
  const waiting = waitingFor(machine);
  const { raised, texts } = raisedIn(machine);
  const isSent = (descriptor: string): boolean =>
    [...signals, ...raised].some((event) => isTakenBy(event, descriptor)) || isQuoted(texts, descriptor);
  const unsent = [...waiting].filter(([descriptor]) => !isSent(descriptor));
  const takesAll = nodesOf(machine.root).some(({ transitions }) => transitions.has("*"));
  const isTaken = (signal: string): boolean =>
    takesAll || [...waiting.keys()].some((descriptor) => isTakenBy(signal, descriptor));
  const untaken = signals.filter((signal) => !isTaken(signal));
  return [
    ...unsent.map(([descriptor, states]) => unsentNote(descriptor, states, signals)),
    ...untaken.map(
      (signal) =>
        `no state takes the signal "${signal}", so none of them does anything; let a state take it under \`on\`, or leave it out of signals`,
    ),
  ];
}

function unsentNote(descriptor: string, states: readonly string[], signals: readonly string[]): string {
  const more = states.length > statesNamed ? ` and ${states.length - statesNamed} more` : "";
  const named = states.slice(0, statesNamed).map((state) => `"${state}"`);
  const dotted = descriptor.includes(".") ? " (a signal's name has no dots)" : "";
  return (
    `the ${states.length === 1 ? "state" : "states"} ${named.join(", ")}${more}, on "${descriptor}": it is no signal of the saga, ` +
    `and nothing here raises it by that name; declare it under signals${dotted}, or leave it out${didYouMean(descriptor, signals)}`
  );
}

/** What each state has under `on` but XState's own events and the wildcard of all, with the states' ids. */
function waitingFor(machine: AnyStateMachine): Map<string, string[]> {
  const waiting = new Map<string, string[]>();
  for (const node of nodesOf(machine.root))
    for (const descriptor of node.transitions.keys())
      if (!descriptor.startsWith("xstate.") && descriptor !== "*")
        waiting.set(descriptor, [...(waiting.get(descriptor) ?? []), node.id]);
  return waiting;
}

/** As XState has it: an event's own name, or `a.*` of `a` and all that begins with `a.`. */
const isTakenBy = (event: string, descriptor: string): boolean =>
  descriptor === event || (descriptor.endsWith(".*") && `${event}.`.startsWith(descriptor.slice(0, -1)));

/** Whether a text holds what the descriptor takes: its name in quotes, or of `a.*` a name that begins so. */
function isQuoted(texts: readonly string[], descriptor: string): boolean {
  const begins = descriptor.endsWith(".*") ? descriptor.slice(0, -2) : undefined;
  const quoted = [`"`, `'`, "`"].flatMap((quote) =>
    begins === undefined
      ? [`${quote}${descriptor}${quote}`]
      : [`${quote}${begins}.`, `${quote}${begins}${quote}`],
  );
  return texts.some((text) => quoted.some((one) => text.includes(one)));
}

/** An action of XState's that may raise. Its members are data that its creator put there. */
interface Raising {
  readonly type?: unknown;
  readonly event?: unknown;
  readonly collect?: unknown;
}

/** NX2. What actions raise by its type, and the text of each function that may raise something. */
function raisedIn(machine: AnyStateMachine): { raised: string[]; texts: string[] } {
  const [raised, texts]: [string[], string[]] = [[], []];
  for (const action of actionsIn(machine)) {
    if (typeof action !== "function") continue;
    const { type, event, collect } = Object.assign({}, action) as Raising; // Proof: every member is unknown until looked at.
    if (type === "xstate.enqueueActions") texts.push(String(collect));
    if (type !== "xstate.raise") continue;
    if (typeof event === "function") texts.push(String(event));
    if (typeof event === "object" && event !== null && "type" in event) raised.push(String(event.type));
  }
  return { raised, texts };
}

/** Every action of a machine: those that stand in states, and those that are declared, which an enqueueActions may name. */
function actionsIn(machine: AnyStateMachine): unknown[] {
  const declared = Object.values(machine.implementations.actions as Record<string, unknown>);
  return nodesOf(machine.root).reduce<unknown[]>((all, node) => {
    const initial = node.type === "compound" ? (node.initial.actions as unknown[]) : [];
    const moves = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
    return [...all, ...node.entry, ...node.exit, ...initial, ...moves.flatMap(({ actions }) => actions)];
  }, declared);
}
