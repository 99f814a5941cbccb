/**
 * Retry attempt: the next attempt of an intent whose last one failed and may be tried again: the same intent, with the
 * same key.
 */
import type { IntentId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Result } from "../../protocol/result.ts";
import type { Retry } from "../../protocol/tool.ts";
import { isOpen, type OpenIntent, type OpenModel, type OpenTool } from "../contract/state.ts";
import { backoffMs } from "../values/retry.ts";
import { refusalOfRetry } from "./budget.ts";
import {
  actorError,
  closedBy,
  countStep,
  endIntent,
  type Folding,
  isAwaited,
  isWanted,
  setOpen,
  tellActor,
  toolOf,
} from "./folding.ts";
import { holdRetry, isPaused } from "./held.ts";
import { decider } from "./lineage.ts";
import { names } from "./undo-order.ts";

const modelRetry: Retry = { attemptsMax: limits.retryAttemptsMax, backoffMs: limits.retryBackoffMs };

const policyOf = (f: Folding, open: OpenIntent): Retry | undefined => {
  if (open.intent.kind === "model") return modelRetry;
  return open.intent.kind === "tool" ? toolOf(f, open.intent.name)?.retry : undefined;
};

/** Whether its own policy allows another attempt, and the saga still wants it. */
export function mayRetry(f: Folding, id: IntentId, open: OpenTool | OpenModel, result: Result): boolean {
  if (result.outcome !== "failed" || result.retry === false) return false;
  const policy = policyOf(f, open);
  const lost = isOpen(open, "model") ? (open.lost ?? 0) : 0;
  if (policy === undefined || open.attempt - lost >= policy.attemptsMax) return false;
  if (open.intent.kind === "tool" && open.intent.undoes !== undefined) return true;
  const isGivenUp = f.state.plans.some((plan) => plan.only !== undefined && names(plan, id));
  return f.state.phase.kind === "running" && isWanted(f, id, open) && !isGivenUp;
}

/** Begins the next attempt, after its backoff; or not, where the budget does not allow it. */
export function retry(f: Folding, id: IntentId, open: OpenTool | OpenModel, result: Result): void {
  const refusal = refusalOfRetry(f, open);
  if (refusal !== undefined) return giveUpAsking(f, open, refusal);
  const attempt = open.attempt + 1;
  const policy = policyOf(f, open) ?? modelRetry;
  const { route, retryAfterMs } = result.outcome === "failed" ? result : {};
  const ask = route?.next;
  // A stand-in can be asked at once; and of several providers each one's wish is kept by its own throttle.
  const wish = route === undefined ? retryAfterMs : undefined;
  const waitMs = ask === undefined ? backoffMs(policy, attempt, `${decider(f.state)}/${id}`, wish) : 0;
  const notBefore = f.at + waitMs;
  if (isOpen(open, "tool")) {
    // The next attempt is handed on like the first: what was deferred is so no more.
    const { deferred: _deferred, dueAt: _dueAt, ...rest } = open;
    return openAgain(f, { ...rest, attempt, notBefore });
  }
  const { ask: _ask, ...rest } = open;
  const next = { ...rest, attempt, notBefore, ...(ask === undefined ? {} : { ask }) };
  if (!isPaused(f)) return openAgain(f, next);
  // A tool's attempts go on: what an earlier one did must find its intent open. A model's cost money and do nothing.
  endIntent(f, id, closedBy(id, result));
  holdRetry(f, next);
}

function openAgain(f: Folding, open: OpenTool | OpenModel): void {
  const { id } = open.intent;
  const model = isOpen(open, "model") ? open : undefined;
  const earliest = model === undefined ? 0 : (f.state.modelNotBefore ?? 0);
  const notBefore = Math.max(open.notBefore ?? 0, earliest);
  const asking = model?.ask === undefined ? {} : { ask: model.ask };
  f.intents.push({ kind: "retry", id, attempt: open.attempt, notBefore, ...asking });
  if (model !== undefined) countStep(f);
  setOpen(f, { ...open, notBefore, ...(model === undefined ? {} : { since: f.state.turn }) });
}

/** What is left of the budget does not allow another attempt. */
function giveUpAsking(f: Folding, open: OpenIntent, refusal: string): void {
  const { id } = open.intent;
  const error = actorError("denied", "BUDGET_EXCEEDED", refusal);
  endIntent(f, id, { as: error.outcome, code: error.code, reason: refusal });
  tellActor(f, open.actor, id, { error });
}

/** The next attempt of a model call whose last one failed while the saga was paused, if it is still asked for. */
export function issueRetry(f: Folding, open: OpenModel): void {
  if (!isAwaited(f, open.intent.id, open.actor)) return;
  setOpen(f, open);
  const refusal = refusalOfRetry(f, open);
  if (refusal === undefined) openAgain(f, open);
  else giveUpAsking(f, open, refusal);
}
