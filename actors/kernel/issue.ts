/**
 * Issue: what the machine asks for becomes intents. The only place where an intent of the machine's is born.
 *
 * IS1 A call passes schema, policies, budget, doubts and approval, in this order, before it is an intent, and once more
 *     when it was approved. What is refused is recorded as `denied` and told to the actor; nothing else happens.
 * IS2 A call equal to one that is in doubt is refused until that doubt is settled.
 */
import { assert } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { arm, disarm, displace } from "./actor-ids.ts";
import { askApproval, askHuman, type Review } from "./asking.ts";
import { askModel } from "./ask-model.ts";
import { contractDigest } from "../contract/contract-digest.ts";
import { type ForwardParams, restingOf, type StartParams } from "../contract/calls.ts";
import { issueSend } from "./send.ts";
import { countCall, hear } from "./budget.ts";
import { type Callable, type Question, raiseSrc } from "../machine/callable.ts";
import { type Folding, inputOrCall, isCall, newId, openIntent, refuseActor } from "./folding.ts";
import { withoutKey } from "../values/draft.ts";
import { readWith } from "../values/schema.ts";
import { keyOfCall, nextPlace } from "./keys.ts";
import type { MachineAction } from "../machine/actions.ts";
import { type Callee, judge } from "./judge.ts";
import { forbidden } from "./lineage.ts";
import { askForRaise } from "./raise.ts";
import { recallTool } from "../request/recall.ts";
import { isTaken } from "../contract/reserved-signals.ts";
import { budgetRefusal, equalDoubt, missingApproval } from "./may-issue.ts";
import { refusalOfMore } from "./open-bound.ts";
import { currentOf, send, sendLater, sendToChild } from "./tell-child.ts";
import { startChild } from "./line.ts";
import type { ProposedCall } from "../contract/state.ts";
import type { Tool } from "../contract/tool.ts";
import { abandon, beginCompensation } from "./undo.ts";

/** Carries out one action of the machine, as far as the fold is concerned. */
export function issue(f: Folding, action: MachineAction): void {
  switch (action.type) {
    case "invoke":
      displace(f, action.id);
      return invoke(f, action.id, action.src, action.input);
    case "stop":
      return action.born === true ? displace(f, action.id) : stop(f, action.id);
    case "timer":
      return arm(f, action);
    case "untimer":
      return disarm(f, action);
    case "send":
      return action.delayMs === undefined ? send(f, action.to, action.event) : sendLater(f, action);
    case "live":
      f.shown.push({ kind: action.kind, value: action.value });
      return;
    case "builtin":
      return issueBuiltin(f, action);
  }
}

/** What the agent machine asks for by names of its own; the parameters are the ones agent.ts gives. */
function issueBuiltin(f: Folding, { name, params }: Extract<MachineAction, { type: "builtin" }>): void {
  if (name === "sagamesh.say") {
    const { message } = params as unknown as { message: ModelMessage };
    f.said.push(message);
    return hear(f, message);
  }
  if (name === "sagamesh.forward") return forward(f, params as unknown as ForwardParams);
  const call = params as unknown as StartParams;
  assert(name === "sagamesh.start" || name === "sagamesh.stop", `the agent machine has no action ${name}`);
  if (name === "sagamesh.start") invoke(f, call.id, call.src, call.input, call);
  else stop(f, call.id);
}

/** A signal goes on to the agent that has taken the work over, if that one takes it; else it is only recorded. */
function forward(f: Folding, { id: actor, name, data }: ForwardParams): void {
  const id = currentOf(f, actor);
  const intent = id === undefined ? undefined : f.state.open[id]?.intent;
  const successor = intent?.kind === "saga" ? f.definition.sagas.get(intent.name) : undefined;
  if (id === undefined || successor === undefined) return;
  if (isTaken(successor.kind.takes, name) || Object.hasOwn(successor.signals, name))
    sendToChild(f, id, { type: name, data });
}

