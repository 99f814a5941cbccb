/**
 * The one error class and the closed table of codes.
 *
 * Owns: every code of an error, what it means, whether the same call may succeed later, and the remedy. Does not
 * own: how an error is printed (services/cli) or recorded (result.ts), and the codes of what `doctor` finds
 * (services/runtime/doctor), which nobody throws.
 *
 * E1 A code is never renamed or reused; ledgers keep codes for ever.
 * E2 A message has the form `[CODE] what happened`, and `remedy` says what to do next.
 */
import { workflowErrors } from "./workflow-errors.ts";

import { type ErrorRow, serverErrors } from "./server-errors.ts";

const table = {
  // Doors: what came in from outside
  USAGE: { meaning: "the command line is wrong", retriable: false, remedy: "See the command's --help." },
  BAD_JSON: {
    meaning: "the text is not JSON",
    retriable: false,
    remedy: 'Quote the JSON for the shell, for example \'{"role":"dev"}\'.',
  },
  BAD_MESSAGE: {
    meaning: "a message does not follow the protocol",
    retriable: false,
    remedy: "Compare it with the schemas in protocol/; `sagamesh decode` prints what a message holds.",
  },
  BAD_ID: {
    meaning: "an id is not of its form",
    retriable: false,
    remedy: "A saga id is 1 to 64 of a-z, 0-9, - and _; an intent id is <turn>-<k>.",
  },
  INPUT_INVALID: {
    meaning: "the input does not fit its schema",
    retriable: false,
    remedy: "Correct the fields named in the message.",
  },
  TOO_LARGE: {
    meaning: "a value is over its limit",
    retriable: false,
    remedy: "Send a reference to the data, or less of it.",
  },
  SIGNAL_UNKNOWN: {
    meaning: "the saga's definition declares no such signal",
    retriable: false,
    remedy: "Declare it in `signals`, or use one that `sagamesh inspect` lists.",
  },
  SIGNAL_EXPIRED: {
    meaning: "the signal is older than the horizon in which repeats are recognised",
    retriable: false,
    remedy: "Send it again with a new id if it still applies.",
  },
  SAGA_UNKNOWN: {
    meaning: "no saga has this id",
    retriable: false,
    remedy: "`sagamesh ls` lists the sagas.",
  },
  SAGA_ID_TAKEN: {
    meaning: "a saga with this id exists and was started with another input",
    retriable: false,
    remedy: "Use another id, or read the existing saga.",
  },
  SAGA_ENDED: { meaning: "the saga has ended", retriable: false, remedy: "Start a new saga." },
  SAGA_ARCHIVED: {
    meaning: "the saga's turns were archived and purged; only its tombstone is left",
    retriable: false,
    remedy:
      "Read it in its archive: `sagamesh inspect SAGA --archive DIR`, or the file's name in place of the saga's. What a late result says must be dealt with by hand.",
  },
  ARCHIVE_BROKEN: {
    meaning: "a file is no whole archive of the saga that was asked for",
    retriable: false,
    remedy: "Move the file away, or name another folder; what is still in the ledger was not purged.",
  },
  ARCHIVE_UNWRITABLE: {
    meaning: "the folder of archives cannot be written to",
    retriable: true,
    remedy: "Free space in the folder named, or name another with --to; nothing more was purged.",
  },
  RECORDING_INVALID: {
    meaning: "a file is no recorded conversation that can be told as a ledger",
    retriable: false,
    remedy:
      "Correct the line or message named, or say with --format which shape it has (anthropic, messages). Nothing was written.",
  },
  TASK_UNKNOWN: {
    meaning: "no task with this name is open",
    retriable: false,
    remedy: "`sagamesh tasks` lists the open ones.",
  },
  VOTER_NOT_ASKED: {
    meaning: "the task is for others",
    retriable: false,
    remedy:
      "Vote as one of those it is for: `--by NAME`, or `--as ROLE`; `sagamesh tasks show` names them and who is next.",
  },
  ARGUMENTS_CHANGED: {
    meaning: "the vote is for other arguments than the task's",
    retriable: false,
    remedy: "Look again at what the task asks (`sagamesh tasks show`) and vote on that.",
  },
  SIGNATURE_INVALID: {
    meaning: "a signature is not of what it stands beside",
    retriable: false,
    remedy:
      "Sign again what is asked now, with the arguments' digest (`sagamesh approve --nkey FILE`). In a ledger: it was changed, or never signed by that key.",
  },
  SIGNER_UNTRUSTED: {
    meaning: "a turn is not signed by a key that was named",
    retriable: false,
    remedy:
      "Find out which host wrote it; name its key with --trust if it is one of yours, or give it one (SAGAMESH_HOST_NKEY).",
  },
  INTENT_UNKNOWN: {
    meaning: "the saga has no such intent",
    retriable: false,
    remedy: "`sagamesh inspect SAGA` lists them.",
  },
  AGENT_UNKNOWN: {
    meaning: "no host serves a saga definition of this name",
    retriable: false,
    remedy: "Start a host whose application file defines it; `sagamesh doctor` lists what is served.",
  },
  MODEL_UNKNOWN: {
    meaning: "no model port of this name is configured",
    retriable: false,
    remedy: "Add it under `models` in the application file.",
  },
  TURN_UNKNOWN: {
    meaning: "the saga has no such turn",
    retriable: false,
    remedy: "`sagamesh tail SAGA` shows its turns with their numbers.",
  },
  NOT_OPEN_THEN: {
    meaning: "the intent was not open at the turn that is forked from",
    retriable: false,
    remedy: "Fork from the turn that the message names.",
  },
  FORK_NOT_LIVE: {
    meaning: "what the origin does, or did since, does not let a fork act for real",
    retriable: false,
    remedy:
      "Wait until the origin has settled what is in flight, give its result with --tool-result, or fork with simulated effects.",
  },
  LETTER_UNKNOWN: {
    meaning: "there is no dead letter of this number",
    retriable: false,
    remedy: "`sagamesh dead ls` lists them; somebody may have retried or dropped it.",
  },
  CALLBACK_REFUSED: {
    meaning: "a link was not signed by this gateway, or was changed on its way",
    retriable: false,
    remedy:
      "Use the whole link as it was given. The one who gives it must sign with a secret that the gateway has.",
  },
  CALLBACK_EXPIRED: {
    meaning: "the time to answer is over",
    retriable: false,
    remedy: "What did happen outside all the same is recorded by hand: `sagamesh settle SAGA INTENT JSON`.",
  },
  ANSWER_TAKEN: {
    meaning: "another answer was given first, and an answer is taken once",
    retriable: false,
    remedy: "Do not send it again; `sagamesh inspect SAGA` shows what was recorded.",
  },
  // Application file
  APP_INVALID: {
    meaning: "the application file has faults",
    retriable: false,
    remedy: "Correct every fault in the list; nothing was started.",
  },
  // Folding
  FOLD_DIVERGED: {
    meaning: "today's code decides otherwise than the ledger recorded",
    retriable: false,
    remedy: "Serve the version the saga was started with beside the new one.",
  },
  VERSION_UNSERVED: {
    meaning: "no host here serves the saga's definition",
    retriable: true,
    remedy: "Start a host with the version the saga was started with, or see `sagamesh migrate --dry-run`.",
  },
  MIGRATION_REFUSED: {
    meaning: "the saga cannot go on under the other definition",
    retriable: false,
    remedy:
      "See `sagamesh migrate --dry-run`; it goes on under the definition it has, once some host serves that.",
  },
  LEDGER_BROKEN: {
    meaning: "the ledger's chain of hashes or numbers is broken",
    retriable: false,
    remedy: "Restore the stream from a backup; `sagamesh verify SAGA` names the turn.",
  },
  MACHINE_THREW: {
    meaning: "the machine threw while it took an event",
    retriable: false,
    remedy: "Correct the guard or assign named in the message and start a new version.",
  },
  // Deciding
  TOOL_UNKNOWN: {
    meaning: "the model named a tool that the agent does not have",
    retriable: false,
    remedy: "Call one of the tools listed in the request.",
  },
  CALL_INVALID: {
    meaning: "a call's input does not fit the tool's schema",
    retriable: false,
    remedy: "Call again with an input that fits.",
  },
  CALL_IN_DOUBT: {
    meaning: "an equal call is in doubt: nobody knows whether it happened",
    retriable: false,
    remedy: "Find out whether it happened, with a tool that reads, or `sagamesh settle`.",
  },
  POLICY_DENIED: {
    meaning: "a policy of the agent denies the call",
    retriable: false,
    remedy: "Do without the call, or change the policy.",
  },
  EFFECTS_FORBIDDEN: {
    meaning: "the saga is a fork whose effects are forbidden",
    retriable: false,
    remedy: "Fork again with --effects simulated, or live.",
  },
  APPROVAL_DENIED: {
    meaning: "a human denied the call",
    retriable: false,
    remedy: "Read the reason and propose otherwise.",
  },
  MODEL_REPLY_INVALID: {
    meaning: "the model's reply cannot be taken",
    retriable: false,
    remedy: "The model is told and asked again, as often in a row as the agent's repairsMax says (3).",
  },
  MEMORY_INVALID: {
    meaning: "a change of an agent's working memory threw, or gave what does not fit its schema",
    retriable: false,
    remedy: "The memory is as before. Correct it with the signal `memory`, and the reducer in a new version.",
  },
  MODEL_REFUSED: {
    meaning: "the model refused to answer",
    retriable: false,
    remedy: "Change the instructions or the model.",
  },
  MODEL_CONTEXT_FULL: {
    meaning: "the conversation is longer than the model's window",
    retriable: false,
    remedy: "Use a model with a larger window, or shorter tool outputs.",
  },
  MODEL_FAILED: {
    meaning: "the model's provider failed",
    retriable: true,
    remedy: "See the cause; retries are recorded in the ledger.",
  },
  MODEL_OVERLOADED: {
    meaning: "the model's provider takes no more requests now",
    retriable: true,
    remedy: "Ask less often (`modelLimits`), raise the limit there, or name another model with `fallback`.",
  },
  MODEL_REJECTED: {
    meaning: "the model's provider does not take the request, however often it is sent",
    retriable: false,
    remedy: "Correct what the message names: the key, the model's name, an option, or the request itself.",
  },
  CONTEXT_TOO_LARGE: {
    meaning: "what a validator's model would be shown is over its limit",
    retriable: false,
    remedy: "Name fewer parts in the validator's `context`, or a smaller selection after the first.",
  },
  VALIDATION_REJECTED: {
    meaning: "a validator refuses what was to be done, or was done",
    retriable: false,
    remedy: "Read the verdict in the result of the validator's call, and plan otherwise.",
  },
  AUGMENT_REFUSED: {
    meaning: "a validator's change is over its budget, or not what it says it is",
    retriable: false,
    remedy: "Decide on the change yourself, or raise the budget of changes in a new version.",
  },
  BUDGET_EXCEEDED: {
    meaning: "the saga's budget is spent",
    retriable: false,
    remedy:
      "Send the signal `budget` with what to add while the saga runs, raise `budget` in a new version, or start again with a smaller task.",
  },
  DEPTH_EXCEEDED: {
    meaning: "a sub-agent would lie deeper below the first saga than is allowed",
    retriable: false,
    remedy: "Let the agent do the work itself, or raise `budget.depthMax` up to the limit.",
  },
  BREADTH_EXCEEDED: {
    meaning: "the saga has as many children open as is allowed",
    retriable: true,
    remedy: "Wait until one has ended, or raise `budget.childrenOpenMax` up to the limit.",
  },
  // Performing
  NOT_PERFORMED: {
    meaning: "the tool says that nothing happened outside",
    retriable: true,
    remedy: "See the message.",
  },
  TOOL_FAILED: { meaning: "the tool threw", retriable: true, remedy: "See the cause." },
  TOOL_TIMEOUT: {
    meaning: "the tool did not end within its timeout",
    retriable: true,
    remedy: "Raise timeoutMs or make the tool faster.",
  },
  TOOL_UNSERVED: {
    meaning: "this process has no implementation of the tool",
    retriable: true,
    remedy: "Add the implementation to `implementations` in the application file.",
  },
  TOOL_UNAVAILABLE: {
    meaning: "the server behind the tool cannot be started, reached or asked",
    retriable: true,
    remedy: "See the message: the server's command or address, its log, the variables that it needs.",
  },
  TOOL_CHANGED: {
    meaning: "the server behind the tool offers another tool than was agreed to",
    retriable: false,
    remedy:
      "Look at what changed with `sagamesh mcp check FILE`; pin it again and raise the agent's version if it is right.",
  },
  SAMPLE_IMPOSSIBLE: {
    meaning: "no value is found that a schema accepts",
    retriable: false,
    remedy: "Give the result by hand, or let what is not recorded end the run.",
  },
  BAD_RESULT: {
    meaning: "the tool's result does not fit its output schema",
    retriable: false,
    remedy: "Correct the tool or its output schema.",
  },
  DEFERRED_TOO_LATE: {
    meaning: "the answer from outside did not come in time",
    retriable: false,
    remedy: "Raise withinMs, or ask again.",
  },
  IN_DOUBT: {
    meaning: "an effect was started and nobody recorded how it ended",
    retriable: false,
    remedy: "Look at the outside system, then `sagamesh settle SAGA INTENT JSON`.",
  },
  ATTEMPTS_EXHAUSTED: {
    meaning: "the intent was delivered more often than its limit",
    retriable: false,
    remedy: "Read the dead letter and the worker's log.",
  },
  POISON: {
    meaning: "whatever process takes it dies of it",
    retriable: false,
    remedy:
      "Mend what kills the process (the log names the saga and the signal it died by), then `sagamesh dead retry`.",
  },
  ...workflowErrors,
  CANCELLED: {
    meaning: "the saga was cancelled",
    retriable: false,
    remedy: "None; this is what was asked for.",
  },
  ...serverErrors,
  INTERNAL: {
    meaning: "sagamesh broke one of its own rules",
    retriable: false,
    remedy: "Please report it with the message and the saga's ledger.",
  },
} as const satisfies Record<string, ErrorRow>;

