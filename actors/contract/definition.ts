/**
 * Definition: what a host needs of a saga to decide for it, with its types erased, and the kind it is of.
 *
 * DF1 A definition is known by name, version and content hash; a saga keeps the one it was started with.
 * DF2 `faults` lists everything that is wrong with it. A definition with faults is never served. `notes` lists what is likely a
 *     slip and harms nothing: it is told where the application is loaded.
 * DF3 What only one kind needs stands in `own`, and only that kind's own functions and guards reach it. The kernel
 *     calls the kind's functions and compares no names.
 * DF4 A kind's functions are pure: they run wherever a ledger is folded, and give the same for the same.
 */
import type { z } from "zod";
import type { Follows } from "../../protocol/follows.ts";
import type { Variant } from "../../protocol/fork.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage, ModelReply, ModelRequest } from "../../protocol/model.ts";
import type { MachineEvent } from "../machine/actions.ts";
import type { Callable, ModelCall } from "../machine/callable.ts";
import type { Machine, MachineStatus } from "../machine/machine.ts";
import type { Budget } from "./budget-config.ts";
import type { Policy } from "./policy.ts";
import type { ReservedSignal } from "./reserved-signals.ts";
import type { Ending, KeptSignal, OpenIntent, SagaState, StandingEffect } from "./state.ts";
import type { EffectToUndo, Tool } from "./tool.ts";

/** The signals that a definition declares: each name with the schema of its data. */
export type SignalSchemas = Readonly<Record<string, z.ZodType>>;

/** By a part's name its digest: `instructions`, `signal go`, `tool book: input`. */
export type DefinitionParts = Readonly<Record<string, string>>;

/**
 * How a definition's sagas move. `pinned`: each stays with the definition it was started with until a person migrates it.
 * `auto`: one that sleeps goes on under the newer definition that starts go to, at its next turn, if that decides the
 * same for all that is on its ledger.
 */
export type Moves = "pinned" | "auto";

/**
 * A signal that no present state takes: kept and offered again after each transition, or dropped; for all, or by the signal's
 * name. Undefined: dropped, as XState does it; kept by sagas that began when that was the rule.
 */
export type WhenEarly = "keep" | "ignore" | Readonly<Record<string, "keep" | "ignore">> | undefined;

/** What a machine logs: `host`: a line of its host's log. `ledger`: that, and with the turn that logged it. */
export type LogsTo = "host" | "ledger";

