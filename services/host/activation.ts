/**
 * Activation: ②③④ one saga in this host's memory, from its first input to the moment it holds nothing.
 *
 * The one critical section: take a batch → accept → decide → append → hand on → ack. One batch at a time;
 * what arrives meanwhile waits in the box and becomes one turn together.
 *
 * V1 Nothing is performed or handed on before the turn that holds it is acked.
 * V2 Un-acked inputs are the saga's lease. They are acked when the saga has no open intent of its host's own
 *    and every other open intent was handed on by an acked publish.
 * V3 A known input changes nothing, but what is open is handed on again before it is acked, after a turn of
 *    this host's own has proved that the saga is still its.
 * V4 A fenced host drops the state, gives back what it holds, begins nothing more, and reports how its running
 *    effects end as ordinary inputs. So does one that stood still for longer than its lease.
 * V5 A saga that leaves with its partition begins nothing more and gives back what it has not taken. What it has
 *    taken stays un-acked until its host's running effects have ended and their results are stored inputs: the next
 *    host goes on from those, and performs nothing again.
 */
import { accept } from "../../actors/kernel/accept.ts";
import { hasReservedCall } from "../../actors/kernel/budget.ts";
import { decideTurn, type DecidedTurn } from "../../actors/kernel/fold.ts";
import { isUnfinishedFork } from "../../actors/kernel/lineage.ts";
import { PastNeeded } from "../../actors/kernel/past.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import { mayHoldBlob } from "../../protocol/codec.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Address } from "../../protocol/subjects.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, earlyDelayMs, nakDelivery } from "../wire/delivery.ts";
import { type Head, emptyHead } from "../ledger/reader.ts";
import { assertOwnValue } from "../wire/messages.ts";
import { patiently } from "../wire/patience.ts";
import type { Delivery } from "../wire/ports.ts";
import { appendTurn } from "./append.ts";
import { type Batch, inputsOf, type Item } from "./batch.ts";
import { answerArchived } from "./archived.ts";
import { beginSaga } from "./begin.ts";
import { publishRefusal, publishTaken } from "./dispatch.ts";
import { createHands } from "./hands.ts";
import type { HostDeps } from "./host-deps.ts";
import { concernsSame, readEvent } from "./intake.ts";
import { createKeeper } from "./keeper.ts";
import { type Loaded, loadPast, loadSaga, loadWhole } from "./load.ts";
import { answerOrder, type Move, orderIn } from "./migrate.ts";
import { openedBy, ownWorkOf } from "./opened.ts";
import { stumbleOver } from "./stumble.ts";
import { encodeTurn, traceIdOf } from "./turn-message.ts";

export interface Activation {
  readonly saga: SagaId;
  /** Gives it an input; the activation owns the delivery from here on. */
  offer(delivery: Delivery, address: Address): void;
  /** Deliveries held, for the host's heartbeat. */
  readonly held: ReadonlySet<Delivery>;
  /** Since when nothing is held or running; undefined while something is. */
  idleSince(): number | undefined;
  /** Lets go of whatever it holds: everything un-acked is given back. With `ifIdle`, only if that is nothing. */
  release(options?: { ifIdle: boolean }): Promise<void>;
  /** Hands the saga over to another host (V5). Resolves when it is gone from here. */
  leave(): Promise<void>;
}

