/** Logged: what a machine logs, as the texts that a log, a terminal and a ledger have. Without what is secret. */
import type { LogsTo } from "../../actors/contract/definition.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { shortened } from "../../protocol/shortened.ts";
import { redactText } from "../process/redact.ts";

/** A text as it is; what else was logged, with its label if it has one, as JSON. */
export function loggedText(value: Json): string {
  const of = typeof value === "object" && value !== null && !Array.isArray(value) ? value : { value };
  const { label, value: said = value } = of;
  const text = typeof said === "string" ? said : JSON.stringify(said);
  return redactText(typeof label === "string" && label !== "" ? `${label}: ${text}` : text);
}

/**
 * What a turn keeps of it. Undefined where its saga keeps nothing, or nothing was logged. Lines that find no room are counted
 * in the last one: a machine that logs much must not make a turn large.
 */
export function loggedOf(
  logs: LogsTo | undefined,
  { shown }: Pick<DecidedTurn, "shown">,
): string[] | undefined {
  if (logs !== "ledger") return undefined;
  const lines = shown.filter(({ kind }) => kind === "log");
  const kept: string[] = [];
  let room = limits.loggedCharactersMax;
  for (const { value } of lines) {
    const line = shortened(loggedText(value), limits.loggedLineCharactersMax);
    if ((room -= line.length) < 0) break;
    kept.push(line);
  }
  const left = lines.length - kept.length;
  if (left > 0) kept.push(`… and ${left} more, in the host's log`);
  return kept.length === 0 ? undefined : kept;
}
