/**
 * Parse: a file's text to the conversations in it, and which shape each has. JSON, or one JSON to a line.
 */
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { RecordingFormat } from "../../protocol/documents/recording.ts";
import { readAnthropic } from "./anthropic.ts";
import type { Conversation } from "./conversation.ts";
import { readMessages } from "./messages.ts";

/** Every conversation of a file. Throws RECORDING_INVALID with the line, or conversation and message. */
export function readRecording(
  file: string,
  text: string,
  format: RecordingFormat | undefined,
): Conversation[] {
  return valuesIn(file, text)
    .flatMap(conversationsIn)
    .map((value, index) => {
      const at = { file, conversation: index + 1 };
      if (typeof value !== "object" || value === null)
        throw new MeshError("RECORDING_INVALID", `${file}, conversation ${index + 1}: it is no conversation`);
      try {
        return (format ?? formatOf(value)) === "anthropic"
          ? readAnthropic(value, at)
          : readMessages(value, at);
      } catch (error) {
        if (!isMeshError(error, "VALUE_REFUSED")) throw error;
        const what = `${file}, conversation ${index + 1}: ${error.message}`;
        throw new MeshError("RECORDING_INVALID", what, { cause: error });
      }
    });
}

function valuesIn(file: string, text: string): unknown[] {
  if (text.trim() === "") throw new MeshError("RECORDING_INVALID", `${file}: it is empty`);
  try {
    return [JSON.parse(text)];
  } catch (whole) {
    const lines = text.split(/\r?\n/);
    return lines.flatMap((line, index): unknown[] => {
      if (line.trim() === "") return [];
      try {
        return [JSON.parse(line)];
      } catch (error) {
        // The first line alone is no JSON, so it was meant as one: its own fault says more.
        const isLines = index > 0;
        const where = isLines ? `line ${index + 1}` : lineOf(text, describeError(whole));
        throw new MeshError(
          "RECORDING_INVALID",
          `${file}, ${where}: ${describeError(isLines ? error : whole)}`,
          {
            cause: error,
          },
        );
      }
    });
  }
}

function lineOf(text: string, fault: string): string {
  const [, position] = /position (\d+)/.exec(fault) ?? [];
  const before = position === undefined ? text : text.slice(0, Number(position));
  return `line ${before.split("\n").length}`;
}

const isMessage = (value: unknown): boolean => typeof value === "object" && value !== null && "role" in value;

/** A list of messages is a conversation; any other list, and a benchmark's run, holds some. */
function conversationsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) ? [value] : value;
  const runs = (value as { simulations?: unknown } | null)?.simulations;
  return Array.isArray(runs) ? runs : [value];
}

const blockTypes: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
]);

/** By what only one of them has; a list of plain texts reads the same as either. */
function formatOf(value: object): RecordingFormat {
  const given = value as {
    request?: unknown;
    params?: unknown;
    system?: unknown;
    messages?: unknown;
    tools?: unknown;
  };
  if ("request" in given || "params" in given || "system" in given) return "anthropic";
  const tools = Array.isArray(given.tools) ? (given.tools as unknown[]) : [];
  if (tools.some((tool) => typeof tool === "object" && tool !== null && "input_schema" in tool))
    return "anthropic";
  const messages = (
    Array.isArray(value) ? value : Array.isArray(given.messages) ? given.messages : []
  ) as unknown[];
  const hasBlocks = messages.some((message) => {
    const content = (message as { content?: unknown } | null)?.content;
    return (
      Array.isArray(content) &&
      content.some((block) => blockTypes.has((block as { type?: unknown } | null)?.type))
    );
  });
  return hasBlocks ? "anthropic" : "messages";
}
