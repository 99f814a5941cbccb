import type { InspectDocument } from "../../../protocol/documents.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { toJson } from "../../../protocol/json.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { SagaState } from "../../../actors/state.ts";
import { promptOf } from "../../client/prompt.ts";
import { viewingByFold } from "../../client/folded.ts";
import { childrenOf } from "../../client/children.ts";
import { steeringOf } from "../../client/steering-view.ts";
import { readLedger, type SagaView, viewOf } from "../../client/view.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { defineCommand } from "../command.ts";
import {
  brief,
  dateOf,
  describeDefinition,
  describeEnd,
  describeEvent,
  endDocument,
  timeOf,
} from "../describe.ts";
import { printPrompt } from "../prompt.ts";
import { spendingLines } from "../spending.ts";
import { archiveOption, sagaPositional, withSaga } from "../saga-source.ts";
import { table } from "../table.ts";

const lastEvents = 10;

/** Everything a ledger says of one saga. */
export const inspect = defineCommand({
  name: "inspect",
  summary: "show a saga: its phase, intents, effects, what was spent",
  details:
    "From the ledger alone, an intent that was called off because nobody waited for it may show as open; with --app the\n" +
    "ledger is folded, and what is open, the machine's state and its context are exact. A success is unverified where\n" +
    "the tool's contract is not at hand: only the definition knows whether its output could be read.",
  positionals: { saga: sagaPositional },
  options: {
    at: { type: "string", hint: "TURN", help: "as of this turn" },
    app: { type: "string", hint: "FILE", help: "application file, to fold the ledger with its definition" },
    prompt: {
      type: "boolean",
      help: "what the model was sent last, up to --at TURN, and the proof; needs --app",
    },
    archive: archiveOption,
  },
  examples: [
    "sagamesh inspect hire-41 --at 7 --app app.ts",
    "sagamesh inspect hire-41 --prompt --at 7 --app app.ts",
  ],
  run: async ({ at, app: file, prompt, ...which }, context) => {
    if (prompt && file === undefined)
      throw new MeshError(
        "USAGE",
        "--prompt: --app FILE is missing: the ledger does not hold the instructions",
      );
    const app = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source, viewing }) => {
      const all = (await readLedger(source, saga)).map(({ turn }) => turn);
      const turns = upTo(all, at);
      if (prompt && app !== undefined)
        return printPrompt(context.output, promptOf(app, all, turns.at(-1)?.turn ?? 1));
      const folded = app === undefined ? undefined : viewingByFold(app, turns);
      const view = viewOf(turns, { ...viewing, ...folded });
      const document = documentOf(view, turns, folded?.state);
      context.output.print(document, () => describe(document));
      return 0;
    });
  },
});

function upTo(turns: readonly Turn[], at: string | undefined): readonly Turn[] {
  if (at === undefined) return turns;
  if (!/^[1-9]\d*$/.test(at) || Number(at) > turns.length)
    throw new MeshError("USAGE", `--at: expected a turn from 1 to ${turns.length}, got "${at}"`);
  return turns.slice(0, Number(at));
}

function documentOf(view: SagaView, turns: readonly Turn[], state: SagaState | undefined): InspectDocument {
  const { parent, end, ...rest } = view;
  return {
    ...rest,
    ...(parent === undefined ? {} : { parent }),
    ...(end === undefined ? {} : { end: endDocument(view.saga, end) }),
    ...steeringOf(turns),
    children: childrenOf(view.intents),
    hosts: [...view.hosts],
    intents: view.intents.map((intent) => defined(intent)),
    open: view.open.map(({ intent }) => intent.id),
    effects: [...view.effects],
    events: turns
      .flatMap(({ turn, at, steps }) => steps.map(({ event }) => ({ turn, at, event })))
      .slice(-lastEvents),
    ...(state === undefined
      ? {}
      : {
          ...(state.memory === undefined ? {} : { memory: state.memory }),
          machine: { value: toJson(state.snapshot.value), context: toJson(state.snapshot.context) },
        }),
  };
}

