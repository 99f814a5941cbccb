/**
 * Task: what the commands of the human's side share.
 */
import type { SentDocument, TaskDocument } from "../../protocol/documents.ts";
import { MeshError } from "../../protocol/errors.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { sendVote } from "../client/mesh.ts";
import { type OpenTask, tasksOf } from "../client/tasks.ts";
import type { Ports } from "../ports.ts";
import { type CommandContext, withMesh } from "./context.ts";

/** Who may vote is the server's matter; until it knows people apart, a name is a word. */
export const votersHelp =
  "Whom a task is for, and --by, are recorded and not checked: whoever may publish to the server may vote.";

/** `<saga>/<intent>`. Throws BAD_ID. */
export function parseTask(text: string): { saga: SagaId; intent: IntentId } {
  const [saga = "", intent = "", ...more] = text.split("/");
  if (more.length > 0 || intent === "")
    throw new MeshError("BAD_ID", `"${text}" is not a task`, {
      remedy: "A task is <saga>/<intent>; `sagamesh tasks` lists the open ones.",
    });
  return { saga: parseSagaId(saga), intent: parseIntentId(intent) };
}

/** The open task of this name. Throws SAGA_UNKNOWN, TASK_UNKNOWN. */
export async function findTask(
  ports: Ports,
  { saga, intent }: { saga: SagaId; intent: IntentId },
): Promise<OpenTask> {
  const task = (await tasksOf(ports, saga)).find((one) => one.intent === intent);
  if (task === undefined) throw new MeshError("TASK_UNKNOWN", `${saga}/${intent} is no open task`);
  return task;
}

/** Throws USAGE where people cannot speak of this task in this way, and INPUT_INVALID for what they say. */
export type Check = (task: OpenTask, ports: Ports) => void | Promise<void>;

/** Votes on a task once it was found and the check passed. */
export async function voteOn(
  context: CommandContext,
  name: string,
  vote: {
    vote: "approve" | "deny" | "answer";
    answer?: unknown;
    reason?: string | undefined;
    by?: string | undefined;
  },
  check: Check,
): Promise<number> {
  const { saga, intent } = parseTask(name);
  return withMesh(context, async ({ deps, ports }) => {
    await check(await findTask(ports, { saga, intent }), ports);
    await sendVote(deps, { saga, intent }, vote);
    const document: SentDocument = { saga, sent: "vote", name: vote.vote, intent };
    context.output.print(document, () => `${vote.vote} is stored for ${saga}/${intent}`);
    return 0;
  });
}

export const refuseVote = (task: OpenTask, name: string, instead: string): never => {
  throw new MeshError(
    "USAGE",
    `${task.saga}/${task.intent} is ${task.about === "approval" ? "an" : "a"} ${task.about}: it cannot be ${name}`,
    { remedy: instead },
  );
};

export const taskDocument = (task: OpenTask): TaskDocument => ({
  ...task,
  task: `${task.saga}/${task.intent}`,
  to: [...task.to],
});
