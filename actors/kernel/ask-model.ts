/**
 * Ask model: a call of a model that the machine wants, as far as the budget allows it.
 */
import type { Json } from "../../protocol/json.ts";
import type { ModelQuery } from "../contract/definition.ts";
import type { Callable } from "../machine/callable.ts";
import { judgeDecision, judgeModelCall, judgeSummary, type Verdict } from "./budget.ts";
import { countStep, type Folding, newId, openIntent, refuseActor } from "./folding.ts";
import { decider } from "./lineage.ts";

/** Opens the intent of a call, or says why not: to the actor, or to a model that must hear first that it is the last. */
export function askModel(f: Folding, callable: Callable, actor: string, input: Json): void {
  const { kind } = f.definition;
  const asker = { saga: decider(f.state), at: f.at, variant: f.state.fork?.variant };
  const query = kind.query(f.definition, callable, input, asker);
  const verdict = judged(f, query);
  if (verdict.type === "refuse")
    return refuseActor(f, actor, callable.name, "BUDGET_EXCEEDED", verdict.reason);
  if (verdict.type === "tell") {
    const { last, text } = verdict;
    f.queue.push({ event: { type: "sagamesh.budget", last, text, at: f.at } });
    return;
  }
  const { open, ...intent } = query.intentOf(f.at, verdict.with.outputTokensMax);
  countStep(f);
  openIntent(f, {
    intent: { kind: "model", id: newId(f), name: query.model, ...intent, ...verdict.with },
    input: open,
    attempt: 1,
    actor,
  });
}

function judged(f: Folding, query: ModelQuery): Verdict {
  switch (query.counts) {
    case "decision":
      return judgeDecision(f, query);
    case "summary":
      return judgeSummary(f, query);
    case "single":
      return judgeModelCall(f, query);
  }
}
