/**
 * Context sent: what a model's last request contained, in numbers. `inspect --prompt` shows the request itself.
 */
import { promptTokens } from "../../actors/kernel/spending.ts";
import type { ContextSentDocument } from "../../protocol/documents/prompt.ts";
import type { ModelReply } from "../../protocol/model.ts";
import { aboutOf, isProved } from "./prompt.ts";
import type { RecordedRequest } from "./requests.ts";

/** Bytes that make a token, of English text and JSON; fewer of other languages. */
const bytesPerToken = 4;

/** Of a request that is at hand, and what came back for it. */
export function contextOf(found: RecordedRequest, reply: ModelReply | undefined): ContextSentDocument {
  const { intent, turn, request, conversation, cut } = found;
  const { instructions, messages, tools } = request;
  const usage = reply?.usage;
  const reported = usage === undefined ? 0 : promptTokens(usage);
  const bytes = Buffer.byteLength(JSON.stringify([instructions, messages, tools]));
  return {
    intent: intent.id,
    turn,
    about: aboutOf(found),
    model: intent.name,
    messages: messages.length,
    conversation,
    tokens: { estimated: Math.ceil(bytes / bytesPerToken), ...(reported === 0 ? {} : { reported }) },
    ...(cut === undefined || cut.whole === 0
      ? {}
      : {
          cut: {
            dropped: Math.max(0, cut.from - 1), // The first message is always sent.
            shortened: cut.whole - Math.max(1, cut.from),
            ...(cut.summary === undefined ? {} : { summarized: cut.summary.through }),
            ...(cut.unsummarized === undefined ? {} : { unsummarized: cut.unsummarized }),
          },
        }),
    proved: isProved(found, reply),
  };
}
