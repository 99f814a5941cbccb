/**
 * Documents: what the console's server and its page say to each other. Types alone, so that the page carries no schema.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import type { GraphNodeKind, GraphStatus } from "../../protocol/documents/graph.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { IntentDocument } from "../../protocol/documents/intent.ts";
import type { LetterDocument } from "../../protocol/documents/letter.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { StateDocument } from "../../protocol/documents/state.ts";
import type { TaskDetailDocument, TaskDocument } from "../../protocol/documents/task.ts";
import type { WhySentence } from "../../protocol/documents/why.ts";
import type { ThrottleStanding } from "../../protocol/throttle.ts";
import type { BulkRow } from "../bulk/act.ts";

/** `GET /api/sagas/<id>/turns/<n>`: as the ledger has it. */
export type { Turn } from "../../protocol/turn.ts";

/** `GET /api/me`: what the page is to show of the process it talks to. */
export interface MeDocument {
  /** Recorded with signals and votes unless a person names another. */
  readonly from: string;
  /** The NATS server, without a password. */
  readonly server: string;
  readonly version: string;
  /** How the one who asks got in: from this machine, with a token, or through a proxy. */
  readonly by: "machine" | "token" | "proxy";
  /** Whether acts of theirs are taken. */
  readonly mayAct: boolean;
  /** Whom the proxy names, and their groups: what they do is recorded under that name. */
  readonly name?: string;
  readonly groups?: readonly string[];
}

/** A saga in the list. */
export interface ListedSaga extends SagaRow {
  /** A task of it waits for a person. */
  readonly asks: boolean;
  /** Where it stands in the list: later ones changed later. */
  readonly place: number;
}

/** `GET /api/sagas`: the last change first. */
export interface SagasDocument {
  readonly rows: readonly ListedSaga[];
  /** The page after this one begins behind this place; absent where this is the last. */
  readonly next?: number;
  /** How many fit all conditions. */
  readonly found: number;
  /** Of all sagas, whatever was asked. */
  readonly counts: SagaCounts;
  /** Why the list may lack some. */
  readonly note?: string;
}

export interface SagaCounts {
  readonly status: Readonly<Record<string, number>>;
  /** How many ask a person. */
  readonly asks: number;
  /** The most frequent definitions first. */
  readonly names: readonly { readonly name: string; readonly count: number }[];
}

/** `GET /api/sagas/<id>`: a saga as it stands, or as it stood after `turn`. */
export interface SagaDocument extends Omit<InspectDocument, "intents" | "events"> {
  /** Of its definition, where a host has registered that. */
  readonly kind?: string;
  /** How many turns its ledger has, where not all are told of. */
  readonly of?: number;
}

/** `GET /api/sagas/<id>/memory`: an agent's working memory, as a host last kept it; with `now` by its definition, where that is known. */
export interface MemoryDocument {
  /** Turns of its ledger. */
  readonly of: number;
  /** Absent where it is not known, or there is none. */
  readonly memory?: unknown;
  /** After which turn it was so. */
  readonly turn?: number;
  /** Why it is absent. */
  readonly why?: string;
}

/** One thing that happened, or was decided and took its time. */
export interface TimelineItem {
  /** The intent's id, or one that says where the event stands. */
  readonly id: string;
  readonly kind: GraphNodeKind | "takeover" | "vote";
  readonly label: string;
  readonly detail: string;
  /** The digest of the arguments, of which \`detail\` may have the beginning alone. */
  readonly args?: string;
  readonly turn: number;
  /** Milliseconds since the epoch, as are all times here. */
  readonly at: number;
  /** When it was over; absent while it is open, and of what took no time. */
  readonly until?: number;
  /** The turn that has its outcome. */
  readonly settledTurn?: number;
  /** How it stood in between, where its outcome was corrected or undone: from which turn on, in order. */
  readonly was?: readonly {
    readonly turn: number;
    readonly status: GraphStatus;
    readonly until: number;
  }[];
  /** The last turn that changed anything here. */
  readonly changed: number;
  readonly status: GraphStatus;
  readonly attempts: number;
  readonly intent?: string;
  /** Another saga: a child, or one that was written to. */
  readonly saga?: string;
  /** Its performer has handed it to the outside. */
  readonly deferred?: true;
  readonly dueAt?: number;
  /** What a model said, its beginning. */
  readonly words?: string;
  readonly tokens?: number;
  readonly usd?: number;
  /** Whose word it was. */
  readonly by?: string;
  /** Why it ended as it did, where it did not succeed. */
  readonly reason?: string;
}

