/**
 * Path: what happened in a run, one line a thing, in the order it was decided. For the two columns of a report.
 */
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { PathStep } from "../../protocol/documents/replay.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { ToldIntent } from "../ledger/account.ts";
import { keepingUp, type Made } from "../ledger/kept-up.ts";
import { outcomeOf } from "../views/view.ts";

/** Where the answer to an intent of a free run came from. */
export type AnswerOrigins = ReadonlyMap<IntentId, string>;

/** Tells a path as the turns of a run come. */
export interface Tracing {
  /** Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): void;
  /** Of the turns taken, each thing with what became of it so far. */
  steps(origins?: AnswerOrigins): PathStep[];
}

/** Nothing was taken yet. No turn is kept. */
export function tracing(): Tracing {
  const keeping = keepingUp(stepOf);
  const path: { readonly intent?: IntentId; readonly made: Made<PathStep | undefined> }[] = [];
  return {
    take: (turn) => {
      let told = 0;
      const tellOutside = (through: number) => {
        for (; told <= through; told++) {
          const event = turn.steps[told]?.event;
          const of = event && outsideOf(turn, event);
          if (of !== undefined) path.push({ made: { of } });
        }
      };
      keeping.take(turn, ({ intent }, made, { step }) => {
        tellOutside(step);
        path.push({ intent: intent.id, made });
      });
      tellOutside(turn.steps.length - 1);
    },
    steps: (origins) =>
      path.flatMap(({ intent, made: { of: step } }) => {
        const from = intent === undefined ? undefined : origins?.get(intent);
        return step === undefined ? [] : [from === undefined ? step : { ...step, from }];
      }),
  };
}

/** What came from outside and is no intent's. */
function outsideOf({ turn, at }: Turn, event: Event): PathStep | undefined {
  if (event.type === "start")
    return { turn, at, kind: "start", title: event.definition.name, detail: brief(event.input) };
  if (event.type === "signal")
    return { turn, at, kind: "signal", title: event.name, detail: brief(event.data) };
  return undefined;
}

function stepOf(told: ToldIntent): PathStep | undefined {
  const { intent, input, place, ended } = told;
  const { turn, at } = place;
  const outcome = outcomeOf(told);
  const base = { turn, at, ...(outcome === undefined ? {} : { outcome }) };
  switch (intent.kind) {
    case "model":
      return { ...base, kind: "model", title: intent.name, detail: repliedOf(ended?.output) };
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
