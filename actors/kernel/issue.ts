/**
 * Issue: what the machine asks for becomes intents. The only place where an intent of the machine's is born.
 *
 * IS1 A call passes schema, policies, budget, doubts and approval, in this order, before it is an intent, and once more
 *     when it was approved. What is refused is recorded as `denied` and told to the actor; nothing else happens.
 * IS2 A call equal to one that is in doubt is refused until that doubt is settled.
 */
import { digestOf } from "../../protocol/digest.ts";
import { assert, type ErrorCode } from "../../protocol/errors.ts";
import { childSagaId, effectKey, type IntentId } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { approvalOf, askApproval, askHuman, type Review, termsFor } from "./asking.ts";
import { askModel } from "./ask-model.ts";
import type { ForwardParams, StartParams } from "../contract/calls.ts";
import { issueSend } from "./send.ts";
import { countCall, hear, refusalOfCall } from "./budget.ts";
import { type Callable, type Question, raiseSrc } from "../machine/callable.ts";
import {
  argumentsDigest,
  closedAs,
  closeIntent,
  type Folding,
  inputOrCall,
  isAwaited,
  isCall,
  newId,
  openEntries,
  openIntent,
  refuseActor,
} from "./folding.ts";
import { readWith, withoutKey } from "../values/schema.ts";
import { dropHeldTimer } from "./held.ts";
import type { MachineAction, MachineEvent } from "../machine/actions.ts";
import { agreement, type Callee, judge, type Refusal, type Ruling } from "./judge.ts";
import { decider, forbidden } from "./lineage.ts";
import { askForRaise } from "./raise.ts";
import { recallTool } from "../request/recall.ts";
import { isTaken } from "../contract/reserved-signals.ts";
import { countChild, openingOf } from "./slices.ts";
import type { Definition } from "../contract/definition.ts";
import type { ProposedCall } from "../contract/state.ts";
import type { LineTerms } from "../contract/terms.ts";
import type { Tool } from "../contract/tool.ts";
import { abandon, beginCompensation } from "./undo.ts";

