/**
 * Task detail: all that a person who decides about a task needs, read from its saga's ledger and the registry.
 *
 * TD1 Nothing here is guessed: what the ledger and the registry do not tell is absent, or says that it is unknown.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { InLine, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Ports } from "../wire/ports.ts";
import { readRegistry, type Registered, viewingBy } from "./registry.ts";
import { type OpenTask, taskOf } from "./tasks.ts";
import type { Ended } from "../ledger/account.ts";
import { accounting } from "../ledger/account-reader.ts";
import { type IntentView, readLedger, type SagaView, viewOfAccount } from "../views/view.ts";
import { inPieces } from "../wire/loop.ts";

/** A vote as the ledger has it. */
export interface RecordedVote extends Vote {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What a task does at its deadline. */
export type AtDeadline =
  | { readonly does: "escalate"; readonly to: readonly string[]; readonly withinMs: number }
  | { readonly does: "deny" | "approve" | "fail" | "doubt" | "leave" }
  | { readonly does: "answer"; readonly answer: Json };

/** Whether and how what is to be approved can be undone. */
export interface Undoing {
  /** `unknown`: no host has registered the tool. `none`: it has no compensation, and declares no point of no return. */
  readonly by: "compensation" | "point_of_no_return" | "nothing_to_undo" | "none" | "unknown";
  readonly tool?: string;
}

/** All that a reviewer needs of one task. */
export interface TaskDetail extends OpenTask {
  /** `open`, or how it ended: `superseded` by the next in line or by changed arguments. */
  readonly state: "open" | NonNullable<IntentView["outcome"]>;
  /** Why it ended so. */
  readonly ended?: string;
  /** When, milliseconds since the epoch. */
  readonly endedAt?: number;
  /** By whose word, and which vote that was; absent where its time was over, or the saga's. */
  readonly endedBy?: { readonly by: string; readonly as?: string; readonly vote?: Vote["vote"] };
  readonly votes: readonly RecordedVote[];
  readonly atDeadline: AtDeadline;
  /** What holds after the last in line, where there is a line. */
  readonly atLast?: AtDeadline;
  readonly line: readonly InLine[];
  readonly remindEveryMs?: number;
  /** The calls of the tool that tells people, reminders included, and those that could not be made. */
  readonly notices: readonly {
    readonly tool: string;
    readonly intent: IntentId;
    readonly reminder: number;
    /** Absent while it is being called. */
    readonly outcome?: string;
    readonly attempt: number;
    readonly reason?: string;
  }[];
  /** The saga that stands in for the people. `denied`: it could not be asked, or what it said not be taken. */
  readonly standIn?: {
    readonly name: string;
    readonly saga?: SagaId;
    /** Absent while it works. */
    readonly outcome?: string;
    readonly reason?: string;
  };
  /** The task it followed, and why. */
  readonly after?: NonNullable<IntentOf<"task">["after"]>;
  /** Of a model's call: the reply it stands in. */
  readonly why?: {
    readonly call: string;
    readonly model: string;
    readonly text?: string;
    readonly calls: readonly { readonly call: string; readonly tool: string; readonly input: Json }[];
  };
  /** What the saga has cost so far. */
  readonly spent: SagaView["spent"];
  /** Of an approval. */
  readonly undo?: Undoing;
  /** What a denial does; absent where nothing can be denied. */
  readonly denial?: string;
}

/** Reads one task, open or over. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, TASK_UNKNOWN. */
export async function readTask(ports: Ports, saga: SagaId, id: IntentId): Promise<TaskDetail> {
  const turns = (await readLedger(ports, saga)).map(({ turn }) => turn);
  const registered = await readRegistry(ports.registry);
  const account = await inPieces(ports.loop, accounting(turns));
  const view = viewOfAccount(account, viewingBy(registered));
  const viewed = view.intents.find((one) => one.intent.id === id);
  if (viewed?.intent.kind !== "task") throw new MeshError("TASK_UNKNOWN", `${saga}/${id} is no task`);
  const { intent } = viewed;
  const told = account.intents.get(id);
  const { remindEveryMs, after, next = [] } = intent;
  const standIn = standInOf(view, intent);
  const why = whyOf(turns, intent);
  const undo = undoingOf(registered, intent);
  const denial = denialOf(intent);
  return {
    ...taskOf(view, intent, viewed.input),
    state: viewed.outcome ?? "open",
    ...(viewed.reason === undefined ? {} : { ended: viewed.reason }),
    ...(told?.ended === undefined ? {} : { endedAt: told.ended.at, ...endedByOf(told.ended) }),
    votes: (told?.said ?? []).map(({ vote, at }) => ({ ...vote, at })),
    atDeadline: atDeadlineOf(intent),
    ...(intent.next === undefined ? {} : { atLast: atDeadlineOf({ ...intent, next: undefined }) }),
    line: next,
    ...(remindEveryMs === undefined ? {} : { remindEveryMs }),
    notices: view.intents.flatMap((one) => noticeOf(one, intent)),
    ...(standIn === undefined ? {} : { standIn }),
    ...(after === undefined ? {} : { after }),
    ...(why === undefined ? {} : { why }),
    spent: view.spent,
    ...(undo === undefined ? {} : { undo }),
    ...(denial === undefined ? {} : { denial }),
  };
}

/** Whose word ended a task: a vote on it, the end of the saga that stands in, or the result that settled its doubt. */
function endedByOf({ event }: Ended): Pick<TaskDetail, "endedBy"> {
  if (event.type === "result") return { endedBy: { by: event.by } };
  if (event.type !== "task") return {};
  const { vote, by, as } = event.vote;
  return { endedBy: { vote, by, ...(as === undefined ? {} : { as }) } };
}

const endOf = ({ outcome, reason }: IntentView) => ({
  ...(outcome === undefined ? {} : { outcome }),
  ...(reason === undefined ? {} : { reason }),
});

function noticeOf(viewed: IntentView, { id: task, notify }: IntentOf<"task">): TaskDetail["notices"] {
  const { intent, input, attempt } = viewed;
  if ((intent.kind !== "tool" && intent.kind !== "denied") || intent.for !== task) return [];
  if (intent.name !== notify?.name) return [];
  const told = input as { task?: { reminder?: number } } | undefined;
  const { id, name } = intent;
  return [{ tool: name, intent: id, reminder: told?.task?.reminder ?? 0, attempt, ...endOf(viewed) }];
}

function standInOf({ intents }: SagaView, { id, standIn }: IntentOf<"task">): TaskDetail["standIn"] {
  if (standIn === undefined) return undefined;
  const { name } = standIn;
  const child = intents.find(({ intent }) => intent.kind === "saga" && intent.for === id);
  const refused = intents.find(
    ({ intent }) => intent.kind === "denied" && intent.for === id && intent.name === name,
  );
  const ended = refused ?? child;
  return {
    name,
    ...(child?.intent.kind === "saga" ? { saga: child.intent.saga } : {}),
    ...(ended === undefined ? {} : endOf(ended)),
  };
}

function atDeadlineOf({ about, otherwise, next }: IntentOf<"task">): AtDeadline {
  const [first] = next ?? [];
  if (first !== undefined) return { does: "escalate", to: first.to, withinMs: first.withinMs };
  switch (about) {
    case "approval":
      return { does: otherwise === "approve" ? "approve" : "deny" };
    case "question":
      return otherwise === undefined ? { does: "fail" } : { does: "answer", answer: otherwise };
    case "doubt":
      return { does: "doubt" };
    case "budget":
      return { does: "fail" };
    case "stuck":
      return { does: "leave" };
  }
}

/** What the model said when it proposed the call: decisions are counted, and a call is named by its decision. */
function whyOf(turns: readonly Turn[], { call }: IntentOf<"task">): TaskDetail["why"] {
  if (call === undefined) return undefined;
  const step = call.slice(0, call.indexOf("."));
  const decisions: IntentId[] = [];
  for (const { steps } of turns)
    for (const { event, intents } of steps) {
      if (event.type === "result" && event.result.outcome === "succeeded") {
        const place = decisions.indexOf(event.intent);
        const reply = place + 1 === Number(step) ? ModelReply.safeParse(event.result.output) : undefined;
        if (reply?.success === true) return wordsOf(call, step, reply.data);
      }
      for (const intent of intents)
        if (intent.kind === "model" && intent.input === undefined) decisions.push(intent.id);
    }
  return undefined;
}

const wordsOf = (call: string, step: string, { model, text, calls }: ModelReply): TaskDetail["why"] => ({
  call,
  model,
  ...(text === undefined ? {} : { text }),
  calls: calls.map(({ tool, input }, place) => ({ call: `${step}.${place}`, tool, input })),
});

function undoingOf({ tools }: Registered, { about, tool }: IntentOf<"task">): Undoing | undefined {
  if (about !== "approval") return undefined;
  const contract = tools.findLast(({ name }) => name === tool);
  if (contract === undefined) return { by: "unknown" };
  const compensation = contract["compensation"];
  if (contract.effect === "read") return { by: "nothing_to_undo" };
  if (typeof compensation !== "string") return { by: "none" };
  return compensation === "point_of_no_return"
    ? { by: "point_of_no_return" }
    : { by: "compensation", tool: compensation };
}

/** An agent's tasks name the call; those of any other saga do not. */
function denialOf({ about, call }: IntentOf<"task">): string | undefined {
  const agent = call !== undefined;
  switch (about) {
    case "approval":
      return agent
        ? "the call is not made; the model is told that it was denied [APPROVAL_DENIED], with the reason, and goes on"
        : "the call is not made; the saga takes it as an error [APPROVAL_DENIED], with the reason";
    case "question":
      return agent
        ? "the model is told that no answer comes, with the reason, and goes on"
        : "the saga takes it as an error, with the reason";
    case "stuck":
      return "what could not be undone is left standing, and listed so at the end";
    case "budget":
      return "the saga fails [BUDGET_EXCEEDED] and undoes what it did";
    case "doubt":
      return undefined; // A doubt is answered.
  }
}
