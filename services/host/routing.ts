/**
 * Routing: what this host cannot take, because it lacks the definition, goes to a host that serves it, or waits for one.
 * Nothing here is on the way of a turn: it begins where loading a saga fails, or a start is another's.
 *
 * Owns: which host, and what becomes of a delivery that none takes. Does not own: what is chosen
 * (services/deployments/choose.ts), and taking what others hand on (guests.ts).
 *
 * RK1 A delivery that is handed on is let go: it is neither acked nor prolonged here. What its receiver does not settle
 *     comes back when the lease ends, and is routed anew.
 * RK2 One hop: what was handed on to this host is not handed on again. It goes back to its partition's host, whose
 *     view may be newer by then.
 * RK3 The ledger decides before the choice: a repeated start goes where its saga is.
 */
import { textOfDefinition } from "../../protocol/definition-text.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, EventOf } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { partitionOf } from "../../protocol/subjects.ts";
import type { App } from "../app/app.ts";
import { chooseForStart, hostFor, isServed, type Wanted } from "../deployments/choose.ts";
import type { Declared } from "../deployments/declared.ts";
import type { LivingHost } from "../deployments/served.ts";
import type { Log } from "../process/log.ts";
import { earlyDelayMs, nakDelivery } from "../wire/delivery.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Delivery, Ports } from "../wire/ports.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { NoneServed, Unserved, wordsOf } from "./unserved.ts";
import type { Trying } from "./tries.ts";
import type { Waiting } from "./waiting.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import type { KnownTurns } from "../ledger/known-turns.ts";

/** What a start says for the whole of its saga's ledger. */
type Begun = Pick<EventOf<"start">, "keys" | "told" | "follows" | "causes" | "errorNames">;

/** Where what this host lacks goes. */
export interface Routing {
  /**
   * The definition that a start becomes a saga of, which need not be served here. Throws AGENT_UNKNOWN (NoneServed) if no
   * living host serves any such, VERSION_UNSERVED (Unserved) if it waits for one that was declared, and UNAVAILABLE
   * while it is not known what is.
   */
  choose(wanted: Wanted, saga: SagaId): DefinitionRef;
  /** The definition that starts of a name go to; undefined: none that is served, or that is not known now. */
  startsAs(name: string, saga: SagaId): DefinitionRef | undefined;
  /** How a saga that begins now makes keys and hears: as every living host can, for any of them may go on with it. */
  beginning(): Begun;
  /** Whether a living host takes sagas of the definition. */
  isServed(definition: DefinitionRef): boolean;
  /** Hands deliveries of one saga on (RK1). What no host takes is given back, to be offered again. */
  passOn(saga: SagaId, definition: DefinitionRef, deliveries: readonly Delivery[]): Promise<void>;
  /** Whether any host ever served what a start asks for: then one may again. Throws UNAVAILABLE. */
  wasServed(wanted: Wanted): Promise<boolean>;
  /** Gives back what no living host serves: it is offered again when one does, and now and then (tries.ts). */
  putOff(saga: SagaId, wanted: Wanted, delivery: Delivery): Promise<void>;
}

/** What routing lives on. */
export interface RoutingDeps {
  readonly ports: Pick<Ports, "inbox" | "registry">;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: { handedOn(outcome: "taken" | "not taken" | "unknown"): void };
  readonly waiting: Waiting;
  readonly tries: Pick<Trying, "failed">;
  /** The living hosts and what people declared, as this host knows them now. */
  readonly roster: { hosts(): readonly LivingHost[]; declared(): Declared | undefined };
  /** Before a saga of this host goes to another: no mark of this host's is a suspicion there. */
  readonly unmark: (saga: SagaId) => Promise<void>;
}

