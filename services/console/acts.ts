/**
 * Acts: what a person does through the console, each checked and sent exactly as the command line does it.
 */
import { parseIntentId, type SagaId } from "../../protocol/ids.ts";
import { MeshError } from "../../protocol/errors.ts";
import { toValue } from "../../protocol/value.ts";
import type { ClientDeps } from "../client/send.ts";
import { signalSaga } from "../client/signal.ts";
import { castVote } from "../client/vote.ts";
import type { VoteBody } from "./documents.ts";

const votes: readonly string[] = ["approve", "deny", "answer", "edit"] satisfies VoteBody["vote"][];
const nameMax = 200;
const reasonMax = 4_000;

/**
 * Stores a vote. The same vote again is known by its saga. Throws USAGE, TASK_UNKNOWN, TASK_OVER, VOTER_NOT_ASKED,
 * ARGUMENTS_CHANGED, INPUT_INVALID, UNAVAILABLE.
 */
export async function vote(deps: ClientDeps, saga: SagaId, task: string, said: unknown): Promise<void> {
  const body = membersOf(said);
  const kind = body["vote"];
  if (typeof kind !== "string" || !votes.includes(kind))
    throw new MeshError("USAGE", `a vote is one of ${votes.join(", ")}`);
  const [by, as] = [textIn(body, "by", nameMax), textIn(body, "as", nameMax)];
  const [reason, digest] = [textIn(body, "reason", reasonMax), textIn(body, "digest", nameMax)];
  await castVote(
    deps,
    { saga, intent: parseIntentId(task), ...(digest === undefined ? {} : { digest }) },
    {
      vote: kind as VoteBody["vote"], // It is one of them.
      ...(by === undefined ? {} : { by }),
      ...(as === undefined ? {} : { as }),
      ...(reason === undefined ? {} : { reason }),
      ...(body["answer"] === undefined ? {} : { answer: body["answer"] }),
      ...(body["input"] === undefined ? {} : { input: body["input"] }),
    },
  );
}

/**
 * Stores a signal. What is sent again under the same id is the same signal, so a page whose request was cut off may send it
 * again. Throws USAGE, SAGA_UNKNOWN, SAGA_ENDED, SIGNAL_UNKNOWN, INPUT_INVALID, UNAVAILABLE.
 */
export async function signal(deps: ClientDeps, saga: SagaId, said: unknown): Promise<void> {
  const body = membersOf(said);
  const [name, id] = [textIn(body, "name", nameMax), textIn(body, "id", nameMax)];
  if (name === undefined || id === undefined || !/^[\w-]{8,100}$/.test(id))
    throw new MeshError("USAGE", "a signal has a name, and an id that repeats are known by");
  await signalSaga(deps, saga, { name, data: toValue(body["data"] ?? null), id: `console-${id}` });
}

function membersOf(said: unknown): Readonly<Record<string, unknown>> {
  if (typeof said === "object" && said !== null && !Array.isArray(said))
    return said as Record<string, unknown>;
  throw new MeshError("USAGE", "expected an object");
}

/** An empty text is none. */
function textIn(body: Readonly<Record<string, unknown>>, key: string, most: number): string | undefined {
  const value = body[key];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string" && value.length <= most) return value;
  throw new MeshError("USAGE", `${key} is a text of at most ${most} characters`);
}
