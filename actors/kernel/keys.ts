/**
 * Keys: under which the outside knows an effect and a child, made of what was decided and not of when it was written.
 *
 * Owns: which decision a call is (`nextPlace`), and the keys and children's ids that follow. Does not own: their form
 * (protocol/ids.ts). A saga that began before keys were made so goes on with keys of turns, which its ledger holds.
 *
 * KY1 The same decision has the same key, however results fell into turns and in whatever order they came: nothing here
 *     counts turns or intents. So what is decided again, from an older copy of the ledger, is known outside and by its
 *     claim: an `idempotent` effect is answered, a `once` effect that may have begun is in doubt.
 * KY2 Two decisions have two keys: two calls of one reply by their places, equal calls of two replies by the number of
 *     the reply, an actor that is asked for again by how often. Another tool or other arguments are another key, too.
 * KY3 So it is of signals to other sagas: decided again, the receiver knows it for the one it has had, and it takes no other
 *     for that, whatever intent's id it has. A saga that began before this was so tells under its intents' ids.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { EventOf } from "../../protocol/event.ts";
import {
  childOfKey,
  childSagaId,
  decidedKey,
  effectKey,
  type IntentId,
  type SagaId,
  turnOf,
} from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { DecidedSoFar, ProposedCall, SagaState, StandingEffect } from "../contract/state.ts";
import { withKey } from "../values/draft.ts";
import { type Folding, isCall } from "./folding.ts";
import { decider, isInherited } from "./lineage.ts";

/** Where a saga begins that makes its keys of decisions; undefined for one that makes them of turns. */
export const nothingDecided = ({
  keys,
  told,
}: Pick<EventOf<"start">, "keys" | "told">): { readonly decided?: DecidedSoFar } => {
  if (keys === undefined) return {};
  const none = { replies: 0, step: "", asked: {}, names: 0, others: 0 };
  return { decided: told === undefined ? none : { ...none, tells: true } };
};

/** What a saga's start says for the whole of its ledger. */
export const begunAs = (
  start: Pick<
    EventOf<"start">,
    "keys" | "told" | "follows" | "causes" | "errorNames" | "traceparent" | "fork"
  >,
): Partial<Pick<SagaState, "decided" | "follows" | "causes" | "errorNames" | "traceparent">> => ({
  ...nothingDecided(start),
  ...(start.follows === undefined ? {} : { follows: start.follows }),
  ...(start.causes === undefined ? {} : { causes: start.causes }),
  ...(start.errorNames === undefined ? {} : { errorNames: start.errorNames }),
  ...(start.traceparent === undefined || start.fork !== undefined ? {} : { traceparent: start.traceparent }),
});

/**
 * The next decision of an actor of the machine, counted. `of` names it where the actor's own id counts what is asked
 * elsewhere. An agent's call is the k-th of the n-th reply that made calls: a reply that was superseded counts nowhere.
 * Any other is the n-th time that the actor was asked for. Undefined where keys are made of turns.
 */
export function nextPlace(f: Folding, actor: string, of = actor): { readonly place?: string } {
  const { decided } = f.state;
  if (decided === undefined) return {};
  if (f.definition.kind.calls === "replied" && isCall(f, actor)) {
    const [step = "", k = ""] = actor.split(".");
    const replies = step === decided.step ? decided.replies : decided.replies + 1;
    if (step !== decided.step) f.state.decided = { ...decided, step, replies };
    return { place: `${replies}.${k}` };
  }
  return { place: nextTime(f, decided, of) };
}

/** The n-th time of what has this name. */
function nextTime(f: Folding, decided: DecidedSoFar, of: string): string {
  const before = Object.hasOwn(decided.asked, of) ? decided.asked[of] : undefined;
  if (before === undefined && decided.names === limits.namesCountedMax) {
    f.state.decided = { ...decided, others: decided.others + 1 };
    return `${of}~${decided.others + 1}`;
  }
  const times = (before ?? 0) + 1;
  const names = decided.names + (before === undefined ? 1 : 0);
  f.state.decided = { ...decided, names, asked: withKey(decided.asked, of, times) };
  return `${of}#${times}`;
}

/**
 * What a signal is told under (KY3). `by` is the call that tells it, `of` as above. One that is told without a call is the n-th
 * to that saga, or the only one of its name there: then `by` says "once".
 */
export function toldUnder(
  f: Folding,
  { saga, name, data }: { readonly saga: SagaId; readonly name: string; readonly data: Json },
  by: { readonly call: string; readonly of?: string | undefined } | "counted" | "once",
): { readonly key?: string } {
  const { decided } = f.state;
  if (decided?.tells !== true) return {};
  const place =
    by === "once"
      ? by
      : by === "counted"
        ? nextTime(f, decided, `to ${saga}`)
        : nextPlace(f, by.call, by.of).place;
  return place === undefined
    ? {}
    : { key: decidedKey(decider(f.state), ["told", place, saga, name], digestOf(data)) };
}

/** The key of a call that becomes the intent `id`. */
export const keyOfCall = ({ state }: Folding, id: IntentId, { place, tool, input }: ProposedCall): string =>
  place === undefined
    ? effectKey(decider(state), id, digestOf(input))
    : decidedKey(decider(state), [place, tool], digestOf(input));

/** The child that a call starts. */
export const childOfCall = (f: Folding, id: IntentId, call: ProposedCall, name: string): SagaId =>
  call.place === undefined
    ? childSagaId(decider(f.state), id, name)
    : childOfKey(keyOfCall(f, id, call), name);

/**
 * The key of what undoes an effect: the effect's, with a part more. One that was undone in doubt and succeeded after all
 * is undone once more, under another key. What a fork inherited is undone under one key by whichever fork undoes it.
 */
export function keyOfUndo({ state }: Folding, effect: StandingEffect, id: IntentId): string {
  const { input = null, tool = "" } = effect.undo ?? {};
  const inherited = isInherited(state, effect.intent);
  const by = inherited ? decider(state, turnOf(effect.intent)) : decider(state);
  if (state.decided === undefined)
    return inherited
      ? effectKey(by, effect.intent, digestOf({ undo: input }))
      : effectKey(by, id, digestOf(input));
  const what = [inherited ? "undone by a fork" : "undone", effect.outcome, tool];
  // A child stands under its saga's id, which keys of its own begin with.
  return effect.key.includes(".")
    ? `${effect.key}.${digestOf([...what, input]).slice(0, 12)}`
    : decidedKey(by, [...what, effect.key], digestOf(input));
}

/** The saga that undoes an effect by what it does. */
export function childOfUndo(f: Folding, effect: StandingEffect, id: IntentId): SagaId {
  const { tool = "" } = effect.undo ?? {};
  if (f.state.decided !== undefined) return childOfKey(keyOfUndo(f, effect, id), tool);
  return isInherited(f.state, effect.intent)
    ? childSagaId(decider(f.state, turnOf(effect.intent)), effect.intent, tool)
    : childSagaId(decider(f.state), id, tool);
}
