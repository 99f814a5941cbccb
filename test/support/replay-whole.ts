/**
 * Replay, of a ledger that is held whole: the path of a run, the calls that it made and the answers of its models, as they are found
 * where all turns are looked at at once. The reference of what is gathered as a ledger is read.
 */
import type { PathStep } from "../../protocol/documents/replay.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accountOf } from "../../services/ledger/account-reader.ts";
import { type IntentView, viewOf } from "../../services/views/view.ts";

export function pathWhole(turns: readonly Turn[]): PathStep[] {
  const views = new Map(viewOf(turns).intents.map((view) => [view.intent.id, view]));
  return turns.flatMap(({ turn, at, steps }) =>
    steps.flatMap(({ event, intents }) => {
      const told: PathStep[] = [];
      if (event.type === "start")
        told.push({ turn, at, kind: "start", title: event.definition.name, detail: brief(event.input) });
      if (event.type === "signal")
        told.push({ turn, at, kind: "signal", title: event.name, detail: brief(event.data) });
      for (const { id, kind } of intents) {
        const view = kind === "retry" ? undefined : views.get(id);
        const step = view && stepOf(view, at);
        if (step !== undefined) told.push(step);
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
    case "task": {
      const title = [intent.about, intent.tool].filter(Boolean).join(" ");
      return { ...base, kind: "task", title, detail: intent.question };
    }
    case "timer":
      return { ...base, kind: "timer", title: "timer", detail: `${Math.max(0, intent.dueAt - at)} ms` };
    case "signal":
      return { ...base, kind: "signal", title: `to ${intent.saga}`, detail: intent.name };
    case "denied":
      return { ...base, kind: "denied", title: intent.name, detail: `[${intent.code}] ${intent.reason}` };
    case "end": {
      const detail = brief(intent.output ?? intent.reason ?? null);
      return { turn, at, kind: "end", title: intent.status, detail };
    }
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

const brief = (value: Json | undefined): string =>
  shortened(value === undefined ? "" : JSON.stringify(value), 200);

/** Of each call its intent, what it was given, and how often people spoke of it; then of the settled ones when, and as what first. */
export function callsWhole(turns: readonly Turn[]) {
  const { intents } = accountOf(turns);
  return [...intents.values()].flatMap(({ intent, input, place, said, before, ended }) => {
    if (intent.kind !== "tool" && intent.kind !== "saga" && intent.kind !== "task") return [];
    const votes = said.filter(({ through }) => through === undefined).length;
    const ends = [before, ended].flatMap((one) => {
      const { event } = one ?? {};
      const isOwn = event !== undefined && "intent" in event && event.intent === intent.id;
      const isSaid = isOwn && ["result", "task", "timer"].includes(event.type);
      return one === undefined || !isSaid ? [] : [{ turn: one.turn, ms: one.at - place.at }];
    });
    return [
      { intent, turn: place.turn, input: intent.kind === "task" ? undefined : (input ?? null), votes, ends },
    ];
  });
}

/** The first valid reply to each call of a model, or the last word on it, in a few words. */
export function answersWhole(turns: readonly Turn[]): Map<IntentId, string> {
  const answers = new Map<IntentId, { readonly words: string; readonly isReply: boolean }>();
  for (const { steps } of turns)
    for (const { event } of steps) {
      if (event.type !== "result" || answers.get(event.intent)?.isReply === true) continue;
      const { result } = event;
      const reply = result.outcome === "succeeded" ? ModelReply.safeParse(result.output).data : undefined;
      const without =
        result.outcome === "succeeded" ? "its reply is malformed" : `${result.outcome}: ${result.reason}`;
      const words = reply === undefined ? without : JSON.stringify(reply);
      answers.set(event.intent, { words, isReply: reply !== undefined });
    }
  return new Map([...answers].map(([id, { words }]) => [id, words]));
}
