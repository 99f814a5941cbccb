/**
 * Activation: one saga in this host's memory, from its first input to the moment it holds nothing.
 *
 * Owns: the phase (phase.ts), and taking one batch after the other: what arrives while a turn (turn.ts) is written waits
 * in the box and becomes the next one together. Does not own: what a turn is, how inputs are settled (inputs.ts), what
 * becomes of intents (hands.ts).
 *
 * AZ1 A fenced host drops the state, gives back what it holds, begins nothing more, and reports how its running
 *    effects end as ordinary inputs. So does one that stood still for longer than its lease.
 * AZ2 A saga that leaves with its partition begins nothing more and gives back what it has not taken. What it has
 *    taken stays un-acked until its host's running effects have ended and their results are stored inputs: the next
 *    host goes on from those, and performs nothing again.
 */
import { describeError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Address } from "../../protocol/subjects.ts";
import type { Delivery } from "../wire/ports.ts";
import { conversationOf } from "./detour.ts";
import { createHands, type Hands } from "./hands.ts";
import type { HostDeps } from "./host-deps.ts";
import { createInputs, type Onward } from "./inputs.ts";
import { createKeeper } from "./keeper.ts";
import { leaveOneStep } from "./leave.ts";
import { ownWorkOf } from "./open-work.ts";
import { isGone, ownOf, type Phase, type Residence } from "./phase.ts";
import { redeliveryDelay, standing } from "./redelivery.ts";
import { noteParked } from "./parked.ts";
import { createPace } from "./pace.ts";
import { takeTurn } from "./turn.ts";
import { Unserved } from "./unserved.ts";

/** What a host sees of one saga in its memory. */
export interface Activation {
  readonly saga: SagaId;
  /** Gives it an input; the activation owns the delivery from here on. */
  offer(delivery: Delivery, address: Address): void;
  /** Deliveries held, for the host's heartbeat. */
  readonly held: ReadonlySet<Delivery>;
  /** What it goes on under; undefined while it is not loaded. */
  definition(): DefinitionRef | undefined;
  /** Since when nothing is held or running; undefined while something is. */
  idleSince(): number | undefined;
  /** Gives back everything un-acked and forgets the saga. With `ifIdle`, only if nothing is held or running. */
  release(options?: { ifIdle: boolean }): Promise<void>;
  /** Hands the saga over to another host (AZ2). Resolves when it is gone from here. */
  leave(): Promise<void>;
}

/** An activation of a saga that sends inputs here, which holds nothing yet. `onGone` is called once. */
export function createActivation(
  deps: HostDeps,
  saga: SagaId,
  onGone: (activation: Activation) => void,
): Activation {
  const { clock, log } = deps;
  const inputs = createInputs(deps, saga);
  const pace = createPace();
  let phase: Phase = { type: "loading" };
  let idleAt: number | undefined;
  const idleSince = () => (inputs.isEmpty() ? idleAt : undefined);

  const self: Residence = {
    deps,
    saga,
    inputs,
    pace,
    bornAt: clock.elapsed(),
    get phase() {
      return phase;
    },
    own: async (loaded, isRecovered) => {
      if (phase.type === "leaving") for (const delivery of inputs.held) await inputs.putBack(delivery);
      if (phase.type !== "loading") return undefined;
      const keeper = createKeeper(deps);
      keeper.found(loaded.snapshot);
      inputs.row.found(loaded.state);
      const own = { loaded, keeper, hands: openHands(self), isProven: false, isRecovered };
      phase = { type: "owning", own };
      return own;
    },
    drop,
  };

  async function run(): Promise<void> {
    while (!isGone(self)) {
      if (phase.type === "leaving") await leaveOneStep(self, phase);
      else if (inputs.isEmpty()) await rest();
      else await takeBatch();
    }
  }

  async function takeBatch(): Promise<void> {
    idleAt = undefined;
    try {
      await takeTurn(self, inputs.take(pace.size()));
      if (ownOf(self) !== undefined) deps.tries.taken(saga);
    } catch (error) {
      if (!isGone(self)) await putOff(error); // Else its next owner will see.
    }
    inputs.endBatch();
  }

  /** What is taken is acked as soon as nothing is under way (turn.ts, TN2). */
  async function rest(): Promise<void> {
    if (isQuiet(self)) await inputs.ackHeld();
    if (!inputs.isEmpty() || phase.type === "leaving" || isGone(self)) return;
    if (isQuiet(self) && inputs.held.size === 0) idleAt = clock.elapsed();
    await inputs.wait();
  }

  /** A batch that cannot be taken: everything goes back, to be offered again here or elsewhere, or to a host that serves it. */
  async function putOff(error: unknown): Promise<void> {
    const reason = describeError(error);
    if (error instanceof Unserved) return drop(reason, { meant: error.definition });
    const delayMs = redeliveryDelay(deps, saga, inputs.held, error);
    deps.observe.parked(saga, error);
    if (!deps.signal.aborted) await noteParked(deps, saga, error); // A host that stops fails whatever it is about.
    await drop(reason, { delayMs });
  }

  /** AZ1. */
  async function drop(reason: string, onward?: Onward): Promise<void> {
    if (phase.type === "gone") return;
    const was = phase;
    const hands = ownOf(self)?.hands;
    phase = { type: "gone" };
    onGone(activation);
    log.debug({ sagaId: saga, reason }, "saga dropped");
    // Of the batch that is being taken, too: its turn may be refused, and if not its results are known.
    const { observed, given } = inputs.giveUp(onward);
    await given;
    if (was.type === "leaving") was.left.resolve();
    for (const { event, performed } of observed) await hands?.reportObserved(event, performed);
  }

  async function leave(): Promise<void> {
    if (idleSince() !== undefined) await release({ ifIdle: true });
    if (phase.type === "gone") return;
    if (phase.type !== "leaving") {
      const own = ownOf(self);
      phase = { type: "leaving", own, owesIntents: false, left: Promise.withResolvers() };
      own?.hands.beginNothing();
      inputs.poke();
    }
    await phase.left.promise;
  }

  async function release({ ifIdle } = { ifIdle: false }): Promise<void> {
    const own = ownOf(self);
    if (own !== undefined && inputs.held.size === 0 && !deps.hasLapsed())
      await own.keeper.keep(own.loaded, "asleep");
    if (!ifIdle || idleSince() !== undefined) await drop("released"); // Something may have come meanwhile.
  }

  const activation: Activation = {
    saga,
    held: inputs.held,
    definition: () => ownOf(self)?.loaded.definition,
    idleSince,
    release,
    leave,
    offer: (delivery, address) => inputs.put({ from: "inbox", delivery, address }),
  };
  run().catch((error: unknown) => log.error({ err: error, sagaId: saga }, "activation failed"));
  return activation;
}

/** TN2 of turn.ts. */
const isQuiet = (self: Residence): boolean => {
  const own = ownOf(self);
  if (own === undefined) return true;
  if (!own.hands.isEmpty()) return false;
  return !own.isProven || ownWorkOf(own.loaded.state, self.deps.placementOf).length === 0;
};

function openHands(self: Residence): Hands {
  const { deps, saga, inputs } = self;
  return createHands(deps, saga, {
    current: () => (self.phase.type === "owning" ? self.phase.own.loaded : undefined),
    isGone: () => isGone(self),
    conversation: () => conversationOf(self),
    observe: (event, performed) =>
      inputs.put({ from: "host", event, ...(performed === undefined ? {} : { performed }) }),
    poke: () => inputs.poke(),
    drop: (reason, error) => self.drop(reason, standing(deps, saga, inputs.held, error)),
  });
}
