/**
 * Tasks: what waits for people. The ledgers of the sagas that ask are read, and no other.
 */
import { isMeshError } from "../../protocol/errors.ts";
import { type OpenTask, tasksOf } from "../client/tasks.ts";
import { readMany } from "../ledger/many.ts";
import type { Ports } from "../wire/ports.ts";
import type { TasksDocument } from "./documents.ts";
import type { SagaFinder } from "./sagas.ts";

/** All open tasks, the earliest deadline first. Throws UNAVAILABLE. */
export async function allTasks(ports: Ports, finder: SagaFinder): Promise<TasksDocument> {
  const { sagas, note } = await finder.asking();
  const read = await readMany(sagas, (saga) => tasksOf(ports, saga).catch(noneIfArchived));
  return {
    tasks: read
      .flat()
      .sort((a, b) => a.dueAt - b.dueAt)
      .map(documentOf),
    unreadable: read.unreadable.map(({ saga, code, reason }) => ({ saga, code, reason })),
    ...(note === undefined ? {} : { note }),
  };
}

const documentOf = ({ next, ...task }: OpenTask): TasksDocument["tasks"][number] => ({
  ...task,
  task: `${task.saga}/${task.intent}`,
  to: [...task.to],
  ...(next === undefined ? {} : { next: next.map((one) => [...one]) }),
});

/** It was archived after it had asked. */
function noneIfArchived(error: unknown): OpenTask[] {
  if (isMeshError(error, "SAGA_ARCHIVED")) return [];
  throw error;
}
