/**
 * Actor ids: what becomes of an actor, or a timer, whose id the machine gives to another.
 *
 * AI1 An actor that is spawned under an id in use leaves the earlier one running, as in XState: its result is told under that
 *     id, too, and only the later one is sent to and stopped by it. The earlier one has another name in the state.
 * AI2 `cancel` takes back the latest timer of its id that has not fired; once one of the id has fired, none is left to take
 *     back. So it is in XState, which remembers one timer for each id.
 * AI3 A saga that began before either was so goes on without: an id has the latest actor alone, and all its timers.
 */
import type { IntentId } from "../../protocol/ids.ts";
import { isOpen, type ProposedCall } from "../contract/state.ts";
import type { MachineAction } from "../machine/actions.ts";
import { withKey, withoutKey } from "../values/draft.ts";
import {
  changeOpen,
  closedAs,
  closeIntent,
  type Folding,
  newId,
  openIndex,
  openIntent,
  setOpen,
} from "./folding.ts";
import { dropHeldTimer } from "./held.ts";

/** AI1: what waits under an id that is given to another actor goes on under a name of its own. */
export function displace(f: Folding, actor: string): void {
  const { state } = f;
  const id = Object.hasOwn(state.actors, actor) ? state.actors[actor] : undefined;
  if (id === undefined || state.follows === undefined) return;
  const name = `${actor} (${id})`;
  state.actors = withKey(withoutKey(state.actors, actor), name, id);
  state.displaced = withKey(state.displaced ?? {}, name, actor);
  const renamed = <T extends { readonly actor: string }>(one: T): T => ({ ...one, actor: name });
  renameOpen(f, id, renamed);
  const doubt = state.doubts[id];
  if (doubt?.outcome === "in_doubt" && doubt.actor === actor)
    state.doubts = withKey(state.doubts, id, { ...doubt, actor: name });
  state.plans = state.plans.map((plan) =>
    (plan.then.type === "answer" || plan.then.type === "tell") && plan.then.actor === actor
      ? { ...plan, then: renamed(plan.then) }
      : plan,
  );
  for (const [at, queued] of f.queue.entries())
    if (queued.waits?.intent === id) f.queue[at] = { ...queued, waits: renamed(queued.waits) };
  state.held = state.held?.map((held) => {
    if (held.kind === "event" && held.waits?.intent === id) return { ...held, waits: renamed(held.waits) };
    return held.kind === "approved" && held.intent === id ? { ...held, call: renamed(held.call) } : held;
  });
}

function renameOpen(
  f: Folding,
  id: IntentId,
  renamed: <T extends { readonly actor: string }>(one: T) => T,
): void {
  const open = f.state.open[id];
  if (open?.actor === undefined) return;
  const own = { ...open, actor: renamed({ actor: open.actor }).actor };
  const call: ProposedCall | undefined = "call" in own ? own.call : undefined;
  setOpen(f, call === undefined ? own : { ...own, call: renamed(call) }); // Its own kind.
}

/** A timer of the machine's own. */
export function arm(f: Folding, { id, event, delayMs }: Extract<MachineAction, { type: "timer" }>): void {
  loosen(f, id);
  openIntent(f, {
    intent: { kind: "timer", id: newId(f), dueAt: f.at + delayMs },
    input: null,
    attempt: 1,
    event,
    timer: id,
  });
}

/** AI2. */
export function disarm(f: Folding, { id, born }: Extract<MachineAction, { type: "untimer" }>): void {
  if (born === true) return loosen(f, id);
  for (const timer of [...(openIndex(f).timers.get(id) ?? [])])
    if (!isLoose(f, timer)) closeIntent(f, timer, closedAs("cancelled"));
  dropHeldTimer(f, id);
}

/** AI2: the timers of an id that are pending cannot be taken back any more: another was armed, or one of them has fired. */
export function loosen(f: Folding, id: string | undefined): void {
  if (f.state.follows === undefined || id === undefined) return;
  for (const timer of openIndex(f).timers.get(id) ?? []) {
    const open = f.state.open[timer];
    if (isOpen(open, "timer") && open.loose !== true) changeOpen(f, open, { loose: true });
  }
}

const isLoose = (f: Folding, id: IntentId): boolean => {
  const open = f.state.open[id];
  return isOpen(open, "timer") && open.loose === true;
};
