/**
 * Tell turn: what a turn says beside what it does, once it is acked, to those who listen and in the host's log: what its
 * machine logs, and why a saga ends whose model's replies could not be taken.
 *
 * Said by the host that appended the turn, and by no other: turns that are folded again say nothing anew, and a host that
 * dies between both has not said it. What is to be kept stands on the ledger.
 */
import type { DefinitionRef } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { briefDefinition } from "../../protocol/definition-text.ts";
import { lanes } from "../../protocol/live.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { redactText } from "../process/redact.ts";
import type { HostDeps } from "./host-deps.ts";

/** Tells of a turn that is acked. What a machine logs (`log` of XState) is a line of the log, at `info`, unless another takes it. */
export function tellTurn(
  { log, live, onLogged }: Pick<HostDeps, "log" | "live" | "onLogged">,
  definition: DefinitionRef,
  { state, steps, shown }: Pick<DecidedTurn, "state" | "steps" | "shown">,
): void {
  for (const { kind, value } of shown) {
    live(state.saga, kind, value);
    if (kind !== "log") continue;
    const { saga } = state;
    const text = redactText(wordsOf(value));
    if (onLogged !== undefined) onLogged({ saga, definition, text });
    else log.info({ sagaId: saga, definition: briefDefinition(definition), logged: text }, "saga logged");
  }
  if (steps.some(({ intents }) => intents.some(({ kind }) => kind === "end")))
    live(state.saga, lanes.end, { turn: state.turn });
  for (const { intents } of steps)
    for (const intent of intents)
      if (intent.kind === "end" && intent.code === "MODEL_REPLY_INVALID")
        log.warn(
          {
            sagaId: state.saga,
            definition: briefDefinition(definition),
            code: intent.code,
            reason: intent.reason === undefined ? undefined : redactText(intent.reason),
          },
          "saga failed on replies",
        );
}

/** A text as it is; what else was logged, with its label if it has one, as JSON. */
function wordsOf(value: Json): string {
  const of = typeof value === "object" && value !== null && !Array.isArray(value) ? value : { value };
  const { label, value: said = value } = of;
  const text = typeof said === "string" ? said : JSON.stringify(said);
  return typeof label === "string" && label !== "" ? `${label}: ${text}` : text;
}
