import type { TaskDocument } from "../../../protocol/documents/task.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { readTask } from "../../client/task-detail.ts";
import { openTasks } from "../../client/tasks.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { dateOf } from "../telling/describe.ts";
import { table } from "../frame/table.ts";
import { tellUnreadable } from "../frame/unreadable.ts";
import { describeTask, taskDetailDocument } from "../telling/task-detail.ts";
import { parseTask, taskDocument } from "../frame/task.ts";

/** What waits for a human. */
export const tasks = defineCommand({
  name: "tasks",
  summary: "list what waits for a human, or show one",
  details:
    "A task is shown with all that a reviewer needs, also once it is over: the exact arguments, why the model wants it, who may answer and who did, what happens at the deadline, what it has cost, how it can be undone. Exit code 1 if a saga could not be read; the others' tasks are listed.",
  positionals: {
    show: { help: "the word show", optional: true, choices: ["show"] },
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
        const { saga, intent } = parseTask(name);
        const document = taskDetailDocument(await readTask(ports, saga, intent));
        output.print(document, () => describeTask(document));
        return 0;
      }
      const tasks = await openTasks(ports, output.note);
      const documents = tasks.map(taskDocument);
      if (output.json) for (const document of documents) output.print(document, () => "");
      else output.print(undefined, () => list(documents));
      return tellUnreadable(output, tasks.unreadable);
    });
  },
});

function list(documents: readonly TaskDocument[]): string {
  if (documents.length === 0) return "nothing waits for a human";
  const rows = documents.map(({ task, about, agent, to, dueAt, question, simulated }) => [
    task,
    simulated === undefined ? about : `${about} (simulated)`,
    agent,
    to.join(", ") || "anyone",
    dateOf(dueAt),
    question,
  ]);
  return table(["TASK", "ABOUT", "SAGA OF", "FOR", "UNTIL", "QUESTION"], rows);
}
