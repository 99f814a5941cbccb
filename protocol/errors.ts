/**
 * The one error class and the closed table of codes.
 *
 * Owns: every code of an error, what it means, whether the same call may succeed later, and the remedy. Does not
 * own: how an error is printed (services/cli) or recorded (result.ts), and the codes of what `doctor` finds
 * (services/runtime/doctor), which are never thrown.
 *
 * ER1 A code is never renamed or reused; ledgers keep codes for ever.
 * ER2 A message has the form `[CODE] what happened`, and `remedy` says what to do next.
 */
import { workflowErrors } from "./workflow-errors.ts";

import { type ErrorRow, serverErrors } from "./server-errors.ts";

const table = {
  // Doors: what came in from outside
  USAGE: {
    meaning: "the command line is wrong",
    retriable: false,
    remedy: "`sagamesh COMMAND --help` lists the command's arguments and options.",
  },
  FILE_UNREADABLE: {
    meaning: "a file that a command is to read is not there, or may not be read",
    retriable: false,
    remedy: "Name a file that is there and that you may read.",
  },
  BAD_JSON: {
    meaning: "an argument that must be JSON is not",
    retriable: false,
    remedy: 'Quote the JSON for the shell, for example \'{"role":"dev"}\'.',
  },
  BAD_MESSAGE: {
    meaning: "a message does not follow the protocol",
    retriable: false,
    remedy: "Compare it with the schemas in protocol/; `sagamesh decode` prints what a message holds.",
  },
  BAD_ID: {
    meaning: "an id does not have the form of one",
    retriable: false,
    remedy: "A saga id is 1 to 64 of a-z, 0-9, - and _; an intent id is <turn>-<k>.",
  },
  INPUT_INVALID: {
    meaning: "the input does not fit its schema",
    retriable: false,
    remedy: "Correct the fields named in the message.",
  },
  VALUE_REFUSED: {
    meaning: "a value nests too deeply, has too many members, or holds what JSON cannot say",
    retriable: false,
    remedy:
      "Correct what the message names: send less deep or fewer parts (as a text, if need be), and null in place of NaN.",
  },
  TOO_LARGE: {
    meaning: "a value is over its limit",
    retriable: false,
    remedy: "Send less: keep the data elsewhere and send its address, or split it.",
  },
  SIGNAL_UNKNOWN: {
    meaning: "the saga's definition declares no such signal",
    retriable: false,
    remedy:
      "Send one of the signals that the message lists, or declare this one in the definition's `signals` in a new version.",
  },
  SIGNAL_NOT_TAKEN: {
    meaning: "no transition of the machine's present state takes the signal, so it was dropped",
    retriable: false,
    remedy:
      'Send it again once the saga is in a state that takes it, or have the definition keep it: `whenEarly: "keep"`, or by the signal\'s name.',
  },
  SIGNAL_EXPIRED: {
    meaning: "the signal is older than the seven days in which hosts recognise repeats",
    retriable: false,
    remedy: "Send it again with a new id if it still applies.",
  },
  SAGA_UNKNOWN: {
    meaning: "no saga has this id",
    retriable: false,
    remedy: "`sagamesh ls` lists the sagas.",
  },
  QUERY_EMPTY: {
    meaning: "a query means none of the sagas, and what was asked for is about those it means",
    retriable: false,
    remedy: "`sagamesh ls --query` with it shows which sagas it means; archived ones are not among them.",
  },
  SAGA_NOT_BEGUN: {
    meaning: "the saga's start is stored, and no host has taken it yet",
    retriable: true,
    remedy:
      "Run a host that serves its definition, `sagamesh host --app FILE`; `sagamesh doctor` says what is served and what waits.",
  },
  SAGA_ID_TAKEN: {
    meaning: "a saga with this id exists and was started with another input",
    retriable: false,
    remedy: "Start it under another id; `sagamesh inspect SAGA` shows the one that has this id.",
  },
  SAGA_ENDED: {
    meaning: "the saga has ended",
    retriable: false,
    remedy: "`sagamesh inspect SAGA` says how it ended. Start a new saga to do the work again.",
  },
  SAGA_SERVED: {
    meaning: "the saga's hosts can do themselves what was to be done in their place",
    retriable: false,
    remedy:
      "`sagamesh cancel SAGA` has them undo it. Where they cannot (FOLD_DIVERGED, say), --force does it beside them.",
  },
  SAGA_ARCHIVED: {
    meaning: "the saga's turns were archived and purged; only its tombstone is left",
    retriable: false,
    remedy:
      "Read it in its archive: `sagamesh inspect SAGA --archive DIR`, or the file's name in place of the saga's. A person must act on what a late result says.",
  },
  ARCHIVE_BROKEN: {
    meaning: "a file is damaged, incomplete, or the archive of another saga",
    retriable: false,
    remedy: "Move the file away, or name another folder; what is still in the ledger was not purged.",
  },
  ARCHIVE_UNWRITABLE: {
    meaning: "the folder of archives cannot be written to",
    retriable: true,
    remedy: "Free space in the folder named, or name another with --to; nothing more was purged.",
  },
  INDEX_UNUSABLE: {
    meaning: "the tables that queries read cannot be kept here",
    retriable: true,
    remedy: "Free space in the folder named, or set SAGAMESH_CACHE to one that this user may write to.",
  },
  INDEX_BROKEN: {
    meaning: "the file of the tables that queries read was broken, and was taken away",
    retriable: true,
    remedy: "Send the same again: the tables are filled from the ledgers anew.",
  },
  QUERY_TOO_LONG: {
    meaning: "a query was not answered within its time",
    retriable: true,
    remedy:
      "Ask for less, by a condition on an indexed column such as status or started, or give it more time with --within.",
  },
  RECORDING_INVALID: {
    meaning: "a file cannot be read as a recorded conversation",
    retriable: false,
    remedy:
      "Correct the line or message named, or say with --format which shape it has (anthropic, messages). Nothing was written.",
  },
  TASK_UNKNOWN: {
    meaning: "no task with this name is open",
    retriable: false,
    remedy: "`sagamesh tasks` lists the open ones.",
  },
  LEDGER_SHORT: {
    meaning: "the ledger ends before a turn that something outside of it names",
    retriable: false,
    remedy:
      "Its last turns were taken away, or what names them is forged. Compare with an archive, an export or a backup of the store.",
  },
  TASK_OVER: {
    meaning: "the task was decided, changed or past its deadline before this vote came",
    retriable: false,
    remedy:
      "`sagamesh tasks show TASK` shows all that was said of it and who is asked now. What was decided cannot be voted back.",
  },
  VOTER_NOT_ASKED: {
    meaning: "the task is for other people",
    retriable: false,
    remedy:
      "Vote as one of the people it is for, with `--by NAME` or `--as ROLE`; `sagamesh tasks show TASK` names them and who is asked next.",
  },
  ACT_REFUSED: {
    meaning: "who asks the console may look and not act, or speaks under a name that is not theirs there",
    retriable: false,
    remedy: "Show the token that acts, or have the console started with your name or group in `--acting`.",
  },
  ARGUMENTS_CHANGED: {
    meaning: "the vote is on other arguments than the task asks about now",
    retriable: false,
    remedy: "Read what the task asks now with `sagamesh tasks show TASK` and vote again.",
  },
  SIGNATURE_INVALID: {
    meaning: "a signature does not fit the vote or turn that it stands beside",
    retriable: false,
    remedy:
      "For a vote: sign again what is asked now, with `sagamesh approve TASK --nkey FILE`. For a turn: the ledger was changed, or that key never signed it; compare it with a backup.",
  },
  SIGNER_UNTRUSTED: {
    meaning: "a turn is not signed by any of the keys that the reader trusts",
    retriable: false,
    remedy:
      "Find out which host wrote the turn. If it is yours, name its key with --trust, or give the host one with SAGAMESH_HOST_NKEY.",
  },
  SIGNER_UNKNOWN: {
    meaning: "a turn is signed by a key of which the mesh, whose turns must be signed, was not told",
    retriable: true,
    remedy:
      "If a host of yours signs with it, `sagamesh trust add KEY`; if not, `sagamesh trust remove KEY --yes`. The saga goes on by itself.",
  },
  SIGNER_REFUSED: {
    meaning: "turns of the mesh must be signed, and this process signs with no key that it trusts",
    retriable: true,
    remedy:
      "Name a file with the seed of a trusted key with SAGAMESH_HOST_NKEY; `sagamesh trust` lists them, `sagamesh trust add KEY` adds one.",
  },
  HOSTS_UNREADY: {
    meaning: "a living host would not know of what is to be changed, and leave it alone",
    retriable: true,
    remedy:
      "Update or stop the hosts that the message names, as it says, and all workers and clients, then run this again.",
  },
  SIGNERS_UNREADY: {
    meaning: "a living host signs with no key that would count, or does not know yet that it must",
    retriable: true,
    remedy:
      "Start the hosts that the message names anew with a trusted key, or stop them, and run this again.",
  },
  LEDGER_LOST: {
    meaning: "the ledger of the saga that this was sent to is lost, and an empty one was begun",
    retriable: false,
    remedy:
      "What the saga did stands, and nobody undoes it: look outside first. `sagamesh dead retry` of its start begins it anew; `dead drop --all --code LEDGER_LOST` throws all of these away.",
  },
  TRUST_UNSETTLED: {
    meaning: "whose signatures count is being changed, and a message falls between before and after",
    retriable: true,
    remedy:
      "Wait some seconds. If it stays, a change was broken off: `sagamesh trust` names it, and the same command again ends it.",
  },
  TRUST_UNREADABLE: {
    meaning: "what the mesh says of whose signatures count is there and cannot be read",
    retriable: true,
    remedy:
      "Put the entry `trust` of the bucket REGISTRY back from a backup. What runs goes by what it read before; what starts decides nothing.",
  },
  INTENT_UNKNOWN: {
    meaning: "the saga has no such intent",
    retriable: false,
    remedy: "`sagamesh inspect SAGA` lists the saga's intents.",
  },
  AGENT_UNKNOWN: {
    meaning: "no host serves a saga definition of this name",
    retriable: false,
    remedy: "Start a host whose application file defines it; `sagamesh doctor` lists what hosts serve.",
  },
  DEFINITION_UNKNOWN: {
    meaning: "no host has ever served this version of the definition, or one with this hash",
    retriable: false,
    remedy:
      "`sagamesh deployments` lists what is served; start a host of it first: `sagamesh host --app FILE`.",
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
    meaning:
      "a fork cannot act for real while its origin has effects in flight, or after the origin went on from there",
    retriable: false,
    remedy:
      "Wait until the origin has settled what is in flight, give its result with --tool-result, or fork with simulated effects.",
  },
  LETTER_UNKNOWN: {
    meaning: "there is no dead letter of this number",
    retriable: false,
    remedy: "`sagamesh dead ls` lists them; an operator may have retried or dropped it already.",
  },
  CALLBACK_REFUSED: {
    meaning: "a link was not signed by this gateway, or was changed on its way",
    retriable: false,
    remedy:
      "Use the whole link as it was given. If it was not cut, start the gateway with the secret that the link was signed with.",
  },
  CALLBACK_EXPIRED: {
    meaning: "the time to answer is over",
    retriable: false,
    remedy: "If it did happen outside, an operator records that with `sagamesh settle SAGA INTENT JSON`.",
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
    remedy: "Correct every fault in the list and start again; nothing was started.",
  },
  MACHINE_FILE_INVALID: {
    meaning: "a file that is to hold a machine of XState cannot be loaded, or holds none",
    retriable: false,
    remedy: "Correct the file; `node FILE` shows the whole error.",
  },
  // Folding
  FOLD_DIVERGED: {
    meaning: "today's code decides otherwise than the ledger recorded",
    retriable: false,
    remedy:
      "Start a host with the code that the saga was started with, beside the new one, or see `sagamesh migrate --dry-run`. If the code is the same, a function of the machine reads clock, chance or the outside: `now`, `uuid` and `random` of sagamesh are for new sagas of it. To end this one instead: `sagamesh cancel SAGA`, and where its hosts cannot, `sagamesh undo SAGA --offline --app FILE --force`.",
  },
  VERSION_UNSERVED: {
    meaning: "no host that was asked serves the saga's definition",
    retriable: true,
    remedy: "Start a host with the version the saga was started with, or see `sagamesh migrate --dry-run`.",
  },
  DEFINITION_CHANGED: {
    meaning: "a definition was changed without a new version while sagas of the old one live",
    retriable: false,
    remedy:
      "Raise its `version`; or serve it beside the old one with --beside, and either keep a host of the old file running or move its sagas with `sagamesh migrate --app FILE`.",
  },
  MIGRATION_REFUSED: {
    meaning: "the saga cannot go on under the other definition",
    retriable: false,
    remedy:
      "`sagamesh migrate --dry-run` says why. Start a host that serves the saga's own definition: it goes on under that.",
  },
  LEDGER_BROKEN: {
    meaning: "the ledger's chain of hashes or numbers is broken",
    retriable: false,
    remedy: "Restore the stream from a backup; `sagamesh verify SAGA` names the turn.",
  },
  LEDGER_VERSION: {
    meaning: "the ledger is of another version's format, which this one does not read",
    retriable: false,
    remedy: "Read it, and let its saga end, with the version of sagamesh that wrote it.",
  },
  MACHINE_THREW: {
    meaning: "the machine threw while it took an event",
    retriable: false,
    remedy: "Correct the guard or assign named in the message and serve it as a new version.",
  },
  MACHINE_IMPURE: {
    meaning:
      "the machine decides otherwise when it is asked again, so no other host could go on with the saga",
    retriable: false,
    remedy:
      "In the function named write `now()`, `uuid()` and `random()`, imported from sagamesh, for clock, new ids and chance; take what is known beforehand from the saga's input, and what is read from the output of a tool with effect `read`. Nothing was recorded; with the code mended the saga goes on.",
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
    meaning: "an equal call is in doubt: it is not known whether its effect happened",
    retriable: false,
    remedy:
      "Find out with a tool that reads, or let a person look and record it with `sagamesh settle SAGA INTENT JSON`.",
  },
  POLICY_DENIED: {
    meaning: "a policy of the agent denies the call",
    retriable: false,
    remedy: "The model does without the call; a developer changes the policy in a new version.",
  },
  EFFECTS_FORBIDDEN: {
    meaning: "the saga is a fork whose effects are forbidden",
    retriable: false,
    remedy: "Fork again with `sagamesh fork SAGA --effects simulated`, or `--effects live`.",
  },
  APPROVAL_DENIED: {
    meaning: "a human denied the call",
    retriable: false,
    remedy: "The model reads the reason and proposes otherwise.",
  },
  MODEL_REPLY_INVALID: {
    meaning: "the model's reply breaks the rules of a reply",
    retriable: false,
    remedy:
      "The model is told and asked again, 3 times in a row unless the agent says otherwise (`repairsMax`). After that use another model, or simpler instructions.",
  },
  MEMORY_INVALID: {
    meaning: "a change of an agent's working memory threw, or gave what does not fit its schema",
    retriable: false,
    remedy:
      "The memory is as before. Set it with `sagamesh signal SAGA memory JSON`, and correct the reducer in a new version.",
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
    remedy:
      "The host asks again by itself. If it lasts, read the provider's words in the message and its status page.",
  },
  MODEL_PORT_INVALID: {
    meaning: "what a model port returned is no reply",
    retriable: false,
    remedy:
      "Correct the port: the message names the member that is missing or wrong. Nothing is asked again by itself, because the provider has answered; fork the saga before that call, or begin another.",
  },
  MODEL_OVERLOADED: {
    meaning: "the model's provider takes no more requests now",
    retriable: true,
    remedy: "Ask less often (`modelLimits`), raise the limit there, or name another model with `fallback`.",
  },
  MODEL_REJECTED: {
    meaning: "the model's provider refuses the request, and would refuse it again",
    retriable: false,
    remedy: "Correct what the message names: the key, the model's name, an option, or the request itself.",
  },
  CONTEXT_TOO_LARGE: {
    meaning: "what a validator's model would be shown is over its limit",
    retriable: false,
    remedy: "Name fewer parts in the validator's `context`, or a smaller selection after the first.",
  },
  VALIDATION_REJECTED: {
    meaning: "a validator rejects what was to be done, or what was done",
    retriable: false,
    remedy: "Read the verdict in the result of the validator's call, and plan otherwise.",
  },
  AUGMENT_REFUSED: {
    meaning: "a validator's change is over its budget, or does not do what it says",
    retriable: false,
    remedy: "Decide on the change yourself, or raise the budget of changes in a new version.",
  },
  BUDGET_EXCEEDED: {
    meaning: "the saga's budget is spent",
    retriable: false,
    remedy:
      "While the saga runs, `sagamesh signal SAGA budget JSON` adds to it. Else raise `budget` in a new version, or start again with a smaller task.",
  },
  DEPTH_EXCEEDED: {
    meaning: "a sub-agent would lie deeper below the first saga than is allowed",
    retriable: false,
    remedy: "Let the agent do the work itself, or raise `budget.depthMax` up to the limit.",
  },
  BREADTH_EXCEEDED: {
    meaning: "the saga has as many children open as is allowed",
    retriable: true,
    remedy:
      "Wait until one has ended, or raise `budget.childrenOpenMax` up to the limit, or let more stand in line by `budget.childrenInLineMax`.",
  },
  INTENTS_TOO_MANY: {
    meaning: "the saga has as many calls, timers and tasks open as is allowed, or would have more",
    retriable: true,
    remedy: "Open fewer at once, or raise `budget.intentsOpenMax` of its definition up to the limit.",
  },
  // Performing
  NOT_PERFORMED: {
    meaning: "the tool says that nothing happened outside",
    retriable: true,
    remedy:
      "Read what the tool says in the message; it is tried again unless the tool said that this is of no use.",
  },
  TOOL_FAILED: {
    meaning: "the tool's body threw",
    retriable: true,
    remedy: "Read the error in the message and the worker's log, and correct the tool's `perform`.",
  },
  TOOL_TIMEOUT: {
    meaning: "the tool did not end within its timeout",
    retriable: true,
    remedy: "Raise the tool's `timeoutMs`, or make its `perform` faster.",
  },
  TOOL_UNSERVED: {
    meaning: "this process has no implementation of the tool",
    retriable: true,
    remedy: "Add it to `implementations` in the application file of this host or worker, and restart it.",
  },
  TOOL_UNAVAILABLE: {
    meaning: "the server behind the tool cannot be started, reached or asked",
    retriable: true,
    remedy:
      "Check what the message names: the server's command or address, its log, the variables that it needs.",
  },
  OTLP_UNREACHABLE: {
    meaning: "the receiver of spans does not answer, or takes nothing now",
    retriable: true,
    remedy:
      "See that it runs and that the URL leads to its port for OTLP over HTTP, which is 4318 mostly; the same again sends the same spans.",
  },
  OTLP_REFUSED: {
    meaning: "the receiver of spans does not take what is sent",
    retriable: false,
    remedy:
      "Its answer says why: a path or a port that is another's (404), headers that it asks for (401, 403: OTEL_EXPORTER_OTLP_HEADERS), too much at once (413).",
  },
  INSPECTOR_UNREACHABLE: {
    meaning:
      "nothing that takes the Stately inspector's messages listens at the address, or it has closed the connection",
    retriable: true,
    remedy:
      "Start the relay of @statelyai/inspect, which opens the inspector in a browser: `npm install --no-save @statelyai/inspect && node --input-type=module -e \"(await import('@statelyai/inspect/server')).createInspectorServer()\"`; it listens at ws://localhost:8080.",
  },
  TOOL_CHANGED: {
    meaning: "the server behind the tool offers it in another form than the pin file says",
    retriable: false,
    remedy:
      "`sagamesh mcp check FILE` shows what changed. If it is right, run `sagamesh mcp pin` again and raise the agent's version.",
  },
  SAMPLE_IMPOSSIBLE: {
    meaning: "no sample value was found that the tool's schema accepts",
    retriable: false,
    remedy: "Give the result with --tool-result, or let a call that was not recorded end the run.",
  },
  BAD_RESULT: {
    meaning: "the tool's result does not fit its output schema",
    retriable: false,
    remedy: "Correct the tool's `perform`, or its output schema in a new version.",
  },
  DEFERRED_TOO_LATE: {
    meaning: "the answer from outside did not come in time",
    retriable: false,
    remedy: "Raise `withinMs` where the tool defers, or call the tool again.",
  },
  IN_DOUBT: {
    meaning: "an effect was started, and no record says how it ended",
    retriable: false,
    remedy:
      "Look in the outside system whether it happened, then record that with `sagamesh settle SAGA INTENT JSON`.",
  },
  ATTEMPTS_EXHAUSTED: {
    meaning: "the intent was delivered more often than its limit",
    retriable: false,
    remedy:
      "`sagamesh dead show LETTER` and the workers' logs say why. Correct that, then call the tool again.",
  },
  POISON: {
    meaning: "every process that takes this message dies of it",
    retriable: false,
    remedy:
      "Correct what kills the process (its log names the saga, and the signal or exit code it died with), then `sagamesh dead retry LETTER`. Or end the saga: `sagamesh cancel SAGA`; where that is set aside, too, `sagamesh undo SAGA --offline --app FILE`.",
  },
  ...workflowErrors,
  CANCELLED: {
    meaning: "the saga was cancelled",
    retriable: false,
    remedy: "Nothing is to be done: this is what was asked for.",
  },
  ...serverErrors,
  INTERNAL: {
    meaning: "sagamesh broke one of its own rules",
    retriable: false,
    remedy: "Report it to the maintainers with the message and the saga's ledger (`sagamesh export SAGA`).",
  },
} as const satisfies Record<string, ErrorRow>;

/** Every code of an error. Closed: a new one is a row in the table above, of the server or of workflows. */
export type ErrorCode = keyof typeof table;

/** Whether a text, such as a code that a ledger recorded, is one of the table. */
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

/** What happened and what helps, as two sentences: for where both stand in one line of text. */
export const describeWithRemedy = (error: unknown): string => {
  const what = describeError(error);
  if (!isMeshError(error)) return what;
  return `${what}${/[.!?]\s*$/.test(what) ? "" : "."} ${error.remedy}`;
};

/** Throws INTERNAL unless the condition holds: for rules of our own, never for input from outside. */
export function assert(condition: unknown, rule: string): asserts condition {
  if (!condition) throw new MeshError("INTERNAL", rule);
}
