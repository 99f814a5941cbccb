/** What `inspect` prints for people. */
import type { ContextSentDocument } from "../../../protocol/documents/prompt.ts";
import type { InspectDocument } from "../../../protocol/documents/inspect.ts";
import type { IntentDocument } from "../../../protocol/documents/intent.ts";
import type { Parked } from "../../../protocol/parked.ts";
import { describePlace } from "../../views/children.ts";
import { describeAwaited, waitOf } from "../../views/awaited.ts";
import {
  brief,
  dateOf,
  describeDefinition,
  describeEnd,
  describeEvent,
  describeFork,
  describeLogged,
  timeOf,
} from "./describe.ts";
import { unservedText } from "../../client/unserved.ts";
import { spendingLines } from "./spending.ts";
import { table } from "../frame/table.ts";

export function describeInspected(document: InspectDocument): string {
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
    contextSent,
    asOf,
  } = document;
  const rows = document.intents.map((told) => {
    const signals = waitOf(document.intents, told);
    return signals === undefined ? intentCells(told) : waitCells(told, signals);
  });
  return [
    `${saga}  ${definition.name}@${definition.version}  ${status}${status === "running" && phase !== "running" ? ` (${phase})` : ""}${document.paused === undefined ? "" : ", paused"}${document.parked === undefined ? "" : ", parked"}`,
    ...(document.unserved === undefined ? [] : [`waits    ${unservedText(document.unserved)}`]),
    ...(document.parked === undefined ? [] : parkedLines(document.parked)),
    ...(asOf === undefined ? [] : [`as of    turn ${asOf.turn} of ${asOf.of}, ${dateOf(asOf.at)}`]),
    ...(document.migrations ?? []).map(
      ({ turn, at, from, to, by }) =>
        `moved    in turn ${turn}, ${dateOf(at)}, from ${describeDefinition(from)} to ${describeDefinition(to)} by ${by}`,
    ),
    ...stayLines(document),
    ...steeringLines(document),
    `input    ${brief(input, 200)}`,
    ...(parent === undefined ? [] : [`parent   ${parent.saga}, intent ${parent.intent}`]),
    ...(document.fork === undefined ? [] : [`fork     ${describeFork(document.fork)}`]),
    `turns    ${turns}, from ${dateOf(startedAt)} to ${dateOf(updatedAt)}, by ${hosts.length} host${hosts.length === 1 ? "" : "s"}`,
    ...spendingLines(document),
    ...(document.leftOut === undefined ? [] : [`left out ${leftOutText(document.leftOut)}`]),
    ...(document.awaits === undefined ? [] : [`awaits   ${describeAwaited(document.awaits)}`]),
    ...(end === undefined ? [] : [`end      ${describeEnd(end)}`]),
    ...(machine === undefined
      ? []
      : [`state    ${JSON.stringify(machine.value)}`, `context  ${brief(machine.context, 400)}`]),
    ...(memory === undefined ? [] : [`memory   ${brief(memory, 400)}`]),
    ...(contextSent === undefined ? [] : [`sent     ${describeSent(contextSent)}`]),
    "",
    table(["INTENT", "KIND", "NAME", "TURN", "OUTCOME", "INPUT", "OUTPUT OR REASON"], rows),
    "",
    ...failureLines(document),
    ...childLines(document),
    ...effectLines(document),
    `last events:`,
    ...document.events.map(({ turn, at, event }) => `  #${turn} ${timeOf(at)} ${describeEvent(event)}`),
    ...(document.logged === undefined
      ? []
      : ["last lines logged:", ...document.logged.map((one) => `  ${describeLogged(one)}`)]),
  ].join("\n");
}

const leftOutText = ({ intents, effects }: NonNullable<InspectDocument["leftOut"]>): string =>
  `${intents} intents that are over and ${effects} effects that stand, the earliest; --all shows them`;

const parkedLines = ({ code, reason, remedy, at }: Parked): string[] => [
  `parked   with ${code}, found ${dateOf(at)}: ${reason}`,
  `         ${remedy}`,
];

const stayLines = ({ stays }: InspectDocument): string[] =>
  stays === undefined
    ? []
    : [
        `stays    and does not move to ${describeDefinition(stays.to)} by itself: ${stays.turn === undefined ? "" : `turn ${stays.turn}: `}${stays.why}`,
      ];

function intentCells({
  intent,
  turn,
  attempt,
  deferred,
  inLine,
  outcome,
  input,
  output,
  reason,
}: IntentDocument): string[] {
  return [
    intent.id,
    intent.kind === "task" ? intent.about : intent.kind,
    "name" in intent ? intent.name : "",
    String(turn),
    `${outcome ?? (intent.kind === "end" ? "" : deferred ? "deferred" : waitsOr(inLine, "open"))}${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
    brief(input, 48),
    outcome === "succeeded" ? brief(output, 48) : (reason ?? ""),
  ];
}

/** The time of a model's wait, told as that wait. */
function waitCells({ intent, turn, outcome }: IntentDocument, signals: readonly string[]): string[] {
  const how = outcome === undefined ? "open" : outcome === "succeeded" ? "time came" : "over before its time";
  return [
    intent.id,
    "wait",
    signals.join(", ") || "any signal",
    String(turn),
    how,
    intent.kind === "timer" ? `until ${dateOf(intent.dueAt)}` : "",
    "",
  ];
}

function describeSent({
  intent,
  turn,
  about,
  model,
  messages,
  conversation,
  tokens,
  cut,
  proved,
}: ContextSentDocument): string {
  const of = conversation === messages ? "" : ` for the ${conversation} there were`;
  const parts = [
    `${messages} message${messages === 1 ? "" : "s"}${of}`,
    `about ${tokens.estimated} tokens${tokens.reported === undefined ? "" : ` (reported ${tokens.reported})`}`,
    ...(cut === undefined || cut.dropped === 0 ? [] : [`${cut.dropped} dropped`]),
    ...(cut?.summarized === undefined ? [] : [`the first ${cut.summarized} as a summary`]),
    ...(cut?.unsummarized === undefined ? [] : [`no summary: [${cut.unsummarized}]`]),
    ...(cut === undefined || cut.shortened === 0 ? [] : [`longer results of ${cut.shortened} as references`]),
    proved ? "proved" : "NOT PROVED",
  ];
  return `for ${about} ${intent} in turn ${turn}, to ${model}: ${parts.join(", ")}`;
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

/** The latest attempts that threw, each with the stack that its performer stored. */
function failureLines({ failures = [] }: InspectDocument): string[] {
  if (failures.length === 0) return [];
  const lines = failures.flatMap(({ intent, attempt, turn, code, reason, stack }) => [
    `  ${intent} attempt ${attempt}, turn ${turn}: [${code}] ${reason}`,
    ...(stack ?? "its stack is not stored here").split("\n").map((line) => `    ${line}`),
  ]);
  return ["failures:", ...lines, ""];
}

const waitsOr = (inLine: number | undefined, otherwise: string): string =>
  inLine === undefined ? otherwise : describePlace(inLine);

function childLines({ children }: InspectDocument): string[] {
  if (children.length === 0) return [];
  const lines = children.map(
    ({ saga, name, intent, inLine, outcome, reason }) =>
      `  ${intent} ${name} ${saga}  ${outcome ?? waitsOr(inLine, "runs")}${reason === undefined ? "" : `: ${reason}`}`,
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