export function createActivation(
  deps: HostDeps,
  saga: SagaId,
  onGone: (activation: Activation) => void,
): Activation {
  const { ports, clock, app, log } = deps;
  const traceId = traceIdOf(saga);
  const held = new Set<Delivery>();
  const box: Item[] = [];
  /** The batch that is being taken; while it is, its items stand here and not in the box. */
  let taking: readonly Item[] = [];
  let loaded: Loaded | undefined;
  const keeper = createKeeper(deps);
  let recovered = false;
  /** An append of this activation's own was acked: the open work of a host is this host's. */
  let owner = false;
  let gone = false;
  let leaving = false;
  /** A turn was appended while leaving: its intents are the next host's to hand on. */
  let owesIntents = false;
  const left = Promise.withResolvers<void>();
  const bornAt = clock.now();
  let idleSince: number | undefined;
  let wake: (() => void) | undefined;

  const poke = () => {
    wake?.();
    wake = undefined;
  };
  const put = (item: Item) => {
    box.push(item);
    idleSince = undefined;
    poke();
  };

  const hands = createHands(deps, saga, {
    current: () => (gone || leaving ? undefined : loaded),
    isGone: () => gone,
    conversation: () => conversation(),
    observe: (event, performed) =>
      put({ from: "host", event, ...(performed === undefined ? {} : { performed }) }),
    poke,
    drop: (reason, delayMs) => drop(reason, delayMs),
  });

  async function run(): Promise<void> {
    // eslint-disable-next-line no-unmodified-loop-condition -- drop() sets it, from within the loop and from outside
    while (!gone) {
      if (leaving) {
        await giveBack(box.splice(0));
        if (hands.isEmpty()) await depart();
        else if (box.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      if (box.length === 0 && isQuiet()) await ackHeld();
      if (box.length === 0) {
        if (isQuiet() && held.size === 0) idleSince = clock.now();
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      taking = box.splice(0, limits.stepsPerTurnMax);
      try {
        await takeItems(taking);
      } catch (error) {
        await stumble(error);
      }
      taking = [];
    }
  }

  const ownWork = (state: SagaState): OpenIntent[] => ownWorkOf(state, deps.placementOf);

  /** V2. */
  const isQuiet = (): boolean =>
    hands.isEmpty() && (loaded === undefined || !owner || ownWork(loaded.state).length === 0);

  async function ackHeld(): Promise<void> {
    const acking = [...held];
    held.clear();
    await Promise.all(acking.map(ackDelivery));
  }

  async function takeItems(items: readonly Item[]): Promise<void> {
    for (const item of items) if (item.from === "inbox") held.add(item.delivery);
    const batch: Batch = { events: [], known: false };
    const local = items.flatMap((item) => (item.from === "host" ? item.event : []));
    // What the host observed itself needs no reading; most turns hold nothing else.
    const read = local.length === items.length ? local : await Promise.all(items.map(readItem));
    const order = orderIn(items, read);
    if (order !== undefined) {
      const answer = await answerOrder(deps, saga, order, { refuse, putBackOrRefuse });
      if (gone) return;
      if (answer === "later") box.push(order.item);
      if (answer === "answered" || answer === "later")
        return order.others.length === 0 ? undefined : takeItems(order.others);
      if (answer !== "usual") return move(order.others, answer);
    }
    const found = loaded ?? (await load(read));
    if (gone) return; // Let go meanwhile: everything was given back.
    if (found !== undefined && "type" in found) {
      const inputs = inputsOf(items, read);
      const notUndone = publishRefusal.bind(undefined, deps, saga);
      return answerArchived(found, inputs, clock.now(), { refuse, taken: answerTaken, notUndone });
    }
    if (found !== undefined && loaded === undefined) keeper.found(found.snapshot);
    loaded = found;
    const isBegun = loaded !== undefined && !isUnfinishedFork(loaded.state);
    if (!isBegun && !(await begin(items, read, batch))) return;
    for (const [index, item] of items.entries()) {
      const event = read[index];
      if (event === undefined || batch.events.includes(event)) continue;
      if (await takeOne(batch, item, event)) return;
    }
    // V3. Where nothing is open there is nothing to hand on, and nothing to prove.
    if (batch.known && batch.events.length === 0 && Object.keys(loaded?.state.open ?? {}).length > 0)
      batch.events.push({ type: "adopted" });
    if (batch.events.length > 0) await turn(batch);
  }

  /** The saga goes on under another definition; what came with the order for that is taken under it. */
  async function move(others: readonly Item[], to: Move): Promise<void> {
    box.unshift(...others);
    keeper.found(to.loaded.snapshot);
    loaded = to.loaded;
    await turn({ events: [to.event], known: false });
  }

  /** The item's event, or undefined if it was dealt with: refused, or put back. */
  async function readItem(item: Item): Promise<Event | undefined> {
    if (item.from === "host") return item.event;
    const { delivery, address } = item;
    try {
      const event = await readEvent(ports.blobs, app, address, delivery, deps.checkSignature);
      if (mayHoldBlob(delivery.data)) assertOwnValue(event);
      return event;
    } catch (error) {
      if (!isMeshError(error)) throw error;
      if (error.code === "AGENT_UNKNOWN") await putBackOrRefuse(delivery, limits.unservedDelayMs, error);
      else if (error.retriable) await putBack(delivery, limits.earlyInputDelayMs);
      else await refuse(delivery, error);
      return undefined;
    }
  }

  async function load(read: readonly (Event | undefined)[]): Promise<Loaded | Tombstone | undefined> {
    if (read.every((event) => event === undefined)) return undefined;
    const found = await loadSaga(deps, app, saga);
    // An open intent of the host's own, in a saga nobody here works on: its former owner died, or is frozen.
    recovered = found === undefined;
    return found;
  }

  /** A saga without a ledger begins with a start; everything else is offered again for an hour. */
  async function begin(
    items: readonly Item[],
    read: readonly (Event | undefined)[],
    batch: Batch,
  ): Promise<boolean> {
    // Of a fork that was not copied whole only its own start can go on.
    const at = read.findIndex(
      (event) => event?.type === "start" && (loaded === undefined || event.fork !== undefined),
    );
    const [start, item] = [read[at], items[at]];
    if (start?.type !== "start" || item?.from !== "inbox") {
      const error = new MeshError(
        "SAGA_UNKNOWN",
        `no saga ${saga} was started within an hour of this message`,
      );
      for (const delivery of held) await putBackOrRefuse(delivery, earlyDelayMs(delivery), error);
      return false;
    }
    const { delivery } = item;
    const begun = await beginSaga(deps, { saga, start, delivery, copied: loaded, isGone: () => gone });
    loaded = begun.type === "begun" ? begun.loaded : undefined;
    if (begun.type === "begun") batch.events.push(...begun.events);
    else if (begun.type === "fenced") await drop("another host has appended");
    else for (const one of held) await refuse(one, begun.error);
    return begun.type === "begun" && !gone;
  }

  /** Judges one event. True if the batch is over: this reader's view is old and everything is given back. */
  async function takeOne(batch: Batch, item: Item, event: Event): Promise<boolean> {
    if (loaded === undefined) return true;
    // Judged by the state before the turn, so what concerns the same intent or signal as another event of the
    // batch waits for the next one; and so does everything right after the start.
    const isFirst = loaded.head === emptyHead || (event.type !== "start" && isUnfinishedFork(loaded.state));
    if (isFirst || batch.events.some((other) => concernsSame(other, event))) {
      box.push(item);
      return false;
    }
    const judge = ({ definition, state }: Loaded) => accept(definition, state, event, clock.now());
    const judged = await withPast(loaded, judge);
    if (judged === undefined || gone) return true;
    switch (judged.type) {
      case "new":
        batch.events.push(judged.event);
        return false;
      case "known":
        batch.known ||= item.from === "inbox";
        if (item.from === "host") hands.letGoOf(event);
        return false;
      case "refused":
        if (item.from === "inbox") await refuse(item.delivery, judged.error);
        return false;
      case "taken":
        if (item.from === "inbox" && event.type === "start") await answerTaken(item.delivery, event);
        return false;
      case "stale":
        return takeStale(item, loaded.head);
    }
  }

  /** Of a turn that this reader has not seen: because its view is old, or because there is no such intent. */
  async function takeStale(item: Item, head: Head): Promise<boolean> {
    const last = await patiently(clock, () => ports.ledger.last(saga));
    if (last?.seq !== head.seq || item.from === "host") {
      await drop("its view of the ledger is old");
      return true;
    }
    await putBackOrRefuse(
      item.delivery,
      limits.earlyInputDelayMs,
      new MeshError("INTENT_UNKNOWN", `${saga} has no such intent`),
    );
    return false;
  }

  async function answerTaken(delivery: Delivery, event: Extract<Event, { type: "start" }>): Promise<void> {
    if (event.parent === undefined)
      return refuse(delivery, new MeshError("SAGA_ID_TAKEN", `saga ${saga} was started with another input`));
    await publishTaken(deps, saga, event.parent);
    held.delete(delivery);
    await ackDelivery(delivery);
  }

  /** Takes a pure step; once more with what was laid by, if that is missing. Undefined if let go of meanwhile. */
  async function withPast<T>(at: Loaded, step: (loaded: Loaded) => T): Promise<T | undefined> {
    try {
      return step(at);
    } catch (error) {
      if (!(error instanceof PastNeeded)) throw error;
      const whole = await loadPast(deps, app, at);
      if (gone) return undefined;
      if (whole.snapshot !== at.snapshot) keeper.found(whole.snapshot); // Lost, and so is what names it.
      return step((loaded = whole));
    }
  }

  async function turn(batch: Batch): Promise<void> {
    if (loaded === undefined) return;
    if (deps.hasLapsed()) return drop("this host stood still for too long"); // V4
    const at = clock.now();
    const stateOf = ({ head, state }: Loaded) => (head === emptyHead ? undefined : state);
    if (!owner && loaded.head !== emptyHead && hasReservedCall(loaded.state))
      batch.events.push({ type: "adopted", anew: true });
    const decide = (from: Loaded) =>
      decideTurn(from.definition, stateOf(from), { saga, at, events: batch.events });
    const decided = await withPast(loaded, decide);
    if (decided === undefined || gone) return;
    const before = stateOf(loaded);
    const from = { agent: loaded.definition.name, traceId };
    const message = await encodeTurn(deps, from, loaded.head, decided, at);
    const outcome = await appendTurn(
      { ledger: ports.ledger, clock, onRetry: (reason) => deps.observe.append("retried", reason) },
      saga,
      message,
      deps.signal,
    );
    deps.observe.append(outcome.type);
    if (outcome.type === "fenced") return drop("another host has appended");
    if (gone) return; // Let go meanwhile: whoever takes the saga up finds the turn and hands on what is open.
    const head: Head = { turn: decided.state.turn, seq: outcome.seq, hash: message.hash };
    loaded = { ...loaded, state: keeper.grew(message.data.length, decided.state), head };
    loaded.messages?.push(...decided.said);
    owner = true;
    owesIntents = leaving;
    if (!leaving) afterTurn(before, decided, batch);
  }

  /** V1: the turn is acked, so its intents may be handed on and what is closed may be called off. */
  function afterTurn(before: SagaState | undefined, decided: DecidedTurn, batch: Batch): void {
    if (loaded === undefined) return;
    const { state } = decided;
    for (const shown of decided.shown) deps.live(saga, shown.kind, shown.value);
    hands.callOff(before, state);
    const heardSignal = batch.events.some((event) => event.type === "signal");
    const takeover =
      !recovered &&
      (batch.known || (before !== undefined && ownWork(before).some((open) => !hands.isInHand(open))));
    for (const event of batch.events) hands.letGoOf(event);
    if (takeover) {
      recovered = true;
      deps.observe.takenOver(clock.now() - bornAt);
    }
    for (const open of takeover ? Object.values(state.open) : openedBy(decided, batch))
      hands.handOn(open, heardSignal);
    deps.observe.turn(decided, before);
    void keeper.keep(loaded, "running");
  }

  /** The conversation as of the open decision; folded anew where a snapshot spared it. */
  async function conversation() {
    while (loaded !== undefined && loaded.messages === undefined) {
      const { head } = loaded;
      const whole = await loadWhole(deps, app, saga, head.seq);
      if (loaded.head === head) loaded = { ...loaded, messages: whole.messages };
    }
    return loaded?.messages ?? [];
  }

  async function refuse(delivery: Delivery, error: MeshError): Promise<void> {
    log.warn(
      { sagaId: saga, subject: delivery.subject, code: error.code, reason: error.message },
      "input refused",
    );
    deps.observe.refused(error.code);
    await deadLetter(deps, "inbox", delivery, error);
    held.delete(delivery);
    await ackDelivery(delivery);
  }

  async function putBack(delivery: Delivery, delayMs?: number): Promise<void> {
    held.delete(delivery);
    await nakDelivery(delivery, delayMs);
  }

  const putBackOrRefuse = (delivery: Delivery, delayMs: number, error: MeshError): Promise<void> =>
    clock.now() - delivery.storedAt > limits.earlyInputMs && delivery.deliveries >= limits.earlyInputLooksMin
      ? refuse(delivery, error)
      : putBack(delivery, delayMs);

  /** A batch that cannot be taken: everything goes back, to be offered again here or elsewhere. */
  async function stumble(error: unknown): Promise<void> {
    if (gone) return; // Whoever has the saga now will see.
    const delayMs = stumbleOver(deps, saga, error);
    deps.observe.parked(saga, error);
    await drop(describeError(error), delayMs);
  }

  /** V4. */
  async function drop(reason: string, delayMs?: number): Promise<void> {
    if (gone) return;
    gone = true;
    onGone(activation);
    log.debug({ sagaId: saga, reason }, "saga dropped");
    // Of the batch that is being taken, too: its turn may be refused, and if not its results are known.
    const locals = [...taking, ...box].filter((item) => item.from === "host");
    const deliveries = new Set([
      ...held,
      ...box.flatMap((item) => (item.from === "inbox" ? [item.delivery] : [])),
    ]);
    box.length = 0;
    held.clear();
    loaded = undefined;
    poke();
    await Promise.all([...deliveries].map((delivery) => nakDelivery(delivery, delayMs)));
    left.resolve();
    for (const { event, performed } of locals) await hands.reportObserved(event, performed);
  }

  async function leave(): Promise<void> {
    if (idleSince !== undefined) await release({ ifIdle: true });
    if (gone) return;
    leaving = true;
    hands.beginNothing();
    poke();
    await left.promise;
  }

  /** V5: what is not taken yet goes to the next host as it came, or as a result. */
  async function giveBack(items: readonly Item[]): Promise<void> {
    for (const item of items)
      if (item.from === "inbox") await putBack(item.delivery);
      else
        await hands
          .reportObserved(item.event, item.performed)
          .catch((error: unknown) => log.debug({ err: error, sagaId: saga }, "result not reported"));
  }

  /** V5: acked only if every open intent of this host's own has its result in the inbox, and all else was handed on. */
  async function depart(): Promise<void> {
    const { state } = loaded ?? {};
    const isReported =
      state === undefined ||
      !owner ||
      (!owesIntents && ownWork(state).every((open) => hands.isReported(open)));
    if (isReported) await ackHeld();
    await drop("its partition is another host's");
  }

  async function release({ ifIdle } = { ifIdle: false }): Promise<void> {
    if (loaded !== undefined && held.size === 0 && !deps.hasLapsed()) await keeper.keep(loaded, "asleep");
    if (!ifIdle || idleSince !== undefined) await drop("released"); // Something may have come meanwhile.
  }

  const activation: Activation = {
    saga,
    held,
    idleSince: () => idleSince,
    release,
    leave,
    offer: (delivery, address) => put({ from: "inbox", delivery, address }),
  };
  run().catch((error: unknown) => log.error({ err: error, sagaId: saga }, "activation failed"));
  return activation;
}
