import type { ReplayDocument } from "../../../protocol/documents.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { replayDecisions } from "../../client/replay.ts";
import { readLedger } from "../../client/view.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { replayPort } from "../../runtime/replay-port.ts";
import { defineCommand } from "../command.ts";
import { brief } from "../describe.ts";
import { archiveOption, sagaPositional, withSaga } from "../saga-source.ts";

/** What another model would have decided. */
export const replay = defineCommand({
  name: "replay",
  summary: "give another model what the recorded one was given, and compare",
  details:
    "Each request is rebuilt from the ledger and has the digest that was recorded, byte for byte, or nothing is asked.\n" +
    "Nothing outside is touched but the model. Exit code 0 however much differs.",
  positionals: { saga: sagaPositional },
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file with the saga's definition, which a ledger does not hold; an imported recording does",
    },
    model: {
      type: "string",
      hint: "MODEL",
      help: "a model of the application, one of the provider (claude-…), or recorded (default)",
    },
    archive: archiveOption,
  },
  examples: ["sagamesh replay hire-41 --app app.ts --model claude-sonnet-5"],
  run: async ({ app: file, model = "recorded", ...which }, context) => {
    const loaded = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source, app = loaded }) => {
      if (app === undefined) throw new MeshError("USAGE", "replay: --app FILE is missing");
      const port = replayPort(app, model, context.config);
      const turns = (await readLedger(source, saga)).map(({ turn }) => turn);
      const progress = nowAndThen(context.output.note);
      const document = await replayDecisions(app, turns, { model, port, signal: context.signal, progress });
      context.output.print(document, () => describe(document));
      return 0;
    });
  },
});

/** A script answers at once and needs no sign of life; a provider takes seconds for each decision. */
function nowAndThen(note: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < progressMs) return;
    last = performance.now();
    note(line);
  };
}

const progressMs = 2_000;

function describe({
  saga,
  model,
  same,
  different,
  skipped,
  failed,
  firstDivergence,
  decisions,
}: ReplayDocument): string {
  const lines = decisions.map(
    ({ intent, step, turn, verdict, what }) =>
      `  ${intent} (decision ${step}, turn ${turn})  ${verdict}${what.length === 0 ? "" : `: ${what.join("; ")}`}`,
  );
  const first = decisions.find((one) => one.intent === firstDivergence);
  return [
    `${saga} replayed with ${model}`,
    ...lines,
    `${same} same, ${different} different, ${failed} failed, ${skipped} skipped`,
    first === undefined
      ? "no divergence"
      : `first divergence at ${first.intent}:\n  recorded ${brief(first.recorded, 300)}\n  got      ${brief(first.got, 300)}`,
  ].join("\n");
}
