/** Tell refusals: a saga that ends because its model's replies could not be taken says so in the log, with why of each. */
import type { DefinitionRef } from "../../protocol/event.ts";
import { briefDefinition } from "../../protocol/definition-text.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import type { Log } from "../process/log.ts";
import { redactText } from "../process/redact.ts";

/**
 * Of a turn that is acked, where it ends the saga so. Said by the host that appended the turn, and by no other: one that
 * dies between both has not said it, and the ledger has it all the same.
 */
export function tellRefusals(
  log: Log,
  definition: DefinitionRef,
  { state, steps }: Pick<DecidedTurn, "state" | "steps">,
): void {
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
