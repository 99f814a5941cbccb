/** What `check` says to a person: what is to be done, in the order in which it is done. */
import type { CheckDocument, MachineCheck, PlayedStep } from "../../../protocol/documents/check.ts";

export const describeCheck = ({ file, changes, machines, written }: CheckDocument): string =>
  [
    ...machines.flatMap(machineLines),
    ...section(`${file} itself`, changes),
    ...(written === undefined
      ? []
      : [`${written} is written: say of each effect what may be done when nobody knows whether it happened`]),
  ]
    .join("\n")
    .trimEnd();

function machineLines(check: MachineCheck): string[] {
  const { id, verdict, effects, actions, signals, timers, impure, changes } = check;
  const verdicts = {
    ready: "ready: it is a saga as it is",
    wrap: "no change in its file: it needs a word about each effect (--write FILE)",
    change: "its file must be changed",
  };
  const members = (names: readonly string[]) => (names.length === 0 ? "" : ` with ${names.join(", ")}`);
  return [
    `${check.export ?? "(not exported)"} (${id}): ${verdicts[verdict]}`,
    ...section(
      "effects, each of which is read, idempotent, probe or once",
      effects.map(({ name, kind, called, where }) => {
        const as =
          kind === "machine" ? "a machine, which becomes a saga of its own" : `becomes the tool ${called}`;
        return `${name}: ${as}${placesOf(where)}`;
      }),
    ),
    ...section(
      "actions",
      actions.map(({ name, as, called, where }) =>
        as === "log"
          ? `${name}: only prints, and becomes a line of the host's log${placesOf(where)}`
          : `${name}: becomes the tool ${called}, called and not waited for${placesOf(where)}`,
      ),
    ),
    ...section(
      "signals",
      signals.map(({ name, members: read, where }) => `${name}${members(read)}${placesOf(where)}`),
    ),
    ...section(
      "timers",
      timers.map(({ where, delay }) => `${where}: ${typeof delay === "number" ? `${delay} ms` : delay}`),
    ),
    ...section(
      "what reads the outside",
      impure.map(({ where, asks, instead }) => `${where}: ${asks.join(", ")}; take ${instead}`),
    ),
    ...section("to change", changes),
    ...walkLines(check),
    "",
  ];
}

function walkLines({ walks, unreached, stopped }: MachineCheck): string[] {
  if (walks === undefined) return [];
  return [
    ...walks.flatMap((steps, k) => section(`walk ${k + 1}`, steps.map(stepLine))),
    ...section("states that no walk reached", unreached ?? []),
    ...(stopped === undefined ? [] : section("stopped", [stopped])),
  ];
}

const stepLine = ({ sent, states, called = [], ended }: PlayedStep): string =>
  [
    [sent, ...states.map((state) => (typeof state === "string" ? state : JSON.stringify(state)))].join(
      " -> ",
    ),
    ...(called.length === 0 ? [] : [`called ${called.join(", ")}`]),
    ...(ended === undefined ? [] : [ended]),
  ].join("; ");

const placesOf = (where: readonly string[]): string =>
  where.length === 0 ? ", not used by a state" : ` (${where.join("; ")})`;

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`  ${title}:`, ...lines.map((line) => `    - ${line}`)];