/** `GET /api/sagas/<id>/timeline`: in the ledger's order; with `after` what a later turn changed, and what is open. */
export interface TimelineDocument {
  readonly saga: string;
  readonly status: SagaRow["status"];
  readonly turns: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly items: readonly TimelineItem[];
}

/** `GET /api/sagas/<id>/intents/<intent>`. */
export interface IntentStory {
  readonly intent: IntentDocument;
  readonly at: number;
  readonly until?: number;
  readonly why: readonly WhySentence[];
}

export type {
  GivenVerdict,
  GraphPicture,
  PlacedBox,
  PlacedLine,
  PlacedNode,
  PlanNode,
  PlanPicture,
} from "./pictures.ts";

/** `GET /api/sagas/<id>/state/<dimension>`: a side of its state; of what grows with a ledger the last rows. */
export interface SideDocument {
  readonly state: StateDocument;
  /** So many earlier rows are left out. */
  readonly leftOut: number;
}

/** `GET /api/sagas/<id>/intents/<intent>/prompt`: with long values folded, unless `whole` is asked for. */
export type { PromptDocument } from "../../protocol/documents/prompt.ts";

/** `GET /api/sagas/<id>/why`. */
export interface StoryDocument {
  readonly sentences: readonly WhySentence[];
  readonly sum: readonly WhySentence[];
}

/** `GET /api/tasks`. */
export interface TasksDocument {
  readonly tasks: readonly TaskDocument[];
  /** Sagas that ask somebody and cannot be read. */
  readonly unreadable: readonly { readonly saga: string; readonly code: string; readonly reason: string }[];
  readonly note?: string;
}

/** `GET /api/tasks/<saga>/<intent>`. */
export type TaskStory = Omit<TaskDetailDocument, "task" | "commands">;

/** `GET /api/tools/<name>/input`, and `/output`: the JSON schema of it; absent where no host has registered the tool. */
export interface ToolSchema {
  readonly schema?: unknown;
}

/** `POST /api/tasks/<saga>/<intent>`. */
export interface VoteBody {
  readonly vote: "approve" | "deny" | "answer" | "edit";
  readonly answer?: unknown;
  readonly input?: unknown;
  readonly reason?: string;
  readonly by?: string;
  readonly as?: string;
  /** Of the arguments that were shown. */
  readonly digest?: string;
}

/** `POST /api/sagas/<id>/signals`. `id` is what a repeat is known by. */
export interface SignalBody {
  readonly name: string;
  readonly data: unknown;
  readonly id: string;
}

/** `GET /api/sagas/<id>/takes`: what it can be told. */
export interface TakesDocument {
  /** Each with the JSON schema of its data. */
  readonly signals: readonly { readonly name: string; readonly schema: unknown }[];
  /** Models that hosts know, which a fork of it can ask. */
  readonly models: readonly string[];
}

/** `POST /api/sagas/<id>/findings`: what became of a call that is open or in doubt. */
export interface FindingBody {
  readonly intent: string;
  readonly finding:
    | { readonly outcome: "happened"; readonly output: unknown }
    | { readonly outcome: "did_not_happen"; readonly reason?: string };
  readonly by?: string;
}

/** `POST /api/sagas/<id>/forks`. A repeat under the same `id` is the same fork. */
export interface ForkBody {
  /** The last turn that both share. */
  readonly turn: number;
  readonly id: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly effects?: "simulated" | "live" | "forbidden";
}

/** What it answers. */
export interface ForkedAnswer {
  readonly saga: string;
  /** A host has taken it. */
  readonly begun: boolean;
}

/** `GET /api/found?filter=`: the sagas that a filter means, the last change first; with `sort=cost` the dearest. */
export interface FoundDocument {
  /** When it was asked. */
  readonly at: number;
  readonly rows: readonly FoundSaga[];
  /** There are more. */
  readonly isCut: boolean;
}

export interface FoundSaga {
  readonly saga: string;
  readonly name: string;
  readonly version: number;
  readonly status: string;
  readonly updatedAt: number;
  readonly turns: number;
  readonly usd: number;
  /** The code with which it ended; empty where there is none. */
  readonly error: string;
}

