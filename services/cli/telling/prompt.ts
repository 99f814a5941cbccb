/** What `inspect --prompt` prints. */
import type { PromptDocument } from "../../../protocol/documents/prompt.ts";
import type { ModelMessage, ModelRequest } from "../../../protocol/model.ts";
import { assertProved } from "../../views/prompt.ts";
import { dateOf } from "./describe.ts";
import type { Output } from "../frame/output.ts";

/** Prints the request, proved or not. Throws FOLD_DIVERGED afterwards if it is not. */
export function printPrompt(output: Output, document: PromptDocument): number {
  output.print(document, () => describe(document));
  assertProved(document);
  return 0;
}

function describe({
  saga,
  turn,
  intent,
  about,
  model,
  request,
  digest,
  sent,
  proved,
}: PromptDocument): string {
  const { instructions, tools, messages, signals, step, now } = request as unknown as ModelRequest; // As it was built.
  return [
    `${saga}  ${about} ${step}, intent ${intent} of turn ${turn}, asked of ${model} at ${dateOf(now)}`,
    `digest   ${digest.recorded}, ${proved ? "proved" : `NOT PROVED: today's code gives ${digest.recomputed}`}`,
    ...(sent === undefined ? [] : [`as sent  ${sent.recorded ?? "not recorded yet"}`]),
    "",
    "instructions:",
    instructions,
    "",
    `tools: ${tools.length}`,
    ...tools.flatMap(({ name, description, schema }) => [
      `  ${name}: ${description}`,
      `    ${JSON.stringify(schema)}`,
    ]),
    `signals: ${signals.join(", ") || "none"}`,
    "",
    `messages: ${messages.length}`,
    ...messages.flatMap((message, index) => [`#${index} ${headOf(message)}`, ...bodyOf(message)]),
  ].join("\n");
}

const headOf = (message: ModelMessage): string =>
  message.role === "user" ? `user, ${dateOf(message.at)}` : `assistant, ${message.model}`;

/** Line by line, whole: nothing is shortened here. */
const bodyOf = (message: ModelMessage): string[] =>
  message.role === "user"
    ? message.parts.map((part) =>
        part.type === "text" ? `  text ${part.text}` : `  ${part.type} ${JSON.stringify(part)}`,
      )
    : [
        ...(message.text === undefined ? [] : [`  text ${message.text}`]),
        ...message.calls.map((call) => `  call ${JSON.stringify(call)}`),
        ...(message.blocks ?? []).map((block) => `  block ${JSON.stringify(block)}`),
      ];
