/**
 * Tell tokens: what a model says while it says it, for clients that listen. See protocol/live.ts.
 */
import type { OpenIntent } from "../../actors/contract/state.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { lanes, type TokenPiece } from "../../protocol/live.ts";
import type { ModelContext } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { HostDeps } from "./host-deps.ts";

/** Tells what one attempt says. */
export interface TokenTeller {
  readonly tell: ModelContext["live"];
  /** How the attempt ended. What it has said counts no more if that is no success, which a listener hears at once. */
  ended(result: Result): void;
}

/** For one attempt: its pieces are counted from its beginning, so that a listener sees a gap. */
export function createTokenTeller(
  deps: Pick<HostDeps, "live" | "incarnation">,
  saga: SagaId,
  { intent, attempt }: OpenIntent,
): TokenTeller {
  const said = { text: 0, thinking: 0 };
  const publish = (rest: Partial<TokenPiece>) =>
    deps.live(saga, lanes.tokens, { intent: intent.id, attempt, by: deps.incarnation, ...rest });
  const say = (kind: TokenPiece["kind"], piece: string | undefined) => {
    if (piece === undefined || piece === "") return;
    publish({ kind, from: said[kind], piece });
    said[kind] += piece.length;
  };
  return {
    tell: ({ text, thinking }) => {
      say("thinking", thinking);
      say("text", text);
    },
    ended: (result) => {
      const hasSaid = said.text + said.thinking > 0;
      if (hasSaid && result.outcome !== "succeeded") publish({ retracted: result.code });
    },
  };
}
