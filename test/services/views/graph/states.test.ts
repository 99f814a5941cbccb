/**
 * Goal: what is drawn of a machine is its states and transitions, whole and nested, with a saga's present ones marked (KH1, JX1).
 * Method: machines made by hand with every kind of state and transition; the command on a saga's file; hostile names.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMachine, type AnyStateMachine } from "xstate";
import { chartOf } from "../../../../actors/machine/chart.ts";
import { StatesDocument } from "../../../../protocol/documents/states.ts";
import { statesMermaid, statesText } from "../../../../services/views/graph/states.ts";
import { runHere } from "../../../support/cli.ts";
import { document, expectError } from "../../../support/cli-said.ts";

const never = () => {
  throw new Error("a function of the machine was called");
};
const machine = createMachine({
  id: "m",
  initial: "work",
  context: never,
  on: { stop: ".end", note: { actions: never } },
  states: {
    work: {
      type: "parallel",
      onDone: "end",
      states: {
        left: {
          initial: "l1",
          states: { l1: { after: { 1500: "l2", soon: "l2" } }, l2: { type: "final" } },
        },
        right: {
          invoke: {
            src: "look up",
            onDone: { guard: "isRight", target: "#m.end" },
            onError: { guard: never, target: "#m.back" },
          },
        },
      },
    },
    back: { always: { guard: { type: "isBack" }, target: "work" } },
    again: { type: "history", history: "deep", target: "work" },
    end: { type: "final" },
  },
} as never) as AnyStateMachine;
const chart = chartOf(machine);
const drawn = (present: readonly string[] = []): StatesDocument =>
  StatesDocument.parse({
    definition: { name: "m", version: 1 },
    states: chart.states.map((state) => ({ ...state, present: present.includes(state.id) })),
    transitions: chart.transitions,
  });

test("every state and transition is there, in words, and no function of the machine is called", () => {
  expect(statesText(drawn(["m", "m.back"])).split("\n")).toEqual([
    "* m",
    "    stop -> end",
    "    note",
    "    work (parallel, first)",
    "      done -> end",
    "      left",
    "        l1 (first)",
    "          after 1500 ms -> l2",
    "          after soon -> l2",
    "        l2 (final)",
    "      right: look up",
    "        done look up [isRight] -> end",
    "        error look up [guarded] -> back",
    "*   back",
    "      always [isBack] -> work",
    "    again (history)",
    "    end (final)",
  ]);
});

describe("as Mermaid", () => {
  test("states are nested, regions are apart, and what is present is filled", () => {
    const text = statesMermaid(drawn(["m", "m.back"]));
    expect(text).toContain('  state "m" as s0 {\n    [*] --> s1\n    state "work" as s1 {\n');
    expect(text.match(/^ {4}\s*--$/gm)).toHaveLength(1);
    expect(text).toContain("  class s6 present\n");
    expect(text.match(/^ {2}s\d+ --> s\d+ : /gm)).toHaveLength(chart.transitions.length);
  });

  test("a hostile name adds nothing", () => {
    const name = 'x"\n  s9 --> s0 : gone } %%{init: {}}%%';
    const hostile = createMachine({
      id: "m",
      initial: name,
      states: { [name]: { on: { [name]: {} } } },
    } as never);
    const { states, transitions } = chartOf(hostile as AnyStateMachine);
    const text = statesMermaid(
      StatesDocument.parse({ definition: { name: "m", version: 1 }, states, transitions }),
    );
    expect(text).not.toMatch(/^\s*s9/m);
    expect(text).not.toContain("%%");
    expect(text.match(/\}/g)).toHaveLength(1);
  });
});

describe("the command", () => {
  const app = ["--app", "test/fixtures/check/lending-app.ts"];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sagamesh-states-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("draws a definition that is named", async () => {
    const { states } = document(
      StatesDocument,
      await runHere(["graph", ...app, "--definition", "lending", "--json"]),
    );
    expect(states.map(({ name }) => name)).toEqual(["lending", "asking", "waiting", "holding", "end"]);
    const file = join(folder, "lending.mmd");
    await runHere(["graph", ...app, "--definition", "lending", "--mermaid", file]);
    expect(await readFile(file, "utf8")).toMatch(/^stateDiagram-v2\n/);
  });

  test("asks for a name where there are several, and says what is near one that is not there", async () => {
    expectError(await runHere(["graph", ...app, "--definition", "lendin"]), "USAGE", 2);
    expectError(await runHere(["graph", ...app, "--at", "3", "--definition", "lending"]), "USAGE", 2);
    expectError(await runHere(["graph", "s1", ...app, "--definition", "lending"]), "USAGE", 2);
  });
});
