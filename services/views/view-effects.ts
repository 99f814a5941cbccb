/**
 * View of effects: what stands of what a ledger's saga has done.
 */
import type { SagaState } from "../../actors/contract/state.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { EffectView } from "./viewing.ts";

interface Recorded {
  readonly intent: Exclude<Intent, { kind: "retry" }>;
  readonly outcome: string | undefined;
}

/** What stands, by recorded outcomes alone. */
export function effectsOf(v: {
  readonly intents: ReadonlyMap<IntentId, Recorded>;
  readonly isRead: (tool: string) => boolean;
  /** Calls that failed although they may have happened: their effects stand in doubt. */
  readonly held: ReadonlySet<IntentId>;
}): EffectView[] {
  const undone = new Set<IntentId>();
  for (const { intent, outcome } of v.intents.values()) {
    const undoesTool = intent.kind === "tool" || (intent.kind === "saga" && intent.starts === true);
    if (undoesTool && intent.undoes !== undefined && outcome === "succeeded") undone.add(intent.undoes);
    if (
      intent.kind === "task" &&
      intent.about === "stuck" &&
      intent.of !== undefined &&
      outcome === "succeeded"
    )
      undone.add(intent.of);
  }
  return [...v.intents.values()].flatMap(({ intent, outcome }) => {
    if (intent.kind !== "tool" || intent.undoes !== undefined || intent.for !== undefined) return [];
    if (v.isRead(intent.name) || undone.has(intent.id)) return [];
    const stands = v.held.has(intent.id) ? "in_doubt" : outcome;
    if (stands !== "succeeded" && stands !== "in_doubt") return [];
    return [{ intent: intent.id, tool: intent.name, key: intent.key, outcome: stands }];
  });
}

export const effectsOfState = (state: SagaState): EffectView[] =>
  state.effects.map(({ intent, tool, key, outcome }) => ({ intent, tool, key, outcome }));