function invoke(
  f: Folding,
  actor: string,
  src: string,
  input: Json,
  { dependsOn, inputFrom, decides }: Pick<StartParams, "dependsOn" | "inputFrom" | "decides"> = {},
): void {
  const callable = f.definition.machine.bound(src);
  assert(callable !== undefined, `"${src}" is bound; machine-faults.ts refuses what is not`);
  const full = isCall(f, actor) && callable.kind !== "compensation" ? refusalOfMore(f) : undefined;
  if (full !== undefined) return refuseActor(f, actor, callable.name, "INTENTS_TOO_MANY", full);
  const calling = isCall(f, actor) ? { from: actor } : {};
  const given = f.definition.kind.calls === "given" ? { given: true as const } : {};
  // IS1. A machine that is not type-checked could otherwise write what no reader of the ledger takes.
  const isJudged = callable.kind === "tool" || callable.kind === "saga";
  const read = isJudged ? undefined : readWith(callable.input, input);
  if (read?.success === false) return refuseActor(f, actor, callable.name, "CALL_INVALID", read.reason);
  switch (callable.kind) {
    case "tool":
    case "saga": {
      const callee = calleeOf(f, callable);
      return propose(f, callee, {
        tool: callable.name,
        input,
        actor,
        ...calling,
        ...restingOf({ dependsOn, inputFrom }),
        ...given,
        ...nextPlace(f, actor, decides),
      });
    }
    case "question":
      if (src === raiseSrc) return askForRaise(f, actor);
      return askHuman(f, callable as Question, {
        tool: src,
        input,
        actor,
        ...calling,
        ...given,
      });
    case "send":
      return issueSend(f, actor, input, decides);
    case "compensation":
      return beginCompensation(f, actor, input as { because: string; calls?: string[] });
    case "model":
      return askModel(f, callable, actor, input);
  }
}

/** What is called: a tool, or a child as its parent's policies have it. */
function calleeOf(f: Folding, callable: Callable): Callee {
  if (callable.kind === "tool") return callable as Tool;
  const child = f.definition.sagas.get(callable.name);
  assert(child !== undefined, `what may be started is in the definition; define.ts collects it`);
  return child;
}

/**
 * A call either becomes an intent here, or is put before people, or is refused and says so. One that was changed under
 * review is put before people in any case: on the terms it needs, else on those it was under.
 */
export function propose(f: Folding, callee: Callee, proposed: ProposedCall, review?: Review): void {
  // A read of the saga's own ledger, whose schema reply.ts has read: no policy is asked, nothing can be in doubt.
  if (callee === recallTool) return issueTool(f, recallTool, proposed);
  const no = forbidden(f.state);
  if (no !== undefined) return refuseActor(f, proposed.actor, callee.name, no.code, no.reason);
  const ruling = judge(f, callee, proposed);
  if ("code" in ruling) return refuseActor(f, proposed.actor, callee.name, ruling.code, ruling.reason);
  const { call, guards } = ruling;
  if (call.input !== proposed.input) tellRewritten(f, call);
  const spent = budgetRefusal(f, callee);
  if (spent !== undefined) return refuseActor(f, call.actor, callee.name, spent.code, spent.reason);
  const doubt = equalDoubt(f, callee, call.input);
  if (doubt !== undefined)
    return refuseActor(
      f,
      call.actor,
      callee.name,
      "CALL_IN_DOUBT",
      `an equal call is in doubt (intent ${doubt})`,
    );
  const missing = missingApproval(f, callee, ruling);
  if ("code" in missing) return refuseActor(f, call.actor, callee.name, missing.code, missing.reason);
  const asked = missing.terms ?? review?.asked;
  if (asked !== undefined) return askApproval(f, callee, missing.call, asked, review?.after);
  if (guards !== f.state.guards) f.state.guards = guards ?? {};
  if (callee.kind !== "tool") return startChild(f, callee, call);
  countCall(f);
  issueTool(f, callee, call);
}

/** The model hears with the result what was done in place of what it asked for. */
function tellRewritten(f: Folding, { actor, from, input }: ProposedCall): void {
  if (from !== undefined)
    f.queue.push({ event: { type: "sagamesh.rewritten", call: actor, instead: input, at: f.at } });
}

/** A call that passed everything becomes an intent. */
function issueTool(f: Folding, tool: Tool, call: ProposedCall): void {
  const id = newId(f);
  openIntent(f, {
    intent: {
      ...{ kind: "tool", id, name: tool.name, key: keyOfCall(f, id, call), contract: contractDigest(tool) },
      ...inputOrCall(call),
      ...restingOf(call),
      ...(tool.effect === "read" ? { reads: true } : {}),
    },
    input: call.input,
    attempt: 1,
    actor: call.actor,
  });
}

/**
 * The machine no longer waits for an actor. Model calls, reads, timers and tasks are over at once; an effect
 * ends by its own result, and a child is told to cancel.
 */
export function stop(f: Folding, actor: string): void {
  if (f.state.plans.some(({ then }) => then.type === "answer" && then.actor === actor))
    f.state.plans = f.state.plans.map((plan) =>
      plan.then.type === "answer" && plan.then.actor === actor
        ? { ...plan, then: { type: "nothing" } }
        : plan,
    );
  const id = currentOf(f, actor);
  if (id === undefined) return;
  f.state.actors = withoutKey(f.state.actors, actor);
  abandon(f, id);
}