/** What every definition has, whatever its kind. `Own` is what its kind has besides. */
export interface Definition<Own = unknown> {
  readonly kind: Kind<Own>;
  readonly own: Own;
  readonly name: string;
  readonly version: number;
  readonly hash: string;
  /** What the hash is made of. */
  readonly parts: DefinitionParts;
  readonly moves: Moves;
  readonly description: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly signals: SignalSchemas;
  readonly whenEarly: WhenEarly;
  /** Where what its machine logs is kept. In the host's log unless given. */
  readonly logs?: LogsTo | undefined;
  readonly machine: Machine;
  /** Every tool that may become an intent, the compensating ones included. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** What it may start, under its policies. */
  readonly sagas: ReadonlyMap<string, Definition>;
  /** A machine's single model calls. */
  readonly modelCalls: readonly ModelCall[];
  /** Names of the model ports it asks; first the one that decides, if one does. */
  readonly models: readonly string[];
  /** From above first (inherit.ts), then its own. */
  readonly policies: readonly Policy[];
  /** Of one that was bound to policies from above: as its author defined it. */
  readonly plain?: Definition<Own>;
  readonly budget: Budget;
  /** No tokeniser makes more than so many tokens of what is the same in every request. */
  readonly frameTokens: number;
  /** What a flag does beside being recorded and shown. */
  readonly whenFlagged: "show" | "pause";
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

/** A refusal at the door, by its code and the sentence that says why. */
export interface DoorRefusal {
  readonly code: "INPUT_INVALID" | "TOO_LARGE";
  readonly reason: string;
}

/** What is recorded of a call of a model, and what stands beside it while it is open. */
export interface ModelIntent {
  /** The digest of the request. */
  readonly request: string;
  /** As the intent keeps it. */
  readonly input?: Json;
  /** As the open intent keeps it: all that `requestOf` needs besides the conversation. */
  readonly open: Json;
}

/** A model that a machine wants asked, as its kind reads that. */
export interface ModelQuery {
  /** The name of the port. */
  readonly model: string;
  /**
   * How the budget treats it. `decision`: the last one is told that it is. `summary`: made only if a decision fits after
   * it. `single`: a call like any other.
   */
  readonly counts: "decision" | "summary" | "single";
  /** Of a decision: whether its model was told that this is the last, and has been asked since. */
  readonly last?: "told" | "asked" | undefined;
  /** The most tokens it may write by its definition. */
  readonly outputTokensMax?: number | undefined;
  /** Of a single call, whose size no conversation tells. */
  readonly request?: ModelRequest;
  intentOf(at: number, outputTokensMax: number | undefined): ModelIntent;
}

/** By whom and when a model is asked. */
export interface ModelAsker {
  /** Who decides the turn: of a shared turn the fork's origin. */
  readonly saga: SagaId;
  readonly at: number;
  readonly variant: Variant | undefined;
}

/** A call of a model that was recorded. */
export interface RecordedQuery extends Omit<ModelAsker, "at"> {
  readonly intent: IntentOf<"model">;
  /** `ModelIntent.open`. */
  readonly open: Json;
}

/** A request that is ready to be sent. */
export interface BuiltRequest {
  readonly request: ModelRequest;
  /** What must have been recorded before the call. */
  readonly digest: string;
  /** The digest of the request as sent, where less than the conversation is; undefined where `digest` says it all. */
  readonly sent: string | undefined;
  /** Of a machine's single call: which of those that its definition binds. */
  readonly place?: number;
}

/** What a kind may remember: a signal that the saga took, or how a call of a tool or a child ended well. */
export type Told =
  | { readonly type: "signal"; readonly name: string; readonly data: Json; readonly from: string }
  | {
      readonly type: "result";
      readonly intent: IntentOf<"tool" | "saga">;
      readonly input: Json;
      readonly output: unknown;
    };

/** The memory after what was told, or why it stays; `by` names what changed it. */
export type Learnt = { readonly by: string } & (
  { readonly memory: Json } | { readonly code: string; readonly reason: string }
);

/**
 * A kind of definition: one record of functions. Method syntax, so that a `Kind<Own>` is a `Kind`: a definition holds the
 * record that takes its own `own`.
 */
export interface Kind<Own = unknown> {
  /** Stands in hashes, in the registry and in what policies are asked. Of each name there is one kind (kinds.ts). */
  readonly name: string;
  /** Reserved signals that it takes besides those every saga takes. */
  readonly takes: readonly ReservedSignal[];
  /**
   * Whether its machine makes calls, by ids that hold a dot: ended calls are told by `sagamesh.result`. `replied`: their
   * inputs stand in a model's reply and are recorded once. `given`: they stand nowhere else.
   */
  readonly calls: "none" | "replied" | "given";
  /** Whether its machine hears outputs as their schemas read them, or as they were given, and reads them itself. */
  readonly hears: "read" | "given";
  /**
   * The actor of its machine through which a model decides. A signal goes before a decision that is held; the model is
   * told of flags and of its budget, and some of the budget is kept for its last decision. Undefined: none decides.
   */
  readonly decision: string | undefined;
  /**
   * Whether what it called may be undone and called again. Then its machine hears what compensations said
   * (`sagamesh.undone`) and what stayed (`left`), may name calls that left nothing, and goes on only once people have
   * said what becomes of a compensation that is stuck.
   */
  readonly redoes: boolean;
  /** Whether a signal that is dropped because no state takes it is recorded as that: its author's states decide it. */
  readonly tellsIgnored: boolean;
  /** The machine's input. `read` is what the definition's schema makes of `given`; `follows`: as what its saga began. */
  machineInput(given: Json, read: unknown, at: number, follows: Follows | undefined): unknown;
  /**
   * A signal that was taken. `now` is when it is offered; `free`: what would be decided anew has not begun yet; `follows`:
   * as what its saga began.
   */
  signalEvent(
    definition: Definition<Own>,
    signal: KeptSignal,
    offered: { readonly now: number; readonly free: boolean; readonly follows: Follows | undefined },
  ): MachineEvent;
  /** A cancel, for a machine that ends by itself; undefined: the runtime undoes everything and ends the saga. */
  cancelEvent(cancel: {
    readonly reason: string;
    readonly from: string;
    readonly at: number;
  }): MachineEvent | undefined;
  /** What the machine's final state comes to. BAD_RESULT for an output that does not fit: the rest is undone. */
  ending(definition: Definition<Own>, status: MachineStatus): Ending;
  /** Why a signal that fits its schema cannot be taken now. */
  refusalOf?(
    definition: Definition<Own>,
    state: SagaState,
    signal: { readonly name: string; readonly data: Json },
  ): DoorRefusal | undefined;
  /** What undoes what a call did, before what its tool declares; `none`: nothing does. Undefined: it says nothing of it. */
  undoOf?(
    definition: Definition<Own>,
    state: SagaState,
    call: string,
    effect: EffectToUndo<unknown, unknown>,
  ): NonNullable<StandingEffect["undo"]> | "none" | undefined;
  /** A question's input may hold the schema of its answer, which then is told as JSON. */
  answerSchema?(input: Json): z.ZodType | undefined;
  /** The memory that it keeps beside its machine, as the start has it; undefined: none. */
  memory?(definition: Definition<Own>): Json | undefined;
  /** What it remembers of what was told; undefined: nothing new. Only called where there is a memory. */
  learn?(definition: Definition<Own>, memory: Json, told: Told): Learnt | undefined;
  /** How a call of a model that the machine invokes is made. `callable` is what it bound. */
  query(definition: Definition<Own>, callable: Callable, input: Json, asker: ModelAsker): ModelQuery;
  /** The request of a recorded call, rebuilt. Undefined where the definition makes no such call. */
  requestOf(
    definition: Definition<Own>,
    recorded: RecordedQuery,
    messages: readonly ModelMessage[],
  ): BuiltRequest | undefined;
  /** What the machine hears of a model's reply. */
  heard(reply: ModelReply): unknown;
  /** With what an open call is made anew, in a fork or under another definition. */
  again(definition: Definition<Own>, state: SagaState, open: OpenIntent): Json;
}

/** A definition as users hold it: the types are for them, `definition` for the host. */
export interface SagaDefinition<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  S extends SignalSchemas = SignalSchemas,
> extends Callable<I, O> {
  readonly kind: "saga";
  readonly version: number;
  readonly description: string;
  readonly signals: S;
  readonly definition: Definition;
}

/** What a callable is to those who read of it: a tool, or the kind of what it starts. */
export const kindNameOf = (callable: Callable): string =>
  callable.kind === "saga" ? (callable as SagaDefinition).definition.kind.name : callable.kind;
