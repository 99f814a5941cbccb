import type { MigrateDocument } from "../../../protocol/documents/migrate.ts";
import { migrateSagas } from "../../client/migrate.ts";
import { msOf } from "../../../protocol/duration.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { tellUnreadable } from "../frame/unreadable.ts";
import { brief, describeDefinition } from "../telling/describe.ts";
import { nowAndThen } from "../telling/progress-note.ts";

/** Which running sagas can go on under another definition; and lets them. */
export const migrate = defineCommand({
  name: "migrate",
  summary: "move running sagas to the definitions of another application file, those that can",
  details:
    "A saga can be moved if the new definition, given all that came in, decides all that was decided: the same calls\n" +
    "under the same keys, the same timers, tasks and ends. The requests to its models may differ: prompt, tools, their\n" +
    "order. What is open keeps its contract. The others stay, and go on wherever their own definition is served. Hosts\n" +
    "must serve the new file before a move is made. Exit code 1 if a saga cannot be moved, or was not within the time.",
  positionals: {},
  options: {
    app: { type: "string", hint: "FILE", required: true, help: "application file with the new definitions" },
    "dry-run": { type: "boolean", help: "only say which can, which cannot, where and why" },
    saga: { type: "string", hint: "ID", multiple: true, help: "only this one; may be given more than once" },
    name: { type: "string", hint: "NAME", help: "only sagas of this definition" },
    within: { type: "string", hint: "DURATION", help: "how long to wait for the moves: 30s unless given" },
  },
  examples: [
    "sagamesh migrate --dry-run --app app-v2.ts",
    "sagamesh migrate --app app-v2.ts --name hire_for_role",
  ],
  run: async ({ app: file, "dry-run": dryRun, saga: sagas, name, within }, context) => {
    const { output, signal } = context;
    const app = await loadApp(file);
    const withinMs = within === undefined ? undefined : msOf(within);
    return withMesh(context, async ({ deps }) => {
      const progress = nowAndThen(output.note);
      const documents = await migrateSagas(deps, app, {
        sagas,
        name,
        dryRun,
        withinMs,
        progress,
        signal,
      });
      if (output.json) for (const document of documents) output.print(document, () => "");
      else output.print(undefined, () => describe(documents));
      const code = tellUnreadable(output, documents.unreadable);
      return documents.every(({ verdict }) => verdict !== "cannot" && verdict !== "asked") ? code : 1;
    });
  },
});

function describe(documents: readonly MigrateDocument[]): string {
  const count = (verdict: MigrateDocument["verdict"]) =>
    documents.filter((one) => one.verdict === verdict).length;
  const counts = (["can", "moved", "asked", "cannot"] as const).flatMap((verdict) =>
    count(verdict) === 0 ? [] : [`${count(verdict)} ${words[verdict]}`],
  );
  return [...documents.flatMap(linesOf), counts.join(", ") || "no running saga has another definition"].join(
    "\n",
  );
}

const words: Readonly<Record<MigrateDocument["verdict"], string>> = {
  can: "can move",
  moved: "moved",
  asked: "asked for and not moved yet: no host took it, or one refused it (`sagamesh dead ls`)",
  cannot: "cannot move",
  same: "has nothing to move",
};

function linesOf({
  saga,
  from,
  to,
  verdict,
  requestsDiffer = 0,
  turn,
  expected,
  got,
  why,
}: MigrateDocument): string[] {
  const which = `${describeDefinition(from)}${to === undefined ? "" : ` -> ${describeDefinition(to)}`}`;
  const prompt =
    requestsDiffer === 0
      ? ""
      : `; ${requestsDiffer} request${requestsDiffer === 1 ? "" : "s"} to its model would have been another: prompt, tools or their order differ`;
  return [
    `${saga}  ${words[verdict]}  ${which}${prompt}`,
    ...(why === undefined ? [] : [`  ${turn === undefined ? "" : `turn ${turn}: `}${why}`]),
    ...(expected === undefined && got === undefined
      ? []
      : [`  expected ${brief(expected ?? null, 200)}`, `  got      ${brief(got ?? null, 200)}`]),
  ];
}
