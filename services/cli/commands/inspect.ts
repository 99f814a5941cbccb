import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { drawing } from "../../views/graph/graph.ts";
import { readFolded } from "../../views/folded.ts";
import { withWaiting } from "../../client/list.ts";
import { withStacks } from "../../views/failures.ts";
import { readPrompt } from "../../views/prompt.ts";
import { readState } from "../../views/state-view.ts";
import { readInspected } from "../../views/inspected.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { systemClock } from "../../runtime/system.ts";
import { dimensions } from "../../../protocol/documents/state.ts";
import { defineCommand } from "../frame/command.ts";
import { printGraph } from "../telling/graph.ts";
import { describeInspected } from "../telling/inspect-text.ts";
import { momentHelp, momentHint, upToMoment } from "../frame/moment.ts";
import { printPrompt } from "../telling/prompt.ts";
import { describeState, dimensionOf } from "../telling/state.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";

/** Of a saga that ran long, so much of what is over is what a person reads at most; all of it is a file. */
const shownMax = 1_000;

/** Everything a ledger says of one saga. */
export const inspect = defineCommand({
  name: "inspect",
  summary: "show a saga, now or as it was: its phase, intents, effects, what was spent; or its graph",
  details:
    "The ledger alone says what is open, what stands and what was spent; with --app it is folded as well, and the machine's\n" +
    "state, its context, the memory and what the model was sent are shown, too.",
  positionals: { saga: sagaPositional },
  options: {
    at: { type: "string", hint: momentHint, help: momentHelp },
    app: { type: "string", hint: "FILE", help: "application file, to fold the ledger with its definition" },
    prompt: {
      type: "boolean",
      help: "what the model was sent last, up to --at, and the proof; needs --app",
    },
    graph: { type: "boolean", help: "the graph that the saga wrote, an edge a line" },
    mermaid: { type: "string", hint: "FILE", help: "write the graph there, as Mermaid" },
    svg: { type: "string", hint: "FILE", help: "write the graph there, as a picture" },
    state: {
      type: "string",
      hint: "DIMENSION",
      choices: dimensions,
      help: "its application, operation or dependency state; needs --app",
    },
    all: {
      type: "boolean",
      help: `every intent that is over and every effect that stands, not only the last ${shownMax.toLocaleString("en-US")}`,
    },
    archive: archiveOption,
  },
  examples: [
    "sagamesh inspect hire-41 --at 7 --app app.ts",
    "sagamesh inspect hire-41 --at 2026-11-22T09:30",
    "sagamesh inspect hire-41 --prompt --at 7 --app app.ts",
    "sagamesh inspect hire-41 --graph --svg hire-41.svg",
    "sagamesh inspect trip-9 --state dependency --at 12 --app app.ts",
  ],
  run: async ({ at, app: file, prompt, graph, mermaid, svg, state, all: isWhole, ...which }, context) => {
    const isGraph = graph || mermaid !== undefined || svg !== undefined;
    if (prompt && isGraph)
      throw new MeshError("USAGE", "--prompt and --graph: they are two things; ask for one");
    const dimension = state === undefined ? undefined : dimensionOf(state);
    const loaded = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source, viewing, waiting, app = loaded }) => {
      if (prompt && app === undefined)
        throw new MeshError(
          "USAGE",
          "--prompt: --app FILE is missing: the ledger does not hold the instructions",
        );
      if (dimension !== undefined && app === undefined)
        throw new MeshError(
          "USAGE",
          "--state: --app FILE is missing: the ledger alone does not hold the graph",
        );
      let foreign = 0;
      const met = (_: SagaId, messages: number) => void (foreign = messages);
      const tellForeign = () => {
        if (foreign > 0) context.output.note(foreignNote(saga, foreign));
      };
      const read = upToMoment({ ...source, met }, saga, at, systemClock.now());
      if (isGraph) {
        const begin = () => drawing();
        const folded = app === undefined ? undefined : await readFolded(app, read, begin);
        const { taker } = folded ?? (await read(begin));
        tellForeign();
        return printGraph(context.output, taker.graph(folded?.state), { mermaid, svg });
      }
      if (dimension !== undefined && app !== undefined) {
        const said = await readState(app, read, dimension);
        tellForeign();
        context.output.print(said, () => describeState(said));
        return 0;
      }
      if (prompt && app !== undefined) {
        const shown = await readPrompt(app, read);
        tellForeign();
        return printPrompt(context.output, shown);
      }
      // What is shown is found as the ledger is read: none of its turns is kept.
      const remembers = isWhole ? undefined : shownMax;
      const described = await readInspected(read, { viewing, remembers, app, isPast: at !== undefined });
      tellForeign();
      const told = await withStacks(described, source.blobs);
      const document = waiting === undefined ? told : await withWaiting(told, waiting);
      context.output.print(document, () => describeInspected(document));
      return 0;
    });
  },
});

const foreignNote = (saga: SagaId, count: number): string =>
  count === 1
    ? `1 message on its ledger is no turn: \`sagamesh repair ${saga}\` lists it`
    : `${count} messages on its ledger are no turns: \`sagamesh repair ${saga}\` lists them`;
