/**
 * Tasks: what waits for a human, read from the ledgers.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { type Many, manyOf, readMany } from "../ledger/many.ts";
import { sagasOf } from "../listing/find.ts";
import type { Ports } from "../wire/ports.ts";
import { readView, type SagaView } from "../views/view.ts";

/** What waits for a human. */
export interface OpenTask {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly agent: string;
  readonly about: "question" | "approval" | "doubt" | "stuck" | "budget";
  readonly question: string;
  readonly to: readonly string[];
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  /** The exact arguments of the call that is to be approved, or what the task is about. */
  readonly input?: Json;
  /** The intent a doubt or a stuck compensation is about, and its tool. */
  readonly of?: IntentId;
  readonly tool?: string;
  /** Of an approval: the digest of the exact arguments, to which a vote is bound. */
  readonly digest?: string;
  /** How many different people must say the same; 1 where it is not given. */
  readonly quorum?: number;
  /** Those who are asked after the deadline, in their order. */
  readonly next?: readonly (readonly string[])[];
  /** Of a fork whose effects are simulated: where it left its origin. Whatever is said, nothing outside is touched. */
  readonly simulated?: Origin;
}

/** Where a fork left its origin. */
export interface Origin {
  readonly saga: SagaId;
  readonly turn: number;
}

/** What people are told of all that concerns a fork whose effects are simulated. */
export const simulatedWords = ({ saga, turn }: Origin): string =>
  `SIMULATED: a fork of ${saga} from turn ${turn}; nothing outside is touched, whatever is said here`;

/** The origin of a fork whose effects are simulated; undefined for every other saga. */
export const simulatedOf = ({ fork }: Pick<SagaView, "fork">): Origin | undefined =>
  fork?.effects === "simulated" ? { saga: fork.saga, turn: fork.turn } : undefined;

/**
 * Every open task of every saga, the earliest deadline first; beside them the sagas that cannot be read. The ledgers of those that
 * ask somebody are read, and where the listing does not tell which these are all of them; `report` is told why.
 */
export async function openTasks(ports: Ports, report?: (why: string) => void): Promise<Many<OpenTask>> {
  const sagas = await sagasOf(ports, [{ asks: true }, { status: "unreadable" }], report);
  const read = await readMany(sagas, (saga) => tasksOf(ports, saga).catch(noneIfArchived));
  return manyOf(
    read.flat().sort((a, b) => a.dueAt - b.dueAt),
    read.unreadable,
  );
}

function noneIfArchived(error: unknown): OpenTask[] {
  if (isMeshError(error, "SAGA_ARCHIVED")) return [];
  throw error;
}

/** One saga's open tasks. Throws SAGA_UNKNOWN, SAGA_ARCHIVED. */
export const tasksOf = async (ports: Ports, saga: SagaId): Promise<OpenTask[]> =>
  tasksIn(await readView(ports, saga));

/** The open tasks of a view. */
export const tasksIn = (view: SagaView): OpenTask[] =>
  view.open.flatMap(({ intent, input }) => (intent.kind === "task" ? [taskOf(view, intent, input)] : []));

/** A task as it is listed. A doubt's input is that of the call it is about. */
export function taskOf(
  { saga, definition, intents, fork }: SagaView,
  intent: IntentOf<"task">,
  input: Json | undefined,
): OpenTask {
  const { id, about, question, to, dueAt, of, digest, quorum, next } = intent;
  const subject = intents.find((one) => one.intent.id === of);
  const shown = input ?? subject?.input;
  const simulated = simulatedOf({ fork });
  const tool = subject?.intent.kind === "tool" ? subject.intent.name : intent.tool;
  return {
    ...{ saga, intent: id, agent: definition.name, about, question, to, dueAt },
    ...(shown === undefined ? {} : { input: shown }),
    ...(of === undefined ? {} : { of }),
    ...(tool === undefined ? {} : { tool }),
    ...(digest === undefined ? {} : { digest }),
    ...(quorum === undefined ? {} : { quorum }),
    ...(next === undefined ? {} : { next: next.map((one) => one.to) }),
    ...(simulated === undefined ? {} : { simulated }),
  };
}
