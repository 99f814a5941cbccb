/**
 * Effects: what stands, with its undoing registered, and what is in doubt.
 *
 * EE1 What is new goes to the end of the list without a look at what stands already: a fold of a whole ledger, whose states
 *     between no other sees, makes one list and none for each turn.
 * EE2 A turn that asks about few of them looks for each from the end, where undoing takes them away; one that asks about
 *     many makes an index of all. Thousands that are undone one after another need no index a turn.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Result } from "../../protocol/result.ts";
import type { Doubt, OpenIntent, StandingEffect } from "../contract/state.ts";
import { type EffectToUndo, type Tool, undoOf } from "../contract/tool.ts";
import { argumentsDigest, type Folding, forgetUndoing, noteStanding, toolOf } from "./folding.ts";
import { draftedList, withAt, withKey, withLast, withoutAt } from "../values/draft.ts";
import { assertWhole } from "./past.ts";
import { saidUndo } from "./undo-child.ts";

/** All that stands. */
export function standingOf(f: Folding): readonly StandingEffect[] {
  assertWhole(f.state);
  settleEffects(f);
  return f.state.effects;
}

/** More looks than this are worth an index (EE2). */
const looksMax = 16;

/** By their intents, in the order in which they stand; undefined as long as looking for each costs less (EE2). */
function effectsOf(f: Folding): Map<IntentId, StandingEffect> | undefined {
  if (f.effects !== undefined) return f.effects;
  f.looks += 1;
  if (f.looks <= looksMax) return undefined;
  f.effects = new Map([...f.state.effects, ...f.newEffects].map((effect) => [effect.intent, effect]));
  return f.effects;
}

/** The state's list as the turn has made it, and where an effect stands in it, or -1. */
function placed(f: Folding, id: IntentId): { readonly list: readonly StandingEffect[]; readonly at: number } {
  settleEffects(f);
  const list = f.state.effects;
  return { list, at: list.findLastIndex((effect) => effect.intent === id) };
}

/** Puts into the state's list what the turn has made of it: once for many changes (EE1). */
export function settleEffects(f: Folding): void {
  if (f.areEffectsChanged && f.effects !== undefined) f.state.effects = [...f.effects.values()];
  else if (f.newEffects.length > 0) f.state.effects = grown(f, f.newEffects);
  f.newEffects = [];
  f.areEffectsChanged = false;
}

/** The state's list with more at its end. */
function grown({ state: { effects }, growing }: Folding, more: readonly StandingEffect[]): StandingEffect[] {
  const list = growing?.has(effects) === true ? (effects as StandingEffect[]) : draftedList(effects); // Proof: only what was made here is in it.
  for (const effect of more) list.push(effect);
  growing?.add(list);
  return list;
}

/** What stands under an intent; throws PastNeeded where that may have been laid by. */
export function effectOf(f: Folding, id: IntentId): StandingEffect | undefined {
  const effect = found(f, id);
  if (effect === undefined) assertWhole(f.state);
  return effect;
}

function found(f: Folding, id: IntentId): StandingEffect | undefined {
  const effects = effectsOf(f);
  if (effects !== undefined) return effects.get(id);
  const { list, at } = placed(f, id);
  return list[at];
}

/** An effect stands that did not before, after all that do. */
export function addEffect(f: Folding, effect: StandingEffect): void {
  f.effects?.set(effect.intent, effect);
  f.newEffects.push(effect);
  forgetUndoing(f);
}

/** An effect stands, in the place of what stood under its intent. */
export function setEffect(f: Folding, effect: StandingEffect): void {
  const effects = effectsOf(f);
  if (effects === undefined) {
    const { list, at } = placed(f, effect.intent);
    f.state.effects = at < 0 ? withLast(list, effect) : withAt(list, at, effect);
  } else {
    effects.set(effect.intent, effect);
    f.areEffectsChanged = true;
  }
  forgetUndoing(f);
}

/** It stands no more. */
export function removeEffect(f: Folding, id: IntentId): void {
  const effects = effectsOf(f);
  if (effects === undefined) {
    const { list, at } = placed(f, id);
    if (at >= 0) f.state.effects = withoutAt(list, at);
  } else if (effects.delete(id)) f.areEffectsChanged = true;
  forgetUndoing(f);
}

export const describeEffect = (effect: StandingEffect): string => `${effect.tool} ${effect.key}`;

/**
 * A success or a doubt stands from here on, with its undoing registered. What stood in doubt already keeps its
 * place: what was decided after the doubt may rest on it.
 */
export function recordEffect(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  outcome: "succeeded" | "in_doubt",
  output: unknown,
): void {
  if (open.intent.kind !== "tool" || open.intent.undoes !== undefined) return;
  const tool = toolOf(f, open.intent.name);
  if (tool === undefined || tool.effect === "read") return;
  const { call, dependsOn, key } = open.intent;
  const effected = { input: open.input, output, outcome, key };
  const undo = undoOrNone(f, tool, call, effected);
  const effect: StandingEffect = {
    intent: id,
    tool: tool.name,
    key,
    outcome,
    settledAt: f.state.turn,
    ...(undo === undefined ? {} : { undo }),
    ...(call === undefined ? {} : { call }),
    ...(dependsOn === undefined ? {} : { dependsOn }),
  };
  // Only what is in doubt can stand already. The list may be long, and nearly every success is a new one.
  const standing = Object.hasOwn(f.state.doubts, id) ? effectOf(f, id) : undefined;
  if (standing === undefined) addEffect(f, effect);
  else setEffect(f, { ...effect, settledAt: standing.settledAt });
  if (outcome === "in_doubt") noteStanding(f, id);
}

/** A compensation whose input cannot be made leaves the effect standing, which the end then lists. */
function undoOrNone(
  f: Folding,
  tool: Tool,
  call: string | undefined,
  effect: EffectToUndo<unknown, unknown>,
): StandingEffect["undo"] {
  const said = saidUndo(f, call, effect);
  if (said !== undefined) return said === "none" ? undefined : said;
  try {
    const undo = undoOf(tool, effect);
    return undo === undefined ? undefined : { tool: undo.tool.name, input: undo.input };
  } catch {
    return undefined; // The user's function threw: it would throw again at each fold, so this is deterministic.
  }
}

/** A late result of this intent may still say how it ended. `received` is what made the doubt. */
export function recordDoubt(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  outcome: Doubt["outcome"],
  received?: Result,
): void {
  if (open.intent.kind !== "tool") return;
  const { name, key, contract, call, undoes, dependsOn } = open.intent;
  const tool = toolOf(f, name);
  const doubt: Doubt = {
    outcome,
    tool: name,
    key,
    contract,
    input: open.input,
    argumentsDigest: tool === undefined ? digestOf(open.input) : argumentsDigest(tool, open.input),
    attempt: open.attempt,
    ...(call === undefined ? {} : { call }),
    ...(dependsOn === undefined ? {} : { dependsOn }),
    ...(undoes === undefined ? {} : { undoes }),
    ...(received?.outcome === "succeeded" ? { unread: digestOf(received.output) } : {}),
  };
  f.state.doubts = withKey(f.state.doubts, id, doubt);
}

export function changeEffect(f: Folding, id: IntentId, change: Partial<StandingEffect>): void {
  const effect = found(f, id);
  if (effect !== undefined) setEffect(f, { ...effect, ...change });
}
