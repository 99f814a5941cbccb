/**
 * Client: starting sagas, signalling them, reading their ledgers, answering what they ask. It decides nothing
 * and holds nothing; every call is a message or a read.
 *
 * CN1 What a call resolves for was acked by the server: it will be in the saga's ledger, or in the dead letters
 *     with a reason.
 */
import { z } from "zod";
import type { SagaDefinition, SignalSchemas } from "../../actors/contract/definition.ts";
import {
  type ReservedData,
  isTaken,
  type ReservedSignal,
  reservedSignals,
  unknownSignal,
} from "../../actors/contract/reserved-signals.ts";
import type { DeclaredDocument, DeploymentDocument } from "../../protocol/documents/deployment.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { MigrateDocument } from "../../protocol/documents/migrate.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { MeshError } from "../../protocol/errors.ts";
import { mintSagaId, parseIntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { toValue } from "../../protocol/value.ts";
import type { StartIdentity } from "../../protocol/start.ts";
import type { ArchivedEnd } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import type { Many } from "../ledger/many.ts";
import { readLedger, readView } from "../views/view.ts";
import type { Ports } from "../wire/ports.ts";
import { parseSettlementToken } from "../wire/settlement-token.ts";
import { listDeployments, promote, ramp, type Waiting, type WhichDefinition } from "./deployments.ts";
import { followTurns } from "./follow-turns.ts";
import type { ForkOptions } from "./fork.ts";
import { type DescribeOptions, describeSaga, listSagas } from "./list.ts";
import type { SagaFilter } from "./saga-filter.ts";
import { type BegunSeen, createBegunSeen, knownSaga, untilBegun } from "./known.ts";
import { followLive, type LiveEvent } from "./live.ts";
import { type MigrateOptions, migrateSagas } from "./migrate.ts";
import { checkOutput, readRegistry } from "./registry.ts";
import { isSettledAs, unsettledCall } from "./finding.ts";
import { type ClientDeps, sendSignal, settleIntent, type VotedTask, type VoteInput } from "./send.ts";
import { type Schedules, schedulesOf } from "./schedules.ts";
import { ownStart, startFork, startSaga } from "./start.ts";
import { readTask, type TaskDetail } from "./task-detail.ts";
import { openTasks, type OpenTask } from "./tasks.ts";
import { castVote } from "./vote.ts";
import { waitForEnd } from "./wait-end.ts";
import { lastTurnOf } from "../ledger/chain.ts";

/**
 * How a saga ended. `standing` lists effects that were not undone, `<tool> <key>`; of a saga that completed those in
 * doubt alone, for the others are its purpose. What is in doubt stays open to `settle`.
 */
export type SagaEnd<O> =
  | { readonly status: "completed"; readonly output: O; readonly standing: readonly string[] }
  | {
      readonly status: "failed" | "cancelled";
      readonly reason: string;
      readonly code?: string;
      readonly standing: readonly string[];
    };

/** How a handle deals with an id that is no saga's. */
export interface HandleOptions {
  /**
   * Wait for a later start, in place of SAGA_UNKNOWN: a signal is stored and kept for the saga for an hour, after which it
   * goes to the dead letters with SAGA_UNKNOWN; `result`, `entries` and `tokens` wait as long as they are let; false
   * unless given.
   */
  readonly early?: boolean;
}

/**
 * A saga, from any process. Every method throws SAGA_UNKNOWN at once for an id that was never started, unless the handle
 * was made with `early`. A saga is started from the moment its start is stored, before any host has taken it.
 */
export interface SagaHandle<O, S extends SignalSchemas> {
  readonly id: SagaId;
  /** Sends a signal. The same `id` again is the same signal. Throws SAGA_UNKNOWN, INPUT_INVALID, SIGNAL_UNKNOWN. */
  signal<K extends keyof S & string>(name: K, data: z.input<S[K]>, options?: { id?: string }): Promise<void>;
  /**
   * Sends a signal that every saga takes undeclared: `pause`, `resume`, `flagged`; of an agent also `instruct` and
   * `rate_limited`. Throws SAGA_UNKNOWN, INPUT_INVALID, SIGNAL_UNKNOWN.
   */
  signal<K extends ReservedSignal>(name: K, data: ReservedData<K>, options?: { id?: string }): Promise<void>;
  /** Asks the saga to undo what it did and end. Throws SAGA_UNKNOWN. */
  cancel(reason: string): Promise<void>;
  /**
   * Waits for the end, however long it takes, and through restarts of hosts and server. Throws SAGA_UNKNOWN, also later if
   * a host refuses the start; of a handle that `start` gave, SAGA_ID_TAKEN if the ledger is another start's after all.
   */
  result(options?: { signal?: AbortSignal }): Promise<SagaEnd<O>>;
  /** Its turns so far; none if no host has begun it yet. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, LEDGER_BROKEN. */
  ledger(): Promise<Turn[]>;
  /** Its turns from the first, then as they are appended, until the end. Throws SAGA_UNKNOWN, SAGA_ARCHIVED. */
  entries(options?: { signal?: AbortSignal }): AsyncIterable<Turn>;
  /**
   * What happens and what is said meanwhile: turns, a model's words as they come, what tools tell of their progress,
   * until the end or the signal. A reader that comes back names the last turn it saw (`afterTurn`) and gets nothing of it
   * again. Throws SAGA_UNKNOWN, SAGA_ARCHIVED.
   */
  tokens(options?: { signal?: AbortSignal; afterTurn?: number }): AsyncIterable<LiveEvent>;
}

/** What `Mesh.describe` gives: the document of `sagamesh inspect --json`. */
export type SagaDescription = InspectDocument;

/** A client of a mesh. It decides nothing and holds nothing: every call is a message or a read. */
export interface Mesh extends AsyncDisposable {
  /**
   * Starts a saga. The same id with the same input is the same saga, also after the definition's version was raised; with
   * another input SAGA_ID_TAKEN, at once, whether or not a host is running, and for all but one of several that start it at
   * the same time. It begins with what new sagas of this name begin with then: the definition that was promoted, else the
   * newest that a host serves, whatever version this caller's own code has; `version` names one, for a caller that has to
   * have that one's output, say. `traceparent` (W3C's) is the span that it is started from: its spans, and those of all
   * sagas below it, then lie in that trace (`sagamesh trace`). Throws INPUT_INVALID, USAGE. Resolves when the start is stored.
   */
  start<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    input: z.input<I>,
    options?: { id?: string; version?: number; traceparent?: string },
  ): Promise<SagaHandle<z.infer<O>, S>>;
  /** A saga of this definition; with `early` one that may start later. Throws BAD_ID. */
  saga<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    id: string,
    options?: HandleOptions,
  ): SagaHandle<z.infer<O>, S>;
  /**
   * A saga by its id alone, of whatever definition: a child, say. Its signals are checked at its host's door only, which
   * refuses to the dead letters. Throws BAD_ID.
   */
  anySaga(id: string, options?: HandleOptions): SagaHandle<unknown, SignalSchemas>;
  /**
   * Starts a fork: a new saga that shares the first turns of the one named, and goes on from there by itself. What the
   * origin did is taken over with its keys and not done again; a decision that was open is asked anew. The same id with
   * the same options is the same fork. Resolves when the start is stored; a host copies the turns, and if it dies in
   * the middle another goes on, before anything of the fork is performed. Throws SAGA_UNKNOWN, SAGA_ARCHIVED,
   * TURN_UNKNOWN, SAGA_ENDED, INTENT_UNKNOWN, NOT_OPEN_THEN, INPUT_INVALID, SAGA_ID_TAKEN. What only the host can know is
   * refused to the dead letters: MODEL_UNKNOWN, FORK_NOT_LIVE.
   */
  fork<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    origin: string,
    options: ForkOptions,
  ): Promise<SagaHandle<z.infer<O>, S>>;
  /**
   * Answers a deferred call, by its token or callback URL. Throws BAD_ID, SAGA_UNKNOWN; INTENT_UNKNOWN, also for a call that
   * is settled otherwise; INPUT_INVALID for what does not fit the tool's output as hosts have registered it.
   */
  settle(token: string, result: { succeeded: unknown } | { failed: string }): Promise<void>;
  /**
   * The sagas that the filter means, all unless given, a row each: how it stands, what it waits for, what it used. The one
   * that changed last comes last. A ledger that cannot be read is a row with a `fault`, which no query means and which
   * `unreadable` of the list names whatever the filter. Reads every ledger. Throws USAGE for a filter that cannot be
   * read, UNAVAILABLE.
   */
  list(filter?: SagaFilter): Promise<Many<SagaRow>>;
  /**
   * Everything that its ledger says of one saga: phase, intents with their outcomes, effects that stand, spending, its
   * last events; as it was after an earlier turn, too. Throws BAD_ID, SAGA_UNKNOWN, SAGA_ARCHIVED, TURN_UNKNOWN,
   * LEDGER_BROKEN, USAGE; with `app` also VERSION_UNSERVED and FOLD_DIVERGED.
   */
  describe(saga: string, options?: DescribeOptions): Promise<SagaDescription>;
  /** What waits for a human, over all sagas; `unreadable` of the list names those whose ledgers cannot be read. */
  tasks(): Promise<Many<OpenTask>>;
  /** All that a reviewer needs of one task, open or over. Throws BAD_ID, SAGA_UNKNOWN, TASK_UNKNOWN. */
  task(task: { saga: string; intent: string }): Promise<TaskDetail>;
  /**
   * Says something of a task. Given a task as `tasks` or `task` lists it, the vote is bound to the digest of the
   * arguments that were shown. What ledger and registry tell is refused at once: throws SAGA_UNKNOWN, SAGA_ARCHIVED,
   * TASK_UNKNOWN, TASK_OVER (who decided what, and when), VOTER_NOT_ASKED, ARGUMENTS_CHANGED, INPUT_INVALID. What only the
   * saga's host can know, or finds when it comes, is in the dead letters. The very vote that the ledger has is a repeat.
   */
  vote(task: VotedTask, vote: VoteInput): Promise<void>;
  /**
   * Moves running sagas to the definitions of their names in this application, those that can be moved; with `dryRun`
   * only says which can. One document each. What it resolves for as `asked` is stored as a signal and taken by the
   * first host that serves the new definition; whichever process dies meanwhile, the saga is moved once or not at all.
   * `unreadable` of the list names the sagas that cannot be read, or are not there. Throws BAD_ID, UNAVAILABLE.
   */
  migrate(app: App, options?: MigrateOptions): Promise<Many<MigrateDocument>>;
  /**
   * Every definition that is served, declared or has living sagas: which hosts serve it, what of the new sagas of its name
   * begins with it, how many sagas live under it; `unreadable` of the list names those that cannot be read and are not
   * counted. Reads every ledger. Throws UNAVAILABLE.
   */
  deployments(): Promise<Many<DeploymentDocument>>;
  /**
   * New sagas of its name begin with this definition from now on, and a ramp of the name ends: `"hire@2"`,
   * `"hire@2#1f0c"`, or an object with `name`, `version` and, if need be, `hash`. Their starts wait while no host serves
   * it. Resolves when every living host goes by it; a caller that dies before has declared it or not, and may ask again.
   * Throws USAGE, AGENT_UNKNOWN, DEFINITION_UNKNOWN, UNAVAILABLE.
   */
  promote(definition: WhichDefinition, options?: Waiting): Promise<DeclaredDocument>;
  /**
   * A share, 0 to 1, of the new sagas of its name begins with this definition, chosen by the saga's id, so that a repeated
   * start goes where the first one went; the others with the current one. 0 ends the ramp. Where nothing was
   * promoted, what new sagas begin with now is from then on. While no host serves it, its share goes to the current one.
   * Resolves and throws as `promote`; USAGE also for a share of the current one.
   */
  ramp(definition: WhichDefinition, share: number, options?: Waiting): Promise<DeclaredDocument>;
  /** Sagas that begin by themselves, at times that a cron expression names. */
  readonly schedules: Schedules;
  close(): Promise<void>;
}

