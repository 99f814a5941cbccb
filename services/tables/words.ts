/**
 * Words: the texts of a turn, for who looks for one by its words: what the saga was told, what models said, what tools gave, what
 * people wrote, what came of it. Pure.
 */
import { ModelReply } from "../../protocol/model.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Step, Turn } from "../../protocol/turn.ts";
import type { Account } from "../ledger/account.ts";
import { type Row, timeText } from "./rows.ts";

/** Of one text; beyond that it is cut. */
const textMax = 16_384;

/** One text, and whose it is. */
interface Said {
  readonly role: "start" | "signal" | "model" | "tool" | "saga" | "task" | "vote" | "end";
  readonly name?: string | undefined;
  readonly who?: string | undefined;
  readonly text: Json | undefined;
}

/** The texts of a turn that the account has taken, in their order. */
export function messageRows(account: Account, turn: Turn): Row[] {
  return turn.steps
    .flatMap((step) => [...heardIn(account, step), ...askedIn(step)])
    .map((said) => ({ ...said, text: textOf(said.text) }))
    .filter(({ text }) => text !== "")
    .map((said, place) => ({
      table: "messages",
      cells: { saga: turn.saga, turn: turn.turn, place, at: timeText(turn.at), ...said },
    }));
}

function heardIn(account: Account, { event }: Step): Said[] {
  switch (event.type) {
    case "start":
      return [{ role: "start", name: event.definition.name, text: event.input }];
    case "signal":
      return [{ role: "signal", name: event.name, who: event.from, text: event.data }];
    case "task":
      return votedIn(event);
    case "result":
      return resultIn(account, event);
    default:
      return [];
  }
}

function votedIn({ vote }: EventOf<"task">): Said[] {
  const said = { role: "vote", name: vote.vote, who: vote.by } as const;
  return [vote.reason, vote.answer, vote.input].map((text) => ({ ...said, text }));
}

/** Of a model what it said; what it called stands with the intents. */
function resultIn({ intents }: Account, { intent: id, by, result }: EventOf<"result">): Said[] {
  const intent = intents.get(id)?.intent;
  if (intent?.kind !== "tool" && intent?.kind !== "model" && intent?.kind !== "saga") return [];
  const said = { role: intent.kind, name: intent.name, who: by };
  if (result.outcome !== "succeeded")
    return [{ ...said, text: "reason" in result ? result.reason : undefined }];
  if (intent.kind !== "model") return [{ ...said, text: result.output }];
  const reply = ModelReply.safeParse(result.output).data;
  // What a machine asks a model need not be a reply.
  return [{ ...said, text: reply === undefined ? result.output : reply.text }];
}

function askedIn({ intents }: Step): Said[] {
  return intents.flatMap((intent): Said[] => {
    if (intent.kind === "task") return [{ role: "task", name: intent.about, text: intent.question }];
    if (intent.kind !== "end") return [];
    return [intent.output, intent.reason].map((text) => ({ role: "end", name: intent.status, text }));
  });
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return shortened(typeof value === "string" ? value : JSON.stringify(value), textMax);
}