/** Carries out one action of the machine, as far as the fold is concerned. */
export function issue(f: Folding, action: MachineAction): void {
  switch (action.type) {
    case "invoke":
      return invoke(f, action.id, action.src, action.input);
    case "stop":
      return stop(f, action.id);
    case "timer":
      return openIntent(f, {
        intent: { kind: "timer", id: newId(f), dueAt: f.at + action.delayMs },
        input: null,
        attempt: 1,
        event: action.event,
        timer: action.id,
      });
    case "untimer":
      for (const [id, open] of openEntries(f))
        if (open.timer === action.id) closeIntent(f, id, closedAs("cancelled"));
      return dropHeldTimer(f, action.id);
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
  if (name === "sagamesh.start") invoke(f, call.id, call.src, call.input, call.dependsOn);
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

function invoke(f: Folding, actor: string, src: string, input: Json, dependsOn?: readonly string[]): void {
  const callable = f.definition.machine.bound(src);
  assert(callable !== undefined, `"${src}" is bound; machine-faults.ts refuses what is not`);
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
        ...(dependsOn === undefined ? {} : { dependsOn }),
        ...given,
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
      return issueSend(f, actor, input);
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

/** Why what is left of the budget does not allow it, or the shape of the tree. */
function budgetRefusal(f: Folding, callee: Callee): { code: ErrorCode; reason: string } | undefined {
  if (callee.kind !== "tool") {
    const opening = openingOf(f, callee.name);
    return "code" in opening ? opening : undefined;
  }
  const reason = refusalOfCall(f);
  return reason === undefined ? undefined : { code: "BUDGET_EXCEEDED", reason };
}

/** IS2. The intent of an equal call that is in doubt. */
function equalDoubt(f: Folding, callee: Callee, input: Json): string | undefined {
  if (callee.kind !== "tool") return undefined;
  const doubts = Object.entries(f.state.doubts).filter(
    ([, one]) => one.outcome === "in_doubt" && one.undoes === undefined && one.tool === callee.name,
  );
  if (doubts.length === 0) return undefined;
  const digest = argumentsDigest(callee, input);
  return doubts.find(([, one]) => one.argumentsDigest === digest)?.[0];
}

/**
 * The first terms, of the policies and then of the tool, on which no human has agreed to exactly this call yet, and the
 * call as it will be once they have. No terms if nothing is missing.
 */
function missingApproval(
  f: Folding,
  callee: Callee,
  { call, demands }: Ruling,
): Refusal | { terms: LineTerms | undefined; call: ProposedCall } {
  const granted = call.granted ?? [];
  const asked = demands.map(({ by, terms }) => termsFor(f.definition, `the policy ${by}`, terms));
  const own = callee.kind === "tool" ? [approvalOf(f.definition, callee, call.input)] : [];
  for (const terms of [...asked, ...own]) {
    if (typeof terms === "string") return { code: "CALL_INVALID", reason: terms };
    if (terms === false) continue;
    const yes = agreement(call, terms);
    if (!granted.includes(yes)) return { terms, call: { ...call, granted: [...granted, yes] } };
  }
  return { terms: undefined, call };
}

/** The model hears with the result what was done in place of what it asked for. */
function tellRewritten(f: Folding, { actor, from, input }: ProposedCall): void {
  if (from !== undefined)
    f.queue.push({ event: { type: "sagamesh.rewritten", call: actor, instead: input, at: f.at } });
}

/** A call that passed everything becomes an intent. */
function issueTool(f: Folding, tool: Tool, call: ProposedCall): void {
  const id = newId(f);
  const key = effectKey(decider(f.state), id, digestOf(call.input));
  openIntent(f, {
    intent: {
      ...{ kind: "tool", id, name: tool.name, key },
      ...inputOrCall(call),
      ...restingOf(call),
      ...(tool.effect === "read" ? { reads: true } : {}),
    },
    input: call.input,
    attempt: 1,
    actor: call.actor,
  });
}

const restingOf = ({ dependsOn }: ProposedCall) =>
  dependsOn === undefined ? {} : { dependsOn: [...dependsOn] };

function startChild(f: Folding, child: Definition, call: ProposedCall): void {
  const opening = openingOf(f, child.name);
  assert(!("code" in opening), "a child that may not be opened was refused before");
  const id = newId(f);
  countChild(f);
  openIntent(f, {
    intent: {
      kind: "saga",
      id,
      name: child.name,
      saga: childSagaId(decider(f.state), id, child.name),
      ...inputOrCall(call),
      ...restingOf(call),
      ...(opening.budget === undefined ? {} : { budget: opening.budget }),
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
  f.state.plans = f.state.plans.map((plan) =>
    plan.then.type === "answer" && plan.then.actor === actor ? { ...plan, then: { type: "nothing" } } : plan,
  );
  const id = currentOf(f, actor);
  if (id === undefined) return;
  f.state.actors = withoutKey(f.state.actors, actor);
  abandon(f, id);
}

/** The intent that an actor of the machine waits for. */
const currentOf = (f: Folding, actor: string): IntentId | undefined =>
  Object.hasOwn(f.state.actors, actor) ? f.state.actors[actor] : undefined;

/** A delayed send is a timer whose firing sends, to the child that is meant now. */
function sendLater(f: Folding, action: Extract<MachineAction, { type: "send" }>): void {
  const child = currentOf(f, action.to);
  if (child === undefined) return nobodyTook(f, action.to, action.event);
  openIntent(f, {
    intent: { kind: "timer", id: newId(f), dueAt: f.at + (action.delayMs ?? 0) },
    input: null,
    attempt: 1,
    event: action.event,
    sendTo: child,
    ...(action.id === undefined ? {} : { timer: action.id }),
  });
}

function send(f: Folding, to: string, event: MachineEvent): void {
  const id = currentOf(f, to);
  if (id === undefined) return nobodyTook(f, to, event);
  sendToChild(f, id, event);
}

const nobodyTook = (f: Folding, to: string, event: MachineEvent): void =>
  void f.shown.push({ kind: "log", value: `nothing took ${event.type}: ${to} is no running child` });

/** Sends an event to a child, as long as it is the one its actor waits for: a signal to its saga. */
export function sendToChild(f: Folding, id: IntentId, event: MachineEvent): void {
  const open = f.state.open[id];
  if (open?.intent.kind !== "saga" || !isAwaited(f, id, open.actor)) return nobodyTook(f, id, event);
  openIntent(f, {
    intent: { kind: "signal", id: newId(f), saga: open.intent.saga, name: event.type, data: dataOf(event) },
    input: null,
    attempt: 1,
  });
}

/** What the other saga is sent: the event's data, else what it holds besides its type, else nothing. */
function dataOf({ type: _type, ...rest }: MachineEvent): Json {
  if ("data" in rest) return toJson(rest["data"]);
  return Object.keys(rest).length === 0 ? null : toJson(rest);
}
