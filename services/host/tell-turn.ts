/**
 * Tell turn: what a turn says beside what it does, once it is acked, to those who listen and in the host's log: what its
 * machine logs, and why a saga ends whose model's replies could not be taken.
 *
 * Said by the host that appended the turn, and by no other: turns that are folded again say nothing anew, and a host that
 * dies between both has not said it. What is to be kept stands on the ledger, as lines do of a saga that says so (logged.ts).
 */
import type { DefinitionRef } from "../../protocol/event.ts";
import { briefDefinition } from "../../protocol/definition-text.ts";
import { lanes } from "../../protocol/live.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { redactText } from "../process/redact.ts";
import type { HostDeps } from "./host-deps.ts";
import { loggedText } from "./logged.ts";

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
    const text = loggedText(value);
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