/** Routing among the hosts of a roster. */
export function createRouting(deps: RoutingDeps): Routing {
  const { ports, clock, log, observe, waiting, tries, roster, unmark } = deps;
  const wasServed = registeredIn(ports.registry, clock);

  const choiceFor = (wanted: Wanted, saga: SagaId) => {
    const declared = roster.declared();
    return declared && { of: chooseForStart(wanted, saga, roster.hosts(), declared.names) };
  };

  const putOff = async (saga: SagaId, wanted: Wanted, delivery: Delivery) => {
    waiting.note(saga, wordsOf(wanted));
    await nakDelivery(delivery, tries.failed(saga, [delivery]));
  };

  async function handOn(host: string, definition: DefinitionRef, delivery: Delivery): Promise<void> {
    try {
      const isTaken = await ports.inbox.handOn(host, delivery, textOfDefinition(definition));
      observe.handedOn(isTaken ? "taken" : "not taken");
      if (!isTaken) await nakDelivery(delivery, earlyDelayMs(delivery));
    } catch (error) {
      observe.handedOn("unknown");
      if (isMeshError(error, "UNAVAILABLE")) return; // RK1: it may have been taken, so its lease tells.
      log.warn({ err: error, host, subject: delivery.subject }, "input not handed on");
      await nakDelivery(delivery, unservedDelayMs(delivery));
    }
  }

  return {
    choose: (wanted, saga) => {
      const choice = choiceFor(wanted, saga);
      if (choice === undefined)
        throw new MeshError("UNAVAILABLE", "this host does not know what is declared now");
      return chosen(wanted, saga, choice.of);
    },
    startsAs: (name, saga) => {
      const found = choiceFor({ name }, saga)?.of;
      return found === undefined || "waitsFor" in found ? undefined : found;
    },
    beginning: () => {
      const can = (what: keyof Begun) => roster.hosts().every((host) => host[what] !== undefined);
      return {
        ...(can("keys") ? { keys: "decided" } : {}),
        ...(can("keys") && can("told") ? { told: "decided" } : {}),
        ...(can("follows") ? { follows: "xstate" } : {}),
        ...(can("follows") && can("causes") ? { causes: true } : {}),
        ...(can("follows") && can("causes") && can("errorNames") ? { errorNames: true } : {}),
      };
    },
    isServed: (definition) => isServed(definition, roster.hosts()),
    passOn: async (saga, definition, deliveries) => {
      const [first] = deliveries;
      if (first === undefined) return;
      await unmark(saga);
      const host = hostFor(definition, partitionOf(first.subject), roster.hosts())?.host;
      await Promise.all(
        deliveries.map((delivery) =>
          host === undefined ? putOff(saga, definition, delivery) : handOn(host, definition, delivery),
        ),
      );
    },
    wasServed,
    putOff,
  };
}

/** Routing of a process that knows of no other host: what it lacks goes back to the one that gave it. */
export function routingAlone(app: App): Routing {
  const back = (deliveries: readonly Delivery[]) =>
    Promise.all(deliveries.map((delivery) => nakDelivery(delivery, earlyDelayMs(delivery))));
  return {
    choose: (wanted, saga) => {
      const { name, version = 0, hash } = wanted;
      const found =
        hash === undefined ? app.latest(name, wanted.version) : app.definition({ name, version, hash });
      return chosen(wanted, saga, found);
    },
    startsAs: () => undefined, // What is taken for another host moves there.
    beginning: () => ({
      keys: "decided",
      told: "decided",
      follows: "xstate",
      causes: true,
      errorNames: true,
    }),
    isServed: (definition) => app.definition(definition) !== undefined,
    passOn: async (_saga, _definition, deliveries) => {
      await back(deliveries);
    },
    wasServed: async () => true,
    putOff: async (_saga, _wanted, delivery) => {
      await back([delivery]);
    },
  };
}

function chosen(wanted: Wanted, saga: SagaId, found: ReturnType<typeof chooseForStart>): DefinitionRef {
  if (found === undefined) throw new NoneServed(wanted);
  if ("waitsFor" in found) throw new Unserved(saga, found.waitsFor);
  return found;
}

/** What was handed on to this host says what it is meant for, in a header: its definition is not chosen anew. */
export const meantFor: (delivery: Delivery) => DefinitionRef | undefined = definitionTold;

/** What is needed to look for it. */
interface PresentDeps {
  readonly ports: Pick<Ports, "ledger">;
  readonly clock: Clock;
  readonly app: Pick<App, "definition">;
  readonly known: KnownTurns;
}

/** RK3: the definition a saga goes on under, by its last turn; undefined while it has no ledger. Throws UNAVAILABLE. */
export async function presentDefinitionOf(
  { ports, clock, app, known }: PresentDeps,
  saga: SagaId,
): Promise<DefinitionRef | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  const told = last && definitionTold(last);
  // Where it says that this host serves it, who loads it finds out.
  if (last === undefined || (told !== undefined && app.definition(told) !== undefined)) return told;
  return patiently(clock, () => known.definitionOf(saga));
}

/** Soon at first, because a host may be starting, and then in some seconds. */
const unservedDelayMs = ({ deliveries }: Delivery): number =>
  Math.min(limits.unservedDelayMs, 250 * 2 ** Math.min(deliveries, 10));

/** Whether a definition was ever registered. What is registered stays so; for the rest the list is read now and then. */
function registeredIn(registry: Pick<Ports["registry"], "list">, clock: Clock): Routing["wasServed"] {
  let keys: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const isIn = ({ name, version, hash }: Wanted) =>
    keys.some((key) => {
      const [kind, ofName, ofVersion, ofHash] = key.split(".");
      return (
        kind === "saga" &&
        ofName === name &&
        (hash === undefined ? version === undefined || ofVersion === String(version) : ofHash === hash)
      );
    });
  return async (wanted) => {
    if (isIn(wanted)) return true;
    if (clock.elapsed() - readAt < limits.unservedDelayMs) return false;
    keys = (await registry.list()).map(({ key }) => key);
    readAt = clock.elapsed();
    return isIn(wanted);
  };
}
