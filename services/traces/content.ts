/**
 * Content: what was said, as attributes of the spans of those who said it. Only for a reader that was told to show it.
 */
import type { SpanAttributes } from "../../protocol/documents/trace.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Account, Ended, News, ToldIntent } from "../ledger/account.ts";
import { attributesOf, contentOf } from "./attributes.ts";
import { contentAttribute } from "./names.ts";

/** Of an intent that is over: what it was given, what it gave, and why it ended so. */
export function contentOfIntent(
  account: Account,
  told: ToldIntent,
  ended: Ended | undefined,
): SpanAttributes {
  const { intent, input } = told;
  const reason = ended?.reason;
  const of: Record<string, string | undefined> = { [contentAttribute.reason]: reason };
  switch (intent.kind) {
    case "model":
      of[contentAttribute.inputMessages] =
        intent.input === undefined ? newMessages(account, told) : contentOf([userText(intent.input)]);
      of[contentAttribute.outputMessages] = replyMessages(ended?.output);
      break;
    case "tool":
    case "saga":
      of[contentAttribute.toolArguments] = contentOf(input);
      of[contentAttribute.toolResult] = contentOf(ended?.output);
      break;
    case "task":
      of[contentAttribute.question] = contentOf(intent.question);
      of[contentAttribute.data] = contentOf(ended?.output);
      of[contentAttribute.by] = ended?.from;
      break;
    case "signal":
      of[contentAttribute.data] = contentOf(intent.data ?? input);
      break;
    default:
  }
  return attributesOf(of);
}

const userText = (value: Json): Json => ({ role: "user", parts: [{ type: "text", content: textOf(value) }] });
const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * What was new to a decision. The whole conversation is the messages of all the decisions before it besides: told with each, it
 * would grow with the square of its length.
 */
function newMessages(account: Account, { intent }: ToldIntent): string | undefined {
  const news = account.news.get(intent.id) ?? [];
  return news.length === 0 ? undefined : contentOf(news.map((one) => messageOf(account, one)));
}

function messageOf(account: Account, { at: { event }, intent: id }: News): Json {
  const told = id === undefined ? undefined : account.intents.get(id);
  if (id !== undefined && told?.ended !== undefined) {
    const response = told.ended.output ?? { outcome: told.ended.as, reason: told.ended.reason ?? null };
    return { role: "tool", parts: [{ type: "tool_call_response", id: callOf(told), response }] };
  }
  if (event.type === "start") return userText(event.input);
  return event.type === "signal" ? userText({ signal: event.name, data: event.data }) : userText(event.type);
}

const callOf = ({ intent }: ToldIntent): string =>
  "call" in intent && intent.call !== undefined ? intent.call : intent.id;

function replyMessages(output: Json | undefined): string | undefined {
  const reply = ModelReply.safeParse(output).data;
  if (reply === undefined) return contentOf(output);
  const { text, calls, stop } = reply;
  const parts: Json[] = [
    ...(text === undefined ? [] : [{ type: "text", content: text }]),
    ...calls.map(({ tool, input }) => ({ type: "tool_call", name: tool, arguments: input })),
  ];
  return contentOf([{ role: "assistant", parts, ...(stop === undefined ? {} : { finish_reason: stop }) }]);
}
