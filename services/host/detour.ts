/**
 * Detour: what is rare in a turn, away from its usual way (turn.ts) and back to it.
 *
 * At its beginning, a saga that is not in memory is loaded, begun or found archived; one that is to go on under another
 * definition is moved. From there the turn goes on, or none comes of the batch. While it is judged, an input may have to
 * be answered, and what was laid by may be needed.
 *
 * DT1 Nothing is decided here: what is answered here is answered without a turn.
 * DT2 A start that was never delivered before is a new saga's, all but certainly: it begins without a look at its ledger, and where
 *     there is one after all its first turn is refused there (append.ts). Delivered again, its saga is loaded like any other.
 */
import { type Acceptance, accept } from "../../actors/kernel/accept.ts";
import { addressed, type Told } from "../../actors/kernel/address.ts";
import { isUnfinishedFork } from "../../actors/kernel/lineage.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { headers } from "../../protocol/subjects.ts";
import { assertValue } from "../../protocol/value.ts";
import { keyOf } from "../suspects/saga-key.ts";
import { earlyDelayMs } from "../wire/delivery.ts";
import { patiently } from "../wire/patience.ts";
import { concernsSame } from "./intake.ts";
import { answerArchived } from "./archived.ts";
import { publishRefusal, publishTaken } from "./tell-sagas.ts";
import { beginFork, type ForkBegun, type ForkStart } from "./fork.ts";
import { allSaid } from "./conversation.ts";
import type { HostDeps } from "./host-deps.ts";
import type { InboxItem, ReadItem } from "./inputs.ts";
import { refusalInLedger } from "./late-vote.ts";
import { type Loaded, loadPast, loadWhole, newSaga } from "./load.ts";
import { answerOrder, type Move, orderIn } from "./migrate.ts";
import { loadOrMove } from "./moving.ts";
import { isGone, ownOf, type Owned, type Residence } from "./phase.ts";
import { readSaid } from "./snapshots.ts";
import { auditHeld } from "./audit.ts";
import { noteBeyond } from "./behind.ts";
import { isFollowed } from "../ledger/chain.ts";

/** What the nudges of a batch ask for together. */
export interface Nudge {
  readonly calls: ReadonlySet<IntentId>;
  /** Their own number: part of what is sent for them. */
  readonly mark: string;
  /** Nothing else of the batch was known. */
  readonly isAlone: boolean;
}

/** What becomes one turn. */
export interface Batch {
  readonly events: readonly Event[];
  /** A repeat was among the inputs, so what is open is handed on again. */
  readonly known: boolean;
  /** It is asked for once more what was handed on. */
  readonly nudge?: Nudge | undefined;
  /** What is not of the turn. */
  readonly aside: readonly Aside[];
}

/** An input of a batch that becomes no event of its turn; `later`: it is judged with the next batch. */
export interface Aside {
  readonly item: ReadItem;
  readonly judged: Exclude<Acceptance, { type: "new" }> | { readonly type: "later" };
}

/** How a turn goes on: with what is to be judged, or with events that need no judging. */
export interface Course {
  readonly own: Owned;
  readonly read: readonly ReadItem[];
  readonly batch?: Batch;
}

/** Judges one input of a batch, as of the call that it says it is of (QZ1 of address.ts). Pure. */
export function judgeItem(
  { definition, state }: Pick<Loaded, "definition" | "state">,
  item: ReadItem,
  earlier: readonly Event[],
  now: number,
): Acceptance | { readonly type: "later" } {
  const event = item.from === "host" ? item.event : addressed(state, item.event, toldOf(item));
  if (typeof event === "string") return { type: event };
  // What concerns the same intent or signal as another event of the batch waits for the next one.
  if (earlier.some((other) => concernsSame(other, event))) return { type: "later" };
  return accept(definition, state, event, now);
}

const toldOf = ({ delivery }: InboxItem): Told => ({
  key: delivery.headers[headers.key],
  storedAt: delivery.storedAt,
});

/** How a turn begins that does not begin as usual. Undefined where none comes of the batch: it is answered, or put back. */
export async function detour(self: Residence, read: readonly ReadItem[]): Promise<Course | undefined> {
  if (read.length === 0) return undefined;
  const order = orderIn(read);
  if (order === undefined) return load(self, read);
  const { deps, saga, inputs } = self;
  const answer = await answerOrder(deps, saga, order, inputs);
  if (isGone(self)) return undefined;
  switch (answer) {
    case "usual":
      return load(self, read);
    case "later":
      inputs.put(order.item);
      return detour(self, order.others);
    case "answered":
      return detour(self, order.others);
    default:
      return move(self, order.others, answer);
  }
}