/** What can be done to many sagas. */
export type BulkKind = "cancel" | "settle" | "retry" | "archive";

export type { BulkRow } from "../bulk/act.ts";

/** `GET /api/bulk/<kind>?filter=`: what would be done; `POST`: what came of it. */
export interface BulkDocument {
  readonly rows: readonly BulkRow[];
  /** The filter means more sagas than these. */
  readonly isCut: boolean;
  /** Where sagas are archived to, on the machine of the console. */
  readonly folder?: string;
}

/** `POST /api/bulk/<kind>`, of one kind the members that it takes. */
export interface BulkBody {
  /** A hundred at most, of those that were shown. */
  readonly items: readonly Pick<BulkRow, "saga" | "intent" | "letter">[];
  /** What repeats of a cancellation are known by. */
  readonly id?: string;
  readonly reason?: string;
  readonly finding?: FindingBody["finding"];
  readonly by?: string;
  /** How many days ago a saga must have ended to be archived. */
  readonly days?: number;
}

/** `GET /api/cost?days=`. */
export interface CostDocument {
  /** When it was asked. */
  readonly at: number;
  /** The first day that counts, in UTC. */
  readonly since: string;
  /** In order; a day on which nothing was spent is absent. */
  readonly days: readonly Spent[];
  /** The dearest first. */
  readonly agents: readonly Spent[];
  readonly models: readonly Spent[];
  /** Sagas that go on and have used most of a limit. */
  readonly near: readonly NearBudget[];
}

/** What was spent on a day, by an agent or on a model. */
export interface Spent {
  readonly name: string;
  readonly usd: number;
  readonly tokens: number;
  readonly calls: number;
}

export interface NearBudget {
  readonly saga: string;
  readonly limit: string;
  readonly used: number;
  readonly most: number;
}

/** `GET /api/mesh`: hosts, queues and what is wrong, as a look found them. */
export interface MeshDocument {
  readonly at: number;
  readonly doctor: DoctorDocument;
  /** The definitions that each living host serves. */
  readonly serving: readonly {
    readonly host: string;
    readonly draining: boolean;
    readonly serves: readonly { readonly name: string; readonly version: number; readonly hash: string }[];
  }[];
  /** Tools and models of which something is held back now, or would be. */
  readonly throttles: readonly ThrottleStanding[];
  /** The newest first; `lettersInAll` says whether there are more. */
  readonly letters: readonly LetterDocument[];
  readonly lettersInAll: number;
}

/** `GET /api/latencies`: how long calls took that ended within the last hour. What people were asked about, or the outside was, is not among them. */
export interface LatenciesDocument {
  /** When it was asked. */
  readonly at: number;
  /** There were more calls: these are of the newest. */
  readonly isCut: boolean;
  readonly tools: Latencies;
  readonly models: Latencies;
}

/** Milliseconds from the decision to the result on the ledger, waiting for whoever performs it among them. */
export interface Latencies {
  /** Of each five minutes, the oldest first; absent where nothing ended. */
  readonly over: readonly { readonly p50?: number; readonly p95?: number }[];
  /** Those that most calls were of first. */
  readonly names: readonly {
    readonly name: string;
    readonly calls: number;
    readonly failed: number;
    readonly p50: number;
    readonly p95: number;
    readonly longest: number;
  }[];
}

/** `GET /api/letters/<number>`: one whole. */
export type { LetterDocument } from "../../protocol/documents/letter.ts";

/** `POST /api/letters/<number>`. */
export interface LetterBody {
  readonly do: "retry" | "drop";
}

/** What any refusal is. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string };
}

/** What `GET /api/changes` says, an event each, by its name. */
export interface ChangeEvents {
  /** Some sagas began, asked somebody or ended. */
  readonly sagas: SagaCounts;
  /** Something was stored on some ledger; at most twice a second. */
  readonly moved: { readonly at: number };
  /** The saga that is followed has this turn now. */
  readonly turn: { readonly saga: string; readonly turn: number };
  /** A model that the saga waits for says this. */
  readonly words: { readonly intent: string; readonly kind: "text" | "thinking"; readonly piece: string };
  /** What it said counts no more, or stands on the ledger now. */
  readonly unsaid: { readonly intent: string };
  /** What a tool tells of its progress. */
  readonly progress: { readonly intent: string; readonly note: unknown };
  /** The saga that is followed cannot be read on. */
  readonly lost: { readonly code: string; readonly message: string };
}