/** Every code of an error. Closed: a new one is a row in the table above, or of the server. */
export type ErrorCode = keyof typeof table;

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(table, code);

/**
 * The only error sagamesh throws on purpose. `code` is for programs, `message` is
 * `[CODE] what happened`, `remedy` says what to do. `retriable` and `remedy` come from the table.
 */
export class MeshError extends Error {
  override readonly name = "MeshError";
  readonly code: ErrorCode;
  readonly retriable: boolean;
  readonly remedy: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown; remedy?: string }) {
    super(`[${code}] ${detail}`, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = table[code].retriable;
    this.remedy = options?.remedy ?? table[code].remedy;
  }
}

/** True for a MeshError, with the given code if one is named. Works across copies of the package. */
export const isMeshError = (error: unknown, code?: ErrorCode): error is MeshError =>
  error instanceof Error &&
  error.name === "MeshError" &&
  (code === undefined || (error as MeshError).code === code);

/** Text of anything that was thrown, for a message or a recorded reason. */
export const describeError = (error: unknown): string =>
  error instanceof Error
    ? error.message || error.name
    : typeof error === "string"
      ? error
      : (JSON.stringify(error) ?? String(error));

/** Throws INTERNAL unless the condition holds: for rules of our own, never for input from outside. */
export function assert(condition: unknown, rule: string): asserts condition {
  if (!condition) throw new MeshError("INTERNAL", rule);
}
