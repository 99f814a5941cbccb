/**
 * Describe: turns, events and intents in a person's words, a line each.
 */
import { briefDefinition } from "../../../protocol/definition-text.ts";
import type { DefinitionRef, Event, Vote } from "../../../protocol/event.ts";
import type { Lineage } from "../../../protocol/fork.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Json } from "../../../protocol/json.ts";
import { ModelReply } from "../../../protocol/model.ts";
import { shortened } from "../../../protocol/shortened.ts";
import type { ArchivedEnd } from "../../../protocol/tombstone.ts";
import type { Step, Turn } from "../../../protocol/turn.ts";
import { painted } from "../frame/screen.ts";
import { statusColour } from "../frame/table.ts";
import type { ForkView } from "../../ledger/account.ts";

/** A value on one line, cut where it grows long. */
export function brief(value: Json | undefined, lengthMax = 80): string {
  return shortened(value === undefined ? "" : JSON.stringify(value), lengthMax);
}

export const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23);
export const dateOf = (at: number): string => new Date(at).toISOString().replace("T", " ").slice(0, 19);

/**
 * A turn, a line per step: what came in and what was decided. A result is what was reported; of a success that could not
 * be read the line says so.
 */
export const describeTurn = ({ turn, at, steps, logged = [] }: Turn): string[] => [
  ...steps.map((step) => {
    const begun = (step.begun ?? []).map(({ intent }) => `${intent} begins`);
    const decided = [...step.intents.map(describeIntent), ...begun].join("; ");
    return `#${turn} ${timeOf(at)} ${describeEvent(step.event)}${misfitIn(step)}${decided === "" ? "" : `  →  ${decided}`}`;
  }),
  ...logged.map((line) => describeLogged({ turn, at, line })),
];

/** A line that a machine logged. */
export const describeLogged = ({ turn, at, line }: { turn: number; at: number; line: string }): string =>
  `#${turn} ${timeOf(at)} logged ${brief(line, 200)}`;

function misfitIn({ event, closed }: Step): string {
  if (event.type !== "result" || event.result.outcome !== "succeeded") return "";
  const misfit = closed.find(({ intent, code }) => intent === event.intent && code === "BAD_RESULT")?.reason;
  return misfit === undefined ? "" : `, which does not fit: ${misfit.replaceAll(/\s+/g, " ")}`;
}

/** Two of one version differ by their hashes. */
export const describeDefinition = ({ name, version, hash }: DefinitionRef): string =>
  `${name}@${version} (${hash})`;

export function describeEvent(event: Event): string {
  switch (event.type) {
    case "start":
      return `start ${briefDefinition(event.definition)} ${brief(event.input)}${event.fork === undefined ? "" : `, ${describeLineage(event.fork)}`}`;
    case "signal":
      return `signal ${event.name} ${brief(event.data)} from ${event.from}`;
    case "result":
      return `${event.intent} ${event.result.outcome}${describeResult(event)}`;
    case "deferred":
      return `${event.intent} deferred until ${dateOf(event.dueAt)}`;
    case "timer":
      return `timer ${event.intent} fired`;
    case "task":
      return `task ${event.intent}: ${event.vote.by} says ${event.vote.vote}${describeSaid(event.vote)}`;
    case "adopted":
      return "adopted: its host proved that it owns the saga";
    case "forked":
      return `forked by ${event.by}, effects ${event.effects}${event.model === undefined ? "" : `, model ${event.model}`}${event.instructions === undefined ? "" : ", other instructions"}`;
    case "migrated":
      return `moved from ${describeDefinition(event.from)} to ${describeDefinition(event.to)} by ${event.by}`;
  }
}

export const describeLineage = ({ saga, turn }: Pick<Lineage, "saga" | "turn">): string =>
  `forked from ${saga} at turn ${turn}`;

/** Where a fork comes from, and what is otherwise in it. */
export function describeFork({ effects, model, instructions, ...from }: ForkView): string {
  if (effects === undefined) return `${describeLineage(from)}, whose turns are being copied`;
  return [
    describeLineage(from),
    `effects ${effects}`,
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(instructions === undefined ? [] : ["other instructions"]),
  ].join(", ");
}

function describeSaid({ as, answer, input }: Vote): string {
  const said = answer ?? input;
  return `${as === undefined ? "" : ` as ${as}`}${said === undefined ? "" : ` ${brief(said)}`}`;
}

function describeResult({ result }: Extract<Event, { type: "result" }>): string {
  if (result.outcome === "failed" && result.route !== undefined)
    return ` [${result.code}] ${result.route.asked}: ${result.reason}`;
  if (result.outcome !== "succeeded") return ` [${result.code}] ${result.reason}`;
  if (result.output === null) return "";
  const reply = ModelReply.safeParse(result.output);
  if (!reply.success) return ` ${brief(result.output)}`;
  const { calls, text, route } = reply.data;
  return `${route === undefined ? "" : ` ${route.asked}`}: ${[...calls.map((call) => `${call.tool} ${brief(call.input, 60)}`), ...(text === undefined ? [] : [brief(text, 60)])].join(", ")}`;
}

export function describeIntent(intent: Intent): string {
  switch (intent.kind) {
    case "tool":
      return `${intent.id} ${intent.undoes === undefined ? "tool" : `undo ${intent.undoes} by`} ${intent.name}${serving(intent)}${intent.input === undefined ? "" : ` ${brief(intent.input, 60)}`}${intent.rewrittenBy === undefined ? "" : ` as policy ${intent.rewrittenBy} rewrote it`}`;
    case "model":
      return `${intent.id} model ${intent.name}`;
    case "saga":
      return `${intent.id} ${intent.undoes === undefined ? "saga" : `undo ${intent.undoes} by saga`} ${intent.name} (${intent.saga})${serving(intent)}${intent.inLine === true ? " in line" : ""}`;
    case "timer":
      return `${intent.id} ${intent.for === undefined ? "timer" : "reminder"} until ${dateOf(intent.dueAt)}${serving(intent)}`;
    case "task":
      return `${intent.id} ${intent.about} ${brief(intent.question, 60)}`;
    case "signal":
      return `${intent.id} signal ${intent.name} to ${intent.saga}`;
    case "pause":
      return `${intent.id} pause: ${intent.reason}`;
    case "denied":
      return `${intent.id} ${intent.name} denied [${intent.code}] ${intent.reason}`;
    case "retry":
      return `${intent.id} attempt ${intent.attempt}${intent.ask === undefined ? "" : ` asks ${intent.ask}`}`;
    case "end":
      return describeEnd(intent);
  }
}

const serving = (intent: { for?: IntentId | undefined }): string =>
  intent.for === undefined ? "" : ` for task ${intent.for}`;

export function describeEnd({ status, output, code, reason, standing }: ArchivedEnd): string {
  const why =
    status === "completed"
      ? ` ${brief(output)}`
      : `${code === undefined || code === "" ? "" : ` [${code}]`} ${reason ?? ""}`;
  const stands = status === "completed" ? "in doubt" : "standing";
  const colour = statusColour(standing.length > 0 && status === "completed" ? "in doubt" : status);
  return `${colour === undefined ? status : painted(colour, status)}${why.trimEnd()}${standing.length === 0 ? "" : ` (${stands}: ${standing.join(", ")})`}`;
}