/** The saga goes on under another definition; what came with the order for that is taken under it. */
async function move(self: Residence, others: readonly ReadItem[], to: Move): Promise<Course | undefined> {
  const present = ownOf(self);
  present?.keeper.found(to.loaded.snapshot);
  if (present !== undefined) present.loaded = to.loaded;
  const own = present ?? (await self.own(to.loaded, false));
  if (own === undefined) return undefined;
  self.inputs.putFirst(others);
  return given(own, [to.event]);
}

/** A turn of exactly these events, with nothing else to judge. */
const given = (own: Owned, events: readonly Event[]): Course => ({
  own,
  read: [],
  batch: { events, known: false, aside: [] },
});

async function load(self: Residence, read: readonly ReadItem[]): Promise<Course | undefined> {
  const present = ownOf(self);
  if (present !== undefined) return { own: present, read };
  const { deps, saga, inputs } = self;
  if (read.some(isFirstStart)) return begin(self, read.filter(isOfInbox), undefined); // DT2
  const found = await loadOrMove(deps, saga);
  if (isGone(self)) return undefined;
  if (found !== undefined && "event" in found) return move(self, read, found);
  const ofInbox = read.filter(isOfInbox);
  if (found !== undefined && "type" in found) {
    const notUndone = publishRefusal.bind(undefined, deps, saga);
    await answerArchived(found, ofInbox, deps.clock.now(), { inputs, notUndone });
    return undefined;
  }
  if (found === undefined || isUnfinishedFork(found.state)) return begin(self, ofInbox, found);
  const own = await self.own(found, false);
  return own === undefined ? undefined : { own, read };
}

const isOfInbox = (item: ReadItem): item is InboxItem => item.from === "inbox";

/** DT2. A fork's start goes on with what was copied. */
const isFirstStart = (item: ReadItem): boolean =>
  isOfInbox(item) &&
  item.event.type === "start" &&
  item.event.fork === undefined &&
  item.delivery.deliveries === 1;

/** A saga without a ledger begins with a start; everything else is offered again for an hour. */
async function begin(
  self: Residence,
  read: readonly InboxItem[],
  copied: Loaded | undefined,
): Promise<Course | undefined> {
  const { deps, saga, inputs } = self;
  const first = read.find(({ event }) => isStart(event, copied));
  if (first?.event.type !== "start") {
    const unknown = `no saga ${saga} was started within an hour of this message`;
    const error = new MeshError("SAGA_UNKNOWN", unknown);
    for (const delivery of inputs.held) await inputs.putBackOrRefuse(delivery, earlyDelayMs(delivery), error);
    return undefined;
  }
  const { delivery, event: start } = first;
  const begun = await beginSaga(deps, { saga, start, delivery, copied, isGone: () => isGone(self) });
  if (begun.type === "fenced") await self.drop("another host has appended");
  if (begun.type === "refused") for (const one of inputs.held) await inputs.refuse(one, begun.error);
  if (begun.type !== "begun" || isGone(self)) return undefined;
  const own = await self.own(begun.loaded, copied === undefined);
  if (own === undefined) return undefined;
  // All else is judged by the state after it began.
  for (const item of read) if (item !== first) inputs.put(item);
  return given(own, begun.events);
}

/** Of a fork that was not copied whole only its own start can go on. */
const isStart = (event: Event, copied: Loaded | undefined): event is EventOf<"start"> =>
  event.type === "start" && (copied === undefined || event.fork !== undefined);

/** What is appended first. A child whose input its definition does not take is told to its parent. */
async function beginSaga(deps: HostDeps, begin: ForkStart): Promise<ForkBegun> {
  const { saga, start, delivery } = begin;
  const told = { ...deps, again: String(delivery.seq) };
  if (start.fork !== undefined) return beginFork(deps, begin);
  try {
    assertValue(start.input, `the input of ${start.definition.name}`); // AE3 of accept.ts
    const loaded = deps.holding.during(keyOf(saga), "its start", () => newSaga(deps.app, start));
    return { type: "begun", loaded, events: [start] };
  } catch (error) {
    if (isMeshError(error, "VALUE_REFUSED")) {
      if (start.parent !== undefined) await publishRefusal(told, saga, start.parent, error);
      return { type: "refused", error };
    }
    if (!isMeshError(error, "INPUT_INVALID")) throw error;
    if (start.parent !== undefined) await publishTaken(told, saga, start.parent);
    return { type: "refused", error };
  }
}

