/**
 * Again: what an owner does of a saga once more because it may have been lost with a queue.
 *
 * Owns: what a nudge (services/wire/nudge.ts) obliges to, and a parent's repeat to a child that is over. Does not own: who
 * finds that something is lost (audit.ts).
 *
 * AJ1 What is handed on again is the same attempt under its own key and a Msg-Id of its own: the server's window, which
 *     would take it for the message that is gone, knows nothing of it. Where the message is there after all, claims and
 *     keys keep the effect single, as they do for a message that is delivered twice.
 * AJ2 A call that waits in a queue is not put there a second time: of calls, those that are named alone.
 * AJ3 A child that has ended tells its end again to the parent that starts it, or orders its undoing, once more.
 */
import { orderOf } from "../../actors/kernel/undo-child.ts";
import type { OpenIntent } from "../../actors/contract/state.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { emptyHead, readTurns } from "../ledger/reader.ts";
import { nudgedCalls } from "../wire/nudge.ts";
import { patiently } from "../wire/patience.ts";
import type { Aside, Nudge } from "./detour.ts";
import { handOnEach } from "./hand-on.ts";
import type { InboxItem, ReadItem } from "./inputs.ts";
import type { Owned, Residence } from "./phase.ts";
import { publishEnd } from "./tell-sagas.ts";

/** What of a batch nudges its saga; undefined where nothing does. */
export function nudgeIn(aside: readonly Aside[]): Nudge | undefined {
  const known = aside.flatMap(({ item, judged }) =>
    judged.type === "known" && item.from === "inbox" ? [item] : [],
  );
  const nudges = known.flatMap(({ address, delivery }) => {
    const calls = nudgedCalls(address, delivery);
    return calls === undefined ? [] : [{ calls, seq: delivery.seq }];
  });
  const [first] = nudges;
  if (first === undefined) return undefined;
  const calls = new Set(nudges.flatMap((one) => one.calls));
  return { calls, mark: String(first.seq), isAlone: nudges.length === known.length };
}

/** Hands on again what is open, but for what the turn has just handed on and what is in hand. */
export async function handOnAgain(
  self: Residence,
  own: Owned,
  { calls, mark }: Nudge,
  done: readonly OpenIntent[],
): Promise<void> {
  const isDone = new Set(done);
  const lost = Object.values(own.loaded.state.open).filter(
    (open) =>
      !isDone.has(open) &&
      !own.hands.isInHand(open) &&
      (open.intent.kind !== "tool" || calls.has(open.intent.id)), // AJ2
  );
  const handOn = (open: OpenIntent) => own.hands.handOn(open, false, mark);
  await handOnEach(self, { hands: { handOn } }, lost, false);
}

/** AJ3. Rejects where the ledger cannot be read; then the input is offered again. */
export async function tellEndAgain(
  { deps, saga }: Residence,
  { loaded: { definition, state, head } }: Owned,
  item: ReadItem,
): Promise<void> {
  if (item.from !== "inbox" || state.phase.kind !== "ended" || !isAskedAgain(state, item)) return;
  if (Object.values(state.open).some(({ intent }) => intent.kind === "end")) return; // It is told in any case.
  const turns = await patiently(deps.clock, () => readTurns(deps.ports, saga, emptyHead, head.seq));
  const { end } = accountOf(turns.map(({ turn }) => turn));
  if (end === undefined) return;
  const again = { ...deps, again: String(item.delivery.seq) };
  await publishEnd(again, { saga, agent: definition.name }, state, end.intent);
}

/** By the intent that was told last: a parent that orders an undoing has its child's first end. */
function isAskedAgain({ parent, tells }: Owned["loaded"]["state"], { event }: InboxItem): boolean {
  if (event.type === "start") return parent !== undefined && tells === undefined;
  if (event.type !== "signal" || event.name !== "cancel" || tells === undefined) return false;
  return orderOf({ parent }, event.data)?.tell.intent === tells.intent;
}
