/**
 * Tasks: what waits for a human, read from the ledgers.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Ports } from "../ports.ts";
import { readView, type SagaView } from "./view.ts";

export interface OpenTask {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly agent: string;
  readonly about: "question" | "approval" | "doubt" | "stuck";
  readonly question: string;
  readonly to: readonly string[];
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  /** The exact arguments of the call that is to be approved, or what the task is about. */
  readonly input?: Json;
  /** The intent a doubt or a stuck compensation is about, and its tool. */
  readonly of?: IntentId;
  readonly tool?: string;
}

/** Every open task of every saga, the earliest deadline first. */
export async function openTasks(ports: Ports): Promise<OpenTask[]> {
  const tasks: OpenTask[] = [];
  for (const { saga } of await ports.ledger.list())
    tasks.push(...(await tasksOf(ports, saga).catch(noneIfArchived)));
  return tasks.sort((a, b) => a.dueAt - b.dueAt);
}

function noneIfArchived(error: unknown): OpenTask[] {
  if (isMeshError(error, "SAGA_ARCHIVED")) return [];
  throw error;
}

/** One saga's open tasks. Throws SAGA_UNKNOWN, SAGA_ARCHIVED. */
export const tasksOf = async (ports: Ports, saga: SagaId): Promise<OpenTask[]> =>
  tasksIn(await readView(ports, saga));

/** A doubt's input is that of the call it is about. */
const tasksIn = ({ saga, definition, open, intents }: SagaView): OpenTask[] =>
  open.flatMap(({ intent, input }) => {
    if (intent.kind !== "task") return [];
    const { id, about, question, to, dueAt, of } = intent;
    const subject = intents.find((one) => one.intent.id === of);
    const shown = input ?? subject?.input;
    const task = { saga, intent: id, agent: definition.name, about, question, to, dueAt };
    return [
      {
        ...task,
        ...(shown === undefined ? {} : { input: shown }),
        ...(of === undefined ? {} : { of }),
        ...(subject?.intent.kind === "tool" ? { tool: subject.intent.name } : {}),
      },
    ];
  });