/** A client on given ports. `connect` is the one for users. */
export function createClient(given: ClientDeps, close: () => Promise<void>): Mesh {
  const deps = { ...given, begun: createBegunSeen() };
  return {
    start: async (saga, input, options) => {
      const id =
        options?.id === undefined
          ? mintSagaId(saga.name, deps.clock.now(), deps.chance.random())
          : parseSagaId(options.id);
      const value = toValue(input); // Before any schema walks it.
      const parsed = saga.input.safeParse(input);
      if (!parsed.success)
        throw new MeshError("INPUT_INVALID", `the input of ${saga.name}: ${z.prettifyError(parsed.error)}`);
      const { traceparent } = options ?? {};
      const start = { id, name: saga.name, version: versionOf(options), input: value, traceparent };
      await startSaga(deps, { ...start, isMinted: options?.id === undefined });
      return handleOf(deps, id, saga, { started: ownStart(saga.name, start.input) });
    },
    saga: (saga, id, options) => handleOf(deps, parseSagaId(id), saga, options),
    anySaga: (id, options) => handleOf(deps, parseSagaId(id), undefined, options),
    fork: async (saga, origin, options) =>
      handleOf(deps, (await startFork(deps, parseSagaId(origin), options)).id, saga, {}),
    settle: async (token, result) => {
      const { saga, intent } = parseSettlementToken(token);
      const said = "succeeded" in result ? { succeeded: toValue(result.succeeded) } : result;
      const view = await readView(deps.ports, saga);
      if (isSettledAs(view, intent, said)) return;
      const { call, tool } = unsettledCall(view, intent, said);
      if ("succeeded" in said)
        checkOutput(await readRegistry(deps.ports.registry), { ...call.intent, name: tool }, said.succeeded);
      // A result counts for its own attempt, and a token names none.
      await settleIntent(deps, { saga, intent: call.intent.id, attempt: call.attempt }, said);
    },
    list: (filter = {}) => listSagas(deps.ports, filter, deps.clock.now()),
    describe: async (saga, options = {}) => describeSaga(deps, parseSagaId(saga), options),
    tasks: () => openTasks(deps.ports),
    task: async ({ saga, intent }) => readTask(deps.ports, parseSagaId(saga), parseIntentId(intent)),
    vote: async (task, vote) => {
      const { saga, intent, digest } = task;
      await castVote(deps, { saga: parseSagaId(saga), intent: parseIntentId(intent), digest }, vote);
    },
    migrate: (app, options) => migrateSagas(deps, app, options),
    deployments: () => listDeployments(deps.ports),
    promote: (definition, options) => promote(deps, definition, options),
    ramp: (definition, share, options) => ramp(deps, definition, share, options),
    schedules: schedulesOf(deps),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Throws USAGE: any other value would start whatever is newest. */
function versionOf({ version }: { readonly version?: number | undefined } = {}): number | undefined {
  if (version === undefined || Number.isInteger(version)) return version;
  throw new MeshError("USAGE", `start: version is no whole number`, {
    remedy: "Give a version's number, for example `version: 2`, or none.",
  });
}

/** Without a definition nothing is known of its signals here, and any is sent. */
function handleOf<O extends z.ZodType, S extends SignalSchemas>(
  deps: ClientDeps & { readonly begun: BegunSeen },
  id: SagaId,
  definition: SagaDefinition<z.ZodType, O, S> | undefined,
  { early = false, started }: HandleOptions & { readonly started?: StartIdentity } = {},
): SagaHandle<z.infer<O>, S> {
  const known = async () => {
    if (early || deps.begun.has(id)) return;
    if ((await knownSaga(deps, id)) === "begun") deps.begun.add(id); // A start that is stored may be refused yet.
  };
  const send = (name: string, data: Json, given?: string) => sendSignal(deps, id, name, data, given, known());
  return {
    id,
    signal: async (name: string, data: unknown, options?: { id?: string }) => {
      const value = toValue(data); // Before any schema walks it.
      if (definition !== undefined) assertSignal(definition, name, data);
      await send(name, value, options?.id);
    },
    cancel: (reason) => send("cancel", { reason }),
    result: async (options) => readEnd<z.infer<O>>(await endOf(deps, id, { ...options, early, started })),
    ledger: async () => {
      await known();
      return ledgerOf(deps.ports, id);
    },
    entries: (options) => after(known, () => followTurns(deps.ports, id, options?.signal)),
    tokens: (options) => after(known, () => followLive(deps.ports, id, options)),
  };
}

async function* after<T>(check: () => Promise<void>, follow: () => AsyncIterable<T>): AsyncGenerator<T> {
  await check();
  yield* follow();
}

async function ledgerOf(ports: Ports, id: SagaId): Promise<Turn[]> {
  if ((await lastTurnOf(ports, id)) === undefined) return [];
  return (await readLedger(ports, id)).map(({ turn }) => turn);
}

/** Throws SIGNAL_UNKNOWN, INPUT_INVALID. */
function assertSignal({ definition, name: of, signals }: SagaDefinition, name: string, data: unknown): void {
  const { takes } = definition.kind;
  const schema = isTaken(takes, name) ? reservedSignals[name] : signals[name];
  if (schema === undefined) throw unknownSignal(takes, of, name, Object.keys(signals));
  const parsed = schema.safeParse(data);
  const isNothing = (data === undefined || data === null) && schema.safeParse({}).success;
  if (!parsed.success && !isNothing)
    throw new MeshError("INPUT_INVALID", `signal "${name}": ${z.prettifyError(parsed.error)}`);
}

/** The end, once it is there. While the saga has not begun it is looked whether it still may (`untilBegun`). */
async function endOf(
  deps: ClientDeps,
  saga: SagaId,
  { signal, early, started }: { signal?: AbortSignal; early: boolean; started: StartIdentity | undefined },
): Promise<ArchivedEnd> {
  const own = new AbortController();
  const waiting = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
  const looking = early ? Promise.resolve() : untilBegun(deps, saga, waiting);
  looking.catch(() => own.abort()); // Its reason is thrown below.
  try {
    const end = await waitForEnd(deps, { saga, started, signal: waiting });
    if (end !== undefined) return end;
  } finally {
    own.abort();
  }
  await looking;
  signal?.throwIfAborted();
  throw new MeshError("INTERNAL", `waiting for ${saga} ended without a reason`);
}

function readEnd<O>(end: ArchivedEnd): SagaEnd<O> {
  const { status, output, reason = "", code, standing } = end;
  if (status === "completed") return { status, output: output as O, standing }; // Checked by the fold.
  return { status, reason, standing, ...(code === undefined ? {} : { code }) };
}
