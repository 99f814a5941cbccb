/**
 * Machines in machines made by chance, run in two ways along one path: by XState's interpreter, and as sagas that start and tell sagas in a
 * mesh in memory, whose host dies after every event. What the root shows is compared, and what each machine below it.
 *
 * A path's events are the root's own, and `tick`: time passes until the next timer, of whichever machine.
 *
 * FD1 In XState what one machine sends another is taken within the same moment; sagas take it when it comes. So a path ends
 *     before an event in which a machine took two things that no order binds: of two senders, neither because of the other.
 */
import * as fc from "fast-check";
import { expect } from "vitest";
import {
  type AnyActorRef,
  type ActorRefLike,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type InspectionEvent,
} from "xstate";
import { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { foldLedger } from "../../actors/kernel/replay.ts";
import { statusOf } from "../../actors/machine/machine.ts";
import { toJson } from "../../protocol/json.ts";
import { defineApp, defineSaga, toActors } from "../../services/index.ts";
import { type TestMesh, testMesh } from "../../services/testing/index.ts";
import { SteppingClock } from "./machine-driver.ts";
import { machineOf, plain, plans } from "./random-machine.ts";

/** A machine whose `tool` is a machine, and whose `saga` is another whose actors are the first; and what each may be told. */
export interface Family {
  readonly name: string;
  readonly machine: AnyStateMachine;
  readonly saga: AnyStateMachine;
  readonly tool: AnyStateMachine;
  readonly events: readonly string[];
  readonly heard: readonly string[];
}

const heard = ["say0", "say1", "say2", "say3"];
const hour = 3_600_000;

/** Three generations. Their delays lie hours apart, so that what takes time to start anew changes no order. */
export const randomFamily: fc.Arbitrary<Family> = fc
  .record({ machine: plans, saga: plans, tool: plans })
  .map((made) => ({
    name: JSON.stringify(made),
    machine: machineOf(made.machine, { ...plain, delays: [10, 21, 42].map((hours) => hours * hour) }).machine,
    saga: machineOf(made.saga, {
      events: heard,
      delays: [13, 27, 54].map((hours) => hours * hour),
      breaks: true,
    }).machine,
    tool: machineOf(made.tool, {
      ...{ events: heard, delays: [17, 35, 70].map((hours) => hours * hour) },
      ...({ breaks: true, childless: true } as const),
    }).machine,
    events: plain.events,
    heard,
  }));

/** What a machine shows, and the machines that it waits for. */
interface Shown {
  readonly status: string;
  readonly value: unknown;
  readonly context: unknown;
  readonly output: unknown;
  readonly below: Readonly<Record<string, Shown>>;
}

/** Timers that fall due this close to each other have no order in a mesh: a host that dies costs time. */
const apartMs = 1_800_000;

/** A message as the interpreter hands it to an actor, and the one that its sender was taking. */
interface Sent {
  readonly from: ActorRefLike | undefined;
  readonly cause: Sent | undefined;
}

/** XState's own actor, and what it tells of the messages between the machines. */
function createLive({ machine, saga, tool }: Family) {
  const clock = new SteppingClock();
  /** Of each machine what it was last handed, and what it has yet to take; the first of these it is taking. */
  let handed = new Map<ActorRefLike, Sent>();
  const ahead = new Map<ActorRefLike, Sent[]>();
  const aheadOf = (actor: ActorRefLike): Sent[] => ahead.get(actor) ?? [];
  let isBound = true;
  const inspect = (event: InspectionEvent): void => {
    const { actorRef } = event;
    if (event.type === "@xstate.snapshot") ahead.set(actorRef, aheadOf(actorRef).slice(1));
    if (event.type !== "@xstate.event") return;
    const { sourceRef: from } = event;
    const sent: Sent = { from, cause: from === undefined ? undefined : aheadOf(from)[0] };
    if (event.event.type === "xstate.init") return void ahead.set(actorRef, [sent, ...aheadOf(actorRef)]);
    const before = handed.get(actorRef);
    if (before !== undefined && before.from !== sent.from && !isBecause(sent, before)) isBound = false;
    handed.set(actorRef, sent);
    ahead.set(actorRef, [...aheadOf(actorRef), sent]);
  };
  const inner = saga.provide({ actors: { tool, saga: tool } as never });
  const actor = createActor(machine.provide({ actors: { tool, saga: inner } as never }), {
    ...{ clock, inspect, logger: () => {} },
  });
  actor.subscribe({ error: () => {} });
  actor.start();
  return {
    isBound: () => isBound,
    shown: () => shownLive(actor.getSnapshot() as AnyMachineSnapshot),
    /** By how much time passes; undefined if the path must end here. */
    take(event: string): number | undefined {
      handed = new Map();
      isBound = true;
      if (event !== "tick") {
        actor.send({ type: event });
        return isBound ? 0 : undefined;
      }
      const [next, after] = clock.dues();
      if (next === undefined) return 0;
      if (after !== undefined && after - next < apartMs) return undefined;
      const ms = next - clock.now();
      clock.advance(ms);
      return isBound ? ms : undefined;
    },
  };
}

const isBecause = (sent: Sent, of: Sent): boolean => {
  for (let one = sent.cause; one !== undefined; one = one.cause) if (one === of) return true;
  return false;
};

function shownLive(snapshot: AnyMachineSnapshot): Shown {
  const { status, value, context, output, children } = snapshot as AnyMachineSnapshot & {
    children: Record<string, AnyActorRef | undefined>;
  };
  const open = Object.entries(children).flatMap(([id, child]) => {
    const below = (child as AnyActorRef | undefined)?.getSnapshot() as AnyMachineSnapshot | undefined;
    return status === "active" && below?.status === "active" ? [[id, shownLive(below)] as const] : [];
  });
  return { status, value, context, output, below: Object.fromEntries(open) };
}

/** How many machines are below those below the root. */
const thirdIn = ({ below }: Shown): number =>
  Object.values(below).reduce((sum, one) => sum + Object.keys(one.below).length, 0);

const anything = { input: z.any(), output: z.any() };

const sagaOf = (name: string, machine: AnyStateMachine, signals: readonly string[]) =>
  defineSaga({
    ...{ name, version: 1, ...anything, machine },
    signals: Object.fromEntries(signals.map((signal) => [signal, z.any()])),
  });

/** The family as an application, and its root. */
function appOf({ machine, saga, tool, events, heard }: Family) {
  const toldToo = [...heard, "welcome", "goodbye"];
  const leaf = sagaOf("leaf", tool, toldToo);
  const mid = sagaOf("mid", saga.provide({ actors: toActors({ tool: leaf, saga: leaf }) as never }), toldToo);
  const root = sagaOf(
    "root",
    machine.provide({ actors: toActors({ tool: leaf, saga: mid }) as never }),
    events,
  );
  return { app: defineApp({ sagas: [root, mid, leaf] }), root };
}

/** What a saga of the mesh shows, folded from its ledger. */
async function shownInMesh(
  mesh: TestMesh,
  definitions: ReadonlyMap<string, Definition>,
  id: string,
): Promise<Shown> {
  const turns = await mesh.anySaga(id).ledger();
  const start = turns[0]?.steps[0]?.event;
  const definition = start?.type === "start" ? definitions.get(start.definition.name) : undefined;
  if (definition === undefined) throw new Error(`${id} has no start`);
  const { state } = foldLedger(definition, turns);
  const { status, value, context, output } = statusOf(state.snapshot);
  const below: [string, Shown][] = [];
  if (state.phase.kind === "running")
    for (const [name, intent] of Object.entries(state.actors)) {
      const open = state.open[intent]?.intent;
      if (state.displaced?.[name] !== undefined || open?.kind !== "saga") continue;
      below.push([name, await shownInMesh(mesh, definitions, open.saga)]);
    }
  return { status, value, context, output, below: Object.fromEntries(below) };
}

/** How many events of a path were compared, and with how many machines at once at most in the third generation. */
export interface Compared {
  readonly events: number;
  readonly third: number;
}

/** Runs the path both ways and compares. */
export async function compareFamily(family: Family, path: readonly string[]): Promise<Compared> {
  const live = createLive(family);
  if (!live.isBound()) return { events: 0, third: 0 };
  let third = 0;
  const { app, root } = appOf(family);
  const definitions = new Map(app.definitions.map((one) => [one.name, one] as const));
  await using mesh = testMesh(app);
  const saga = await mesh.start(root, null, { id: "root" });
  const shown = async () => toJson(await shownInMesh(mesh, definitions, "root"));
  expect(await shown(), "after its start").toEqual(toJson(live.shown()));
  for (const [index, event] of path.entries()) {
    const ms = live.take(event);
    if (ms === undefined) return { events: index, third };
    third = Math.max(third, thirdIn(live.shown()));
    await mesh.crash();
    if (event !== "tick") await saga.signal(event as never, {} as never);
    else if (ms > 0) await mesh.advance(ms);
    expect(await shown(), `after ${path.slice(0, index + 1).join(", ")}`).toEqual(toJson(live.shown()));
  }
  return { events: path.length, third };
}
