/**
 * Fork: the turn in which a fork leaves its origin.
 *
 * FP1 Nothing that the origin began is begun again here: what it recorded later follows as ordinary results of the same
 *     turn, and what it never recorded is answered by how effects are treated from now on (lineage.ts).
 * FP2 Calls of models that were open are asked anew under ids of the fork's own, for what they are asked may differ.
 *     They take the place of the origin's, and count as the same steps.
 * FP3 The fork has no parent, and its clock goes on where the last shared turn left it: timers, deadlines and
 *     tasks have the time left that they had.
 */
import { assert } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { jsonBytes } from "../../protocol/json.ts";
import type { Definition } from "../contract/definition.ts";
import { askAnew } from "./ask-anew.ts";
import { closedAs, endIntent, type Folding, openEntries } from "./folding.ts";
import { changeEffect } from "./effects.ts";
import { leavesIn } from "./lineage.ts";
import { isDeferred, isOpen, type OpenIntent } from "../contract/state.ts";
import { variantAfter } from "../request/variant.ts";

export function takeForked(f: Folding, event: EventOf<"forked">): void {
  const { fork } = f.state;
  assert(fork !== undefined && leavesIn(fork.lineage, f.state.turn), "a fork leaves where its lineage says");
  const variant = variantAfter(fork.variant, event);
  f.state.fork = {
    lineage: fork.lineage,
    effects: event.effects,
    ...(variant === undefined ? {} : { variant }),
  };
  f.state.parent = undefined;
  f.state.tells = undefined;
  f.state.tree = undefined;
  putOff(f, event.idleMs);
  takeBudget(f, event);
  if (event.effects === "live") keepChildren(f);
  for (const [id, { intent, actor }] of openEntries(f))
    // The origin sends it; nothing here waits for that.
    if (intent.kind === "signal" && actor === undefined) endIntent(f, id, closedAs("succeeded", "forked"));
  askAllAnew(f, event.answered ?? []);
}

/** FP3. */
function putOff(f: Folding, ms: number): void {
  if (ms === 0) return;
  const { budget, modelNotBefore } = f.state;
  if (budget?.deadline !== undefined) f.state.budget = { ...budget, deadline: budget.deadline + ms };
  if (modelNotBefore !== undefined) f.state.modelNotBefore = modelNotBefore + ms;
  const open = openEntries(f).map(([id, one]) => [id, later(one, ms)] as const);
  f.state.open = Object.fromEntries(open);
  f.index = undefined;
}

function later(open: OpenIntent, ms: number): OpenIntent {
  if (isOpen(open, "timer")) return { ...open, intent: { ...open.intent, dueAt: open.intent.dueAt + ms } };
  if (isOpen(open, "task")) {
    const dueAt = open.intent.dueAt + ms;
    return { ...open, intent: { ...open.intent, dueAt }, dueAt };
  }
  if (!isOpen(open, "tool") && !isOpen(open, "model")) return open;
  const waits = open.notBefore === undefined ? {} : { notBefore: open.notBefore + ms };
  const due = isDeferred(open) && open.dueAt !== undefined ? { dueAt: open.dueAt + ms } : {};
  return { ...open, ...waits, ...due };
}

/** What calls of the origin's may still cost is the origin's. Other instructions make every request longer. */
function takeBudget(f: Folding, { instructions, prices }: EventOf<"forked">): void {
  f.state.unpaid = [];
  const { budget } = f.state;
  if (budget === undefined) return;
  f.state.budget = {
    ...budget,
    late: [],
    ...(prices === undefined ? {} : { prices: { ...budget.prices, ...prices } }),
    context: budget.context + (instructions === undefined ? 0 : jsonBytes(instructions)),
  };
}

/** Only its own parent can have a child undo what it did: to a live fork that stands for good. */
function keepChildren(f: Folding): void {
  for (const { intent, child } of f.state.effects)
    if (child !== undefined) changeEffect(f, intent, { stuck: true });
}

/** FP2. */
function askAllAnew(f: Folding, answered: readonly IntentId[]): void {
  const open = openEntries(f)
    .map(([, one]) => one)
    .filter(({ intent }) => !answered.includes(intent.id));
  // What failed while the saga was paused waits for its next attempt.
  const held = (f.state.held ?? []).flatMap((one) => (one.kind === "retry" ? [one.open] : []));
  if (held.length > 0) f.state.held = f.state.held?.filter((one) => one.kind !== "retry");
  for (const one of [...open, ...held]) {
    if (one.intent.kind !== "model") continue;
    endIntent(f, one.intent.id, closedAs("superseded", "forked"));
    f.state.spent = { ...f.state.spent, steps: f.state.spent.steps - 1 };
    askAnew(f, one);
  }
}

/** Whether only its performer can tell how an open intent ends, and what was done outside may be done twice. */
export const isInFlight = (
  definition: Pick<Definition, "tools">,
  { intent }: Pick<OpenIntent, "intent">,
): boolean =>
  intent.kind === "saga" ||
  intent.kind === "signal" ||
  (intent.kind === "tool" && definition.tools.get(intent.name)?.effect !== "read");
