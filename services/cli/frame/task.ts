/**
 * Task: what the commands of the human's side share.
 */
import type { SentDocument } from "../../../protocol/documents/stored.ts";
import type { TaskDocument } from "../../../protocol/documents/task.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { assertAsked, type ClientDeps, sendVote, type VoteInput } from "../../client/send.ts";
import { openSigner } from "../../runtime/signing.ts";
import { type OpenTask, simulatedWords, tasksIn } from "../../client/tasks.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { notOpen, readAccount } from "../../client/vote.ts";
import { viewOfAccount } from "../../views/view.ts";
import type { Ports } from "../../wire/ports.ts";
import { type CommandContext, withMesh } from "./context.ts";

/** Only the server can know which person a client is. Where it does not tell people apart, a name is only a word. */
export const votersHelp =
  "A vote counts only from those the task is for, by name (--by) or in a role (--as). Both are recorded as given: " +
  "they are claims, which every client of the server may make. A signature (--nkey) proves that the holder of\n" +
  "the key's seed said exactly this; `sagamesh verify` checks it and names the key.";

export const voterOptions = {
  by: { type: "string", hint: "NAME", help: "who says so; else the system's user" },
  as: { type: "string", hint: "ROLE", help: "the role in which they say so" },
  nkey: {
    type: "string",
    hint: "FILE",
    help: "sign with the seed in this file; SAGAMESH_NKEY names one as well",
  },
} as const;

/** Of what a person was shown, for a vote that must not count for anything else. */
export const digestOption = {
  digest: { type: "string", hint: "HEX", help: "of the arguments meant; its first 12 characters do" },
} as const;

const digestWords = 12;

/** `<saga>/<intent>`. Throws BAD_ID. */
export function parseTask(text: string): { saga: SagaId; intent: IntentId } {
  const [saga = "", intent = "", ...more] = text.split("/");
  if (more.length > 0 || intent === "")
    throw new MeshError("BAD_ID", `"${text}" is not a task`, {
      remedy: "A task is <saga>/<intent>; `sagamesh tasks` lists the open ones.",
    });
  return { saga: parseSagaId(saga), intent: parseIntentId(intent) };
}

/**
 * The open task of this name, or the one that is about a doubt of this call. Throws SAGA_UNKNOWN, TASK_UNKNOWN, and
 * TASK_OVER, which says by whom it was decided, and when.
 */
export async function findTask(
  deps: ClientDeps,
  { saga, intent }: { saga: SagaId; intent: IntentId },
): Promise<OpenTask> {
  const account = await readAccount(deps, saga);
  const tasks = tasksIn(viewOfAccount(account));
  const task =
    tasks.find((one) => one.intent === intent) ??
    tasks.find((one) => one.about === "doubt" && one.of === intent);
  if (task !== undefined) return task;
  throw notOpen(account, intent);
}

/**
 * Throws USAGE where people cannot speak of this task in this way, and INPUT_INVALID for what they say. May give the form
 * in which the task takes it.
 */
export type Check = (
  task: OpenTask,
  ports: Ports,
) => void | Promise<Pick<VoteInput, "answer"> | undefined | void>;

/** Votes on a task once it was found and the check passed, bound to the arguments it has. */
export async function voteOn(
  context: CommandContext,
  name: string,
  { nkey, ...vote }: Omit<VoteInput, "signer"> & { readonly nkey: string | undefined },
  check: Check,
): Promise<number> {
  const { saga, intent } = parseTask(name);
  const signer = openSigner(nkey, "--nkey") ?? openSigner(context.config.nkey, "SAGAMESH_NKEY");
  return withMesh(context, async ({ deps, ports }) => {
    const task = await findTask(deps, { saga, intent });
    const said = await check(task, ports);
    assertAsked(task, { by: vote.by ?? deps.from, as: vote.as });
    assertMeant(task, vote.digest);
    await sendVote(deps, task, { ...vote, ...said, digest: task.digest, signer });
    const waiting = await waitingOf(deps, saga);
    const document: SentDocument = {
      ...{ saga, sent: "vote", name: vote.vote, intent: task.intent },
      ...(task.simulated && { simulated: task.simulated }),
      ...waiting,
    };
    const told = task.simulated === undefined ? "" : `\n${simulatedWords(task.simulated)}`;
    context.output.print(document, () =>
      storedText(`${vote.vote} is stored for ${saga}/${task.intent}${told}`, waiting),
    );
    return 0;
  });
}

/** Throws ARGUMENTS_CHANGED unless the task's digest begins with what was typed. */
function assertMeant({ saga, intent, digest }: OpenTask, meant: string | undefined): void {
  if (meant === undefined || (meant.length >= digestWords && digest?.startsWith(meant) === true)) return;
  const has =
    digest === undefined ? "has no arguments" : `is for the arguments ${digest.slice(0, digestWords)}`;
  throw new MeshError("ARGUMENTS_CHANGED", `${saga}/${intent} ${has}, not for ${meant}`);
}

export const refuseVote = (task: OpenTask, name: string, instead: string): never => {
  throw new MeshError(
    "USAGE",
    `${task.saga}/${task.intent} is ${task.about === "approval" ? "an" : "a"} ${task.about}: it cannot be ${name}`,
    { remedy: instead },
  );
};

export const taskDocument = ({ next, ...task }: OpenTask): TaskDocument => ({
  ...task,
  task: `${task.saga}/${task.intent}`,
  to: [...task.to],
  ...(next === undefined ? {} : { next: next.map((one) => [...one]) }),
});
