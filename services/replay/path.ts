/**
 * Path: what happened in a run, one line a thing, in the order it was decided. For the two columns of a report.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { PathStep } from "../../protocol/documents/replay.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type IntentView, viewOf } from "../views/view.ts";

/** Where the answer to an intent of a free run came from. */
export type AnswerOrigins = ReadonlyMap<IntentId, string>;

export function pathOf(turns: readonly Turn[], origins: AnswerOrigins = new Map()): PathStep[] {
  if (turns.length === 0) return [];
  const { intents } = viewOf(turns);
  const views = new Map(intents.map((view) => [view.intent.id, view]));
  return turns.flatMap(({ turn, at, steps }) =>
    steps.flatMap(({ event, intents: decided }) => {
      const told: PathStep[] = [];
      if (event.type === "start")
        told.push({ turn, at, kind: "start", title: event.definition.name, detail: brief(event.input) });
      if (event.type === "signal")
        told.push({ turn, at, kind: "signal", title: event.name, detail: brief(event.data) });
      for (const { id, kind } of decided) {
        const view = kind === "retry" ? undefined : views.get(id);
        const step = view && stepOf(view, at);
        const from = origins.get(id);
        if (step !== undefined) told.push(from === undefined ? step : { ...step, from });
      }
      return told;
    }),
  );
}

function stepOf({ intent, input, turn, outcome, output }: IntentView, at: number): PathStep | undefined {
  const base = { turn, at, ...(outcome === undefined ? {} : { outcome }) };
  switch (intent.kind) {
    case "model":
      return { ...base, kind: "model", title: intent.name, detail: repliedOf(output) };
    case "tool":
    case "saga": {
      const title = intent.undoes === undefined ? intent.name : `${intent.name} (undoes ${intent.undoes})`;
      return { ...base, kind: intent.kind, title, detail: brief(input) };
    }
    case "task":
      return {
        ...base,
        kind: "task",
        title: [intent.about, intent.tool].filter(Boolean).join(" "),
        detail: intent.question,
      };
    case "timer":
      return { ...base, kind: "timer", title: "timer", detail: `${Math.max(0, intent.dueAt - at)} ms` };
    case "signal":
      return { ...base, kind: "signal", title: `to ${intent.saga}`, detail: intent.name };
    case "denied":
      return { ...base, kind: "denied", title: intent.name, detail: `[${intent.code}] ${intent.reason}` };
    case "end":
      return {
        turn,
        at,
        kind: "end",
        title: intent.status,
        detail: brief(intent.output ?? intent.reason ?? null),
      };
    case "pause":
      return undefined;
  }
}

function repliedOf(output: Json | undefined): string {
  const read = ModelReply.safeParse(output);
  if (!read.success) return "";
  const { calls, text } = read.data;
  return calls.length === 0 ? brief(text ?? null) : calls.map(({ tool }) => tool).join(", ");
}

const charactersMax = 200;

function brief(value: Json | undefined): string {
  const text = value === undefined ? "" : JSON.stringify(value);
  return shortened(text, charactersMax);
}
