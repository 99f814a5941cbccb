/**
 * Describe: turns, events and intents in a person's words, a line each.
 */
import type { EndDocument } from "../../protocol/documents.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";

/** A value on one line, cut where it grows long. */
export function brief(value: Json | undefined, lengthMax = 80): string {
  const text =
    value === undefined ? "" : typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value);
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

export const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23);
export const dateOf = (at: number): string => new Date(at).toISOString().replace("T", " ").slice(0, 19);

/** One line per step of a turn: what came in and what was decided. */
export function describeTurn(turn: Turn): string[] {
  return turn.steps.map(({ event, intents }) => {
    const decided = intents.map(describeIntent).join("; ");
    return `#${turn.turn} ${timeOf(turn.at)} ${describeEvent(event)}${decided === "" ? "" : `  →  ${decided}`}`;
  });
}

export function describeEvent(event: Event): string {
  switch (event.type) {
    case "start":
      return `start ${event.definition.name} ${brief(event.input)}`;
    case "signal":
      return `signal ${event.name} ${brief(event.data)} from ${event.from}`;
    case "result":
      return `${event.intent} ${event.result.outcome}${describeResult(event)}`;
    case "deferred":
      return `${event.intent} deferred until ${dateOf(event.dueAt)}`;
    case "timer":
      return `timer ${event.intent} fired`;
    case "task":
      return `task ${event.intent}: ${event.vote.by} says ${event.vote.vote}${event.vote.answer === undefined ? "" : ` ${brief(event.vote.answer)}`}`;
    case "adopted":
      return "adopted by another host";
  }
}

function describeResult({ result }: Extract<Event, { type: "result" }>): string {
  if (result.outcome !== "succeeded") return ` [${result.code}] ${result.reason}`;
  if (result.output === null) return "";
  const reply = ModelReply.safeParse(result.output);
  if (!reply.success) return ` ${brief(result.output)}`;
  const { calls, text } = reply.data;
  return `: ${[...calls.map((call) => `${call.tool} ${brief(call.input, 60)}`), ...(text === undefined ? [] : [brief(text, 60)])].join(", ")}`;
}

export function describeIntent(intent: Intent): string {
  switch (intent.kind) {
    case "tool":
      return `${intent.id} ${intent.undoes === undefined ? "tool" : `undo ${intent.undoes} by`} ${intent.name}${intent.input === undefined ? "" : ` ${brief(intent.input, 60)}`}`;
    case "model":
      return `${intent.id} model ${intent.name}`;
    case "saga":
      return `${intent.id} saga ${intent.name} (${intent.saga})`;
    case "timer":
      return `${intent.id} timer until ${dateOf(intent.dueAt)}`;
    case "task":
      return `${intent.id} ${intent.about} ${brief(intent.question, 60)}`;
    case "signal":
      return `${intent.id} signal ${intent.name} to ${intent.saga}`;
    case "denied":
      return `${intent.id} ${intent.name} denied [${intent.code}] ${intent.reason}`;
    case "retry":
      return `${intent.id} attempt ${intent.attempt}`;
    case "end":
      return describeEnd(intent);
  }
}

export function describeEnd({
  status,
  output,
  code,
  reason,
  standing,
}: Pick<IntentOf<"end">, "status" | "output" | "code" | "reason" | "standing">): string {
  const why =
    status === "completed"
      ? ` ${brief(output)}`
      : `${code === undefined || code === "" ? "" : ` [${code}]`} ${reason ?? ""}`;
  return `${status}${why.trimEnd()}${standing.length === 0 ? "" : ` (standing: ${standing.join(", ")})`}`;
}

export const endDocument = (
  saga: SagaId,
  { status, output, code, reason, standing }: IntentOf<"end">,
): EndDocument => ({
  saga,
  status,
  ...(output === undefined ? {} : { output }),
  ...(code === undefined ? {} : { code }),
  ...(reason === undefined ? {} : { reason }),
  standing,
});