/** Settles an input that is neither new nor known. `dropped`: this reader's view is old, and everything was given back. */
export async function answerOther(
  self: Residence,
  own: Owned,
  item: ReadItem,
  judged: Exclude<Acceptance, { type: "new" | "known" }>,
): Promise<"answered" | "dropped"> {
  if (judged.type === "over") {
    const error = await refusalInLedger(self, own, judged.event);
    if (error !== undefined) await self.inputs.answer(item, { type: "refused", error });
    return "answered";
  }
  if (judged.type !== "stale") {
    await self.inputs.answer(item, judged);
    return "answered";
  }
  // Of a turn that this reader has not seen: because its view is old, or because there is no such intent.
  const { saga, deps } = self;
  const { head } = own.loaded;
  const hasMoved = await patiently(deps.clock, () => isFollowed(deps.ports, saga, head));
  if (hasMoved || item.from === "host") {
    await self.drop("its view of the ledger is old");
    return "dropped";
  }
  if (own.loaded.state.phase.kind !== "ended") await auditHeld(deps, saga, own);
  const error = new MeshError("INTENT_UNKNOWN", `${saga} has no such intent`);
  // What goes on may still come to that turn. What has ended decides nothing that somebody could have answered; and a person
  // votes on what was shown to them, so on a turn that only a deposed leader lacks.
  const isSoonOver = own.loaded.state.phase.kind === "ended" || item.event.type === "task";
  const forMs = isSoonOver ? limits.endedInputMs : limits.earlyInputMs;
  await self.inputs.putBackOrRefuse(item.delivery, limits.earlyInputDelayMs, error, forMs);
  return "answered";
}

/** Puts back into memory what was laid by. Throws as `loadPast`. */
export async function recallPast(self: Residence, own: Owned): Promise<void> {
  const { snapshot } = own.loaded;
  const whole = await loadPast(self.deps, self.deps.app, own.loaded);
  if (isGone(self)) return;
  if (whole.snapshot !== snapshot) own.keeper.found(whole.snapshot); // Lost, and so is what names it.
  own.loaded = whole;
}

/**
 * The conversation as of the open decision: from its segments, and folded anew where those are lost. What is in memory is there
 * at once, and grows with the next turn: who takes it makes of it what is wanted before anything else happens.
 */
export function conversationOf(self: Residence): readonly ModelMessage[] | Promise<readonly ModelMessage[]> {
  const own = ownOf(self);
  return (own === undefined ? [] : allSaid(own.loaded.conversation)) ?? readConversation(self);
}

async function readConversation(self: Residence): Promise<readonly ModelMessage[]> {
  for (;;) {
    const own = ownOf(self);
    if (own === undefined) return [];
    const { loaded } = own;
    const { conversation } = loaded;
    const all = allSaid(conversation);
    if (all !== undefined) return [...all];
    const { segments } = conversation;
    const read = segments && (await readSaid(self.deps, self.saga, segments));
    // A snapshot may have been written meanwhile, with what was said since.
    if (read !== undefined && conversation.segments === segments) conversation.before = read;
    if (read !== undefined) continue;
    const whole = await loadWhole(self.deps, self.deps.app, self.saga, loaded.head.seq);
    if (own.loaded.head === loaded.head) own.loaded = { ...own.loaded, conversation: whole.conversation };
  }
}

/**
 * Forgets a saga whose turn was not appended: who loads it next folds what is there. Of a ledger that is behind note is taken
 * first of what this host knows beyond it.
 */
export async function dropUnappended(
  self: Residence,
  { loaded: { head, state, definition } }: Owned,
  why: "fenced" | "behind",
): Promise<void> {
  const { deps, saga } = self;
  if (why === "behind")
    await noteBeyond(deps, saga, { head, state, definition, by: `host ${deps.incarnation}` });
  const fence = deps.hasLapsed() ? "this host stood still for too long" : "another host has appended";
  await self.drop(why === "behind" ? "the ledger is behind what this host has seen" : fence);
}
