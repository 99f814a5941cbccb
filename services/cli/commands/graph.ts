import type { Definition } from "../../../actors/contract/definition.ts";
import { presentIn } from "../../../actors/machine/machine.ts";
import type { StatesDocument } from "../../../protocol/documents/states.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import type { App } from "../../app/app.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { systemClock } from "../../runtime/system.ts";
import { readFolded } from "../../views/folded.ts";
import { statesMermaid, statesText } from "../../views/graph/states.ts";
import type { CommandContext } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { writeTextFile } from "../frame/file.ts";
import { momentHelp, momentHint, upToMoment } from "../frame/moment.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";

/** The states of a definition, with those that a saga is in. */
export const graph = defineCommand({
  name: "graph",
  summary: "draw the states of a definition, and which of them a saga is in",
  details:
    "The machine that decides, not what it came to: `inspect --graph` draws the calls and signals of one saga.\n" +
    "A * stands before the states that the saga is in, now or at --at.",
  positionals: { saga: { ...sagaPositional, optional: true } },
  options: {
    app: { type: "string", hint: "FILE", help: "application file with the definition", required: true },
    definition: { type: "string", hint: "NAME", help: "without a saga: which of the application's" },
    at: { type: "string", hint: momentHint, help: momentHelp },
    mermaid: { type: "string", hint: "FILE", help: "write it there, as a state diagram of Mermaid" },
    archive: archiveOption,
  },
  examples: [
    "sagamesh graph ana-1 --app app.ts",
    "sagamesh graph --app app.ts --definition weekend --mermaid weekend.mmd",
  ],
  run: async ({ saga: id, app: file, definition: name, at, mermaid, archive }, context) => {
    if (id === undefined && at !== undefined) throw new MeshError("USAGE", "graph: --at is for a saga");
    if (id !== undefined && name !== undefined)
      throw new MeshError("USAGE", "graph: a saga has its own definition; leave --definition out");
    const app = await loadApp(file);
    if (id === undefined) return printStates(context, statesOf(definitionIn(app, name), []), mermaid);
    return withSaga(context, { saga: id, archive }, async ({ saga, source }) => {
      const read = upToMoment(source, saga, at, systemClock.now());
      const { definition, state, last } = await readFolded(app, read, () => ({ take: () => undefined }));
      const drawn = statesOf(definition, presentIn(state.snapshot));
      return printStates(context, { ...drawn, saga, ...(last && { turn: last.turn }) }, mermaid);
    });
  },
});

/** The one that is named, the latest of its versions; the only one if none is. Throws USAGE. */
function definitionIn({ definitions }: App, name: string | undefined): Definition {
  const names = [...new Set(definitions.map((one) => one.name))];
  const wanted = name ?? (names.length === 1 ? names[0] : undefined);
  const found = definitions
    .filter((one) => one.name === wanted)
    .sort((one, other) => other.version - one.version)[0];
  if (found !== undefined) return found;
  throw new MeshError(
    "USAGE",
    name === undefined
      ? `graph: name a saga, or one with --definition: ${names.join(", ")}`
      : `graph: the application has no definition "${name}"${didYouMean(name, names)}`,
  );
}

function statesOf({ name, version, machine }: Definition, present: readonly string[]): StatesDocument {
  const { states, transitions } = machine.chart();
  return {
    definition: { name, version },
    states: states.map((state) => ({
      ...{ ...state, invokes: [...state.invokes] },
      ...(present.includes(state.id) ? { present: true } : {}),
    })),
    transitions: transitions.map((one) => ({ ...one, to: [...one.to] })),
  };
}

function printStates({ output }: CommandContext, document: StatesDocument, file: string | undefined): number {
  if (file !== undefined) writeTextFile(file, statesMermaid(document));
  output.print(document, () => (file === undefined ? statesText(document) : `${file} is written`));
  return 0;
}
