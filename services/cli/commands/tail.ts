import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import type { LiveDocument } from "../../../protocol/documents/live.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../app/app.ts";
import { knownSaga } from "../../client/known.ts";
import type { LedgerSource } from "../../ledger/reader.ts";
import { inspectingLedger } from "../../views/inspection.ts";
import { readLedger } from "../../views/view.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { defineCommand } from "../frame/command.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { createFlow } from "../telling/flow.ts";
import { archiveOption, isFile, sagaPositional, type SagaSource, withSaga } from "../frame/saga-source.ts";
import { inspectOption, withInspector } from "../telling/inspector.ts";
import { showTurns, watchToEnd } from "../telling/watch.ts";

/** Follows a saga's turns, and with --tokens what is said between them; with --inspect an inspector is told as well. */
export const tail = defineCommand({
  name: "tail",
  summary: "show a saga's turns, and those to come, until its end",
  details:
    "Exit code 1 if the saga failed or was cancelled. With --json one turn per line, then the end.\n" +
    "--tokens shows words as a model says them and what tools tell of their progress: best effort, not kept. Words of an attempt that failed or was superseded are taken back; what was missed comes with the reply.\n" +
    "--inspect draws the saga in the Stately inspector as it goes, its former turns first; nothing is sent to the saga. The relay\n" +
    "(`createInspectorServer` of @statelyai/inspect) shows a page of stately.ai what the saga's context holds, and keeps 200\n" +
    "messages for a page that is opened later.",
  positionals: { saga: sagaPositional },
  options: {
    tokens: { type: "boolean", help: "show what models and tools say meanwhile" },
    early: { type: "boolean", help: "wait for an id that was not started yet" },
    inspect: inspectOption,
    app: {
      type: "string",
      hint: "FILE",
      help: "with --inspect: application file with the saga's definition",
    },
    archive: archiveOption,
  },
  examples: [
    "sagamesh tail hire-41",
    "sagamesh tail hire-41 --tokens",
    "sagamesh tail ana-1 --app app.ts --inspect ws://localhost:8080",
  ],
  run: async ({ saga: id, tokens, archive, early, inspect, app: file }, context) => {
    if (inspect === undefined && file !== undefined)
      throw new MeshError("USAGE", "tail: --app is for --inspect");
    const given = inspect === undefined ? undefined : { url: inspect, file };
    if (isFile(id) || archive !== undefined)
      return withSaga(context, { saga: id, archive }, (found) => showFile(context, found, given));
    const saga = parseSagaId(id);
    const inspection = given && inspectingLedger(await appOf(given), saga);
    return withMesh(context, async (mesh) => {
      if (!early && (await knownSaga(mesh.deps, saga)) === "stored")
        context.output.note(`the start of ${saga} is stored; no host has taken it yet`);
      if (inspect === undefined || inspection === undefined) return follow(context, mesh, saga, { tokens });
      return withInspector(inspect, context.signal, async (tell) => {
        await tell(inspection.begin(await turnsSoFar(mesh, saga)));
        return follow(context, mesh, saga, { tokens, tell: (turn) => tell(inspection.take(turn)) });
      });
    });
  },
});

/** Where the inspector is, and what the saga is told by. */
interface Given {
  readonly url: string;
  readonly file: string | undefined;
}

/** The application of an inspected saga; the file's own will do, of a recording that was imported. */
async function appOf({ file }: Given, own?: App): Promise<App> {
  const app = file === undefined ? own : await loadApp(file);
  if (app !== undefined) return app;
  throw new MeshError("USAGE", "tail: --inspect needs --app FILE", {
    remedy: "A ledger holds no machine: name the application file whose definition decided it.",
  });
}

const turnsSoFar = async ({ ports }: Pick<CommandMesh, "ports">, saga: SagaId): Promise<Turn[]> =>
  (await ports.ledger.last(saga)) === undefined ? [] : turnsOf(ports, saga);

const turnsOf = async (source: LedgerSource, saga: SagaId): Promise<Turn[]> =>
  (await readLedger(source, saga)).map(({ turn }) => turn);

async function showFile(
  context: CommandContext,
  found: SagaSource,
  given: Given | undefined,
): Promise<number> {
  const { saga, source, app } = found;
  if (given !== undefined) {
    const inspection = inspectingLedger(await appOf(given, app), saga);
    const turns = await turnsOf(source, saga);
    await withInspector(given.url, context.signal, (tell) => tell(inspection.begin(turns)));
  }
  return showTurns(context, found);
}

function follow(
  context: CommandContext,
  { ports }: CommandMesh,
  saga: SagaId,
  { tokens, tell }: { tokens: boolean; tell?: (turn: Turn) => Promise<void> },
): Promise<number> {
  const { output } = context;
  const flow = createFlow((piece) => output.flow(piece, "results"));
  const document = (live: LiveDocument["live"]) => output.print({ live } satisfies LiveDocument, () => "");
  return watchToEnd(context, ports, saga, {
    turn: (lines, turn) => {
      flow.endLine();
      output.print(turn, () => lines.join("\n"));
      return tell?.(turn);
    },
    ...(tokens ? { between: output.json ? document : flow.tell } : {}),
  });
}
