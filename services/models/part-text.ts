/**
 * What a model reads of the parts of a user message: the same with every provider.
 *
 * What comes from outside (results, signals, a human's instructions) is one line of JSON, so no data can pose as
 * another message.
 */
import type { MessagePart } from "../../protocol/model.ts";

/** How a call ended, or that it has not. */
export const outcomeOf = ({
  outcome,
  output,
  code,
  reason,
  rewritten,
  edited,
  standing,
}: MessagePart & { type: "result" }): object => ({
  outcome,
  ...(edited === undefined ? {} : { argumentsWereChangedByAHuman: edited }),
  ...(rewritten === undefined ? {} : { argumentsWereRewrittenTo: rewritten }),
  output,
  code,
  standing,
  reason:
    outcome === "pending"
      ? (reason ?? "The call is still open. Its result follows in a later message.")
      : reason,
});

/** A part as text. A result told this way is of a call that an earlier message answered as pending. */
export function partText(part: MessagePart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "signal":
      return `A signal came: ${asLine({ name: part.name, at: new Date(part.at).toISOString(), from: part.from, data: part.data })}`;
    case "memory":
      return part.memory === undefined
        ? `A change of your working memory was refused: ${asLine({ by: part.by, code: part.code, reason: part.reason })}`
        : `Your working memory is now: ${asLine({ by: part.by, memory: part.memory })}`;
    case "instructions":
      return `New instructions from a human: ${asLine({ at: new Date(part.at).toISOString(), from: part.from, text: part.text })}`;
    case "result":
      return `News of an earlier call: ${asLine({ call: part.call, tool: part.tool, ...outcomeOf(part) })}`;
  }
}

export const timeText = (at: number): string => `The time is ${new Date(at).toISOString()}.`;

/** JSON on one line in every reader's eyes: JSON itself lets two of Unicode's line breaks pass. */
export const asLine = (value: object): string =>
  JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