/** Without the members that are undefined, as JSON has none. */
const defined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

function describe(document: InspectDocument): string {
  const {
    saga,
    definition,
    status,
    phase,
    parent,
    input,
    end,
    turns,
    startedAt,
    updatedAt,
    hosts,
    machine,
    memory,
  } = document;
  const rows = document.intents.map(
    ({ intent, turn, attempt, deferred, outcome, unverified, input: given, output, reason }) => [
      intent.id,
      intent.kind === "task" ? intent.about : intent.kind,
      "name" in intent ? intent.name : "",
      String(turn),
      `${outcome ?? (intent.kind === "end" ? "" : deferred ? "deferred" : "open")}${attempt > 1 ? ` (attempt ${attempt})` : ""}${unverified ? ", unverified" : ""}`,
      brief(given, 48),
      outcome === "succeeded" ? brief(output, 48) : (reason ?? ""),
    ],
  );
  return [
    `${saga}  ${definition.name}@${definition.version}  ${status}${status === "running" && phase !== "running" ? ` (${phase})` : ""}${document.paused === undefined ? "" : ", paused"}`,
    ...(document.migrations ?? []).map(
      ({ turn, at, from, to, by }) =>
        `moved    in turn ${turn}, ${dateOf(at)}, from ${describeDefinition(from)} to ${describeDefinition(to)} by ${by}`,
    ),
    ...steeringLines(document),
    `input    ${brief(input, 200)}`,
    ...(parent === undefined ? [] : [`parent   ${parent.saga}, intent ${parent.intent}`]),
    `turns    ${turns}, from ${dateOf(startedAt)} to ${dateOf(updatedAt)}, by ${hosts.length} host${hosts.length === 1 ? "" : "s"}`,
    ...spendingLines(document),
    ...(end === undefined ? [] : [`end      ${describeEnd(end)}`]),
    ...(machine === undefined
      ? []
      : [`state    ${JSON.stringify(machine.value)}`, `context  ${brief(machine.context, 400)}`]),
    ...(memory === undefined ? [] : [`memory   ${brief(memory, 400)}`]),
    "",
    table(["INTENT", "KIND", "NAME", "TURN", "OUTCOME", "INPUT", "OUTPUT OR REASON"], rows),
    "",
    ...childLines(document),
    ...effectLines(document),
    `last events:`,
    ...document.events.map(({ turn, at, event }) => `  #${turn} ${timeOf(at)} ${describeEvent(event)}`),
  ].join("\n");
}

function steeringLines({ saga, paused, flags = [] }: InspectDocument): string[] {
  const by =
    paused === undefined ? "" : ` by ${paused.by}${paused.reason === undefined ? "" : `: ${paused.reason}`}`;
  return [
    ...(paused === undefined
      ? []
      : [`paused   since ${dateOf(paused.at)}${by}; \`sagamesh resume saga ${saga}\` lets it go on`]),
    ...flags.map(
      (flag) =>
        `flagged  ${dateOf(flag.at)} by ${flag.by}${flag.severity === undefined ? "" : ` (${flag.severity})`}: ${flag.reason}`,
    ),
  ];
}

function childLines({ children }: InspectDocument): string[] {
  if (children.length === 0) return [];
  const lines = children.map(
    ({ saga, name, intent, outcome, reason }) =>
      `  ${intent} ${name} ${saga}  ${outcome ?? "runs"}${reason === undefined ? "" : `: ${reason}`}`,
  );
  return ["children:", ...lines, ""];
}

function effectLines({ effects }: InspectDocument): string[] {
  if (effects.length === 0) return ["no effect stands", ""];
  const lines = effects.map(
    ({ intent, tool, key, outcome }) =>
      `  ${intent} ${tool} ${outcome === "in_doubt" ? "IN DOUBT" : "stands"}, key ${key}`,
  );
  return ["effects:", ...lines, ""];
}
