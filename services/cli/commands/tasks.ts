import type { TaskDocument } from "../../../protocol/documents.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { openTasks } from "../../client/tasks.ts";
import { defineCommand } from "../command.ts";
import { withMesh } from "../context.ts";
import { dateOf } from "../describe.ts";
import { table } from "../table.ts";
import { findTask, parseTask, taskDocument } from "../task.ts";

/** What waits for a human. */
export const tasks = defineCommand({
  name: "tasks",
  summary: "list what waits for a human, or show one",
  positionals: {
    show: { help: "the word show", optional: true },
    task: { help: "<saga>/<intent>", optional: true },
  },
  options: {},
  examples: ["sagamesh tasks", "sagamesh tasks show hire-41/7-0"],
  run: async ({ show, task: name }, context) => {
    if (show !== undefined && (show !== "show" || name === undefined))
      throw new MeshError(
        "USAGE",
        `tasks: expected nothing, or show and a task, got "${[show, name].filter(Boolean).join(" ")}"`,
      );
    return withMesh(context, async ({ ports }) => {
      const { output } = context;
      if (name !== undefined) {
        const document = taskDocument(await findTask(ports, parseTask(name)));
        output.print(document, () => describe(document));
        return 0;
      }
      const documents = (await openTasks(ports)).map(taskDocument);
      if (output.json) for (const document of documents) output.print(document, () => "");
      else output.print(undefined, () => list(documents));
      return 0;
    });
  },
});

function list(documents: readonly TaskDocument[]): string {
  if (documents.length === 0) return "nothing waits for a human";
  const rows = documents.map(({ task, about, agent, dueAt, question }) => [
    task,
    about,
    agent,
    dateOf(dueAt),
    question,
  ]);
  return table(["TASK", "ABOUT", "SAGA OF", "UNTIL", "QUESTION"], rows);
}

function describe({ task, about, agent, question, to, dueAt, input, of }: TaskDocument): string {
  const how = {
    approval: `sagamesh approve ${task}, or sagamesh deny ${task} --reason WHY`,
    question: `sagamesh answer ${task} JSON`,
    doubt: `sagamesh answer ${task} '{"outcome":"happened","output":…}', or '{"outcome":"did_not_happen"}'`,
    stuck: `undo it by hand and sagamesh approve ${task}, or sagamesh deny ${task} to leave it standing`,
  }[about];
  return [
    `${task}  ${about} of ${agent}${to.length === 0 ? "" : `, for ${to.join(", ")}`}`,
    question,
    ...(of === undefined ? [] : [`about intent ${of}`]),
    ...(input === undefined ? [] : [JSON.stringify(input, undefined, 2)]),
    `until ${dateOf(dueAt)}`,
    how,
  ].join("\n");
}
