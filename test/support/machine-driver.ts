/**
 * Two ways to run one machine along one path of events: a live XState actor, and the door with the least an
 * envelope must keep. What they show after each event is compared; a third driver may be put beside them.
 *
 * A path's events are the machine's own and, for what comes from outside, pseudo events:
 *   done:<id>     the current actor of this id ends with the case's result
 *   error:<id>    it fails with `failure`
 *   late:<id>     an earlier actor under this id ends; only of one that was displaced something may come
 *   advance:<ms>  time passes, and what falls due on the way fires in the order of its due times
 */
import { expect } from "vitest";
import { type AnyActorRef, type AnyStateMachine, createActor, SimulatedClock } from "xstate";
import { doneEvent, errorEvent, type Machine, openMachine, statusOf } from "../../actors/machine/machine.ts";
import type { MachineEvent } from "../../actors/machine/actions.ts";
import type { MachineSnapshot } from "../../actors/machine/snapshot.ts";
import { type Json, toJson } from "../../protocol/json.ts";

/** A machine with the alphabet its paths are made of. */
export interface CorpusCase {
  readonly name: string;
  readonly machine: AnyStateMachine;
  readonly input?: Json;
  readonly events: readonly MachineEvent[];
  /** Output of `done:<id>` by id; null where none is given. */
  readonly results?: Readonly<Record<string, Json>>;
}

/** What can be seen of a machine from outside, and what it sent to its children so far. */
export interface Seen {
  readonly value: unknown;
  readonly context: unknown;
  readonly tags: readonly string[];
  readonly status: string;
  readonly output: unknown;
  readonly error: unknown;
  /** Ids of the actors whose result would be taken now, and of the signals sent, each with its receiver. */
  readonly open: readonly string[];
  readonly sent: readonly string[];
  readonly emitted: readonly string[];
}

export interface Driver {
  send(event: MachineEvent): void;
  state(): Seen;
}

export const failure = { code: "TOOL_FAILED", reason: "declined" };

/** Splits a pseudo event; undefined for an event of the machine's own. */
function pseudo(
  event: MachineEvent,
): { kind: "done" | "error" | "late" | "advance"; of: string } | undefined {
  const match = /^(done|error|late|advance):(.+)$/.exec(event.type);
  if (match === null) return undefined;
  return { kind: match[1] as "done" | "error" | "late" | "advance", of: match[2] ?? "" };
}

/** SimulatedClock jumps; this stops at every due time, so that a timer started by a timer counts from there. */
export class SteppingClock extends SimulatedClock {
  private readonly due = new Map<number, number>();
  override setTimeout(fn: () => void, timeout: number): number {
    const id = super.setTimeout(() => {
      this.due.delete(id);
      fn();
    }, timeout);
    this.due.set(id, this.now() + timeout);
    return id;
  }
  override clearTimeout(id: number): void {
    this.due.delete(id);
    super.clearTimeout(id);
  }
  /** When what is pending falls due, earliest first. */
  dues(): number[] {
    return [...this.due.values()].sort((a, b) => a - b);
  }
  advance(ms: number): void {
    const end = this.now() + ms;
    for (;;) {
      const next = Math.min(...this.due.values());
      if (next > end) break;
      this.set(next);
    }
    this.set(end);
  }
}

/** Logic that ends when it is told to, synchronously, and reports each start and each event it was sent. */
function controllable(started: AnyActorRef[], sent: string[]) {
  type State = { status: "active" | "done" | "error" | "stopped"; output: unknown; error: unknown };
  return {
    transition: (state: State, event: MachineEvent, { self }: { self: AnyActorRef }): State => {
      if (event.type === "control.done") return { ...state, status: "done", output: event["output"] };
      if (event.type === "control.error") return { ...state, status: "error", error: event["error"] };
      if (event.type === "xstate.stop") return { ...state, status: "stopped" };
      sent.push(`${self.id} ${JSON.stringify(event)}`);
      return state;
    },
    getInitialSnapshot: (): State => ({ status: "active", output: undefined, error: undefined }),
    getPersistedSnapshot: (state: State): State => state,
    start: (_: State, { self }: { self: AnyActorRef }) => void started.push(self),
  };
}

/** The reference: XState's own actor, running, on a simulated clock. */
export function createLiveDriver({ machine, input, results }: CorpusCase): Driver {
  const started: AnyActorRef[] = [];
  const sent: string[] = [];
  const emitted: string[] = [];
  const clock = new SteppingClock();
  const names = Object.keys(machine.implementations.actors as object);
  const actors = Object.fromEntries(names.map((name) => [name, controllable(started, sent)]));
  const actor = createActor(machine.provide({ actors: actors as never }), { clock, input, logger: () => {} });
  actor.subscribe({ error: () => {} }); // Without an observer XState throws an unhandled error in a timeout.
  actor.on("*", (event) => emitted.push(JSON.stringify(event)));
  actor.start();
  const children = () => actor.getSnapshot().children as Record<string, AnyActorRef>;
  const isOpen = (id: string) =>
    actor.getSnapshot().status === "active" && children()[id]?.getSnapshot().status === "active";
  return {
    send(event) {
      const outside = pseudo(event);
      if (outside === undefined)
        return actor.getSnapshot().status === "active" ? actor.send(event) : undefined;
      const { kind, of } = outside;
      if (kind === "advance") return clock.advance(Number(of));
      const told =
        kind === "error"
          ? { type: "control.error", error: failure }
          : { type: "control.done", output: results?.[of] ?? null };
      // A stopped actor's promise may still settle; XState drops what it says.
      const before = started.filter((child) => child.id === of && child !== children()[of]);
      const earlier = before.findLast((child) => child.getSnapshot().status === "active") ?? before.at(-1);
      const target = kind === "late" ? earlier : isOpen(of) ? children()[of] : undefined;
      if (target?.getSnapshot().status === "active") target.send(told);
    },
    state() {
      const { value, context, tags, status, output, error } = actor.getSnapshot();
      const open = Object.keys(children()).filter(isOpen);
      return {
        value,
        context,
        tags: [...tags].sort(),
        status,
        output,
        error,
        open: open.sort(),
        sent,
        emitted,
      };
    },
  };
}

interface Pending {
  readonly id: string;
  readonly dueAt: number;
  readonly fire: () => void;
}

/** The door as a saga uses it: between any two events the snapshot is text, and only intents are kept beside it. */
export function createDoorDriver({ machine, input, results }: CorpusCase): Driver {
  const door: Machine = openMachine(machine);
  const sent: string[] = [];
  const emitted: string[] = [];
  const current = new Map<string, number>(); // The open intent of each actor id.
  const decided: { id: string; intent: number }[] = [];
  let pending: Pending[] = [];
  let now = 0;
  let stored = "";

  const keep = ({
    snapshot,
    actions,
  }: {
    snapshot: MachineSnapshot;
    actions: ReturnType<Machine["step"]>["actions"];
  }) => {
    stored = JSON.stringify(door.persist(snapshot));
    for (const action of actions) {
      if (action.type === "invoke") {
        decided.push({ id: action.id, intent: decided.length });
        current.set(action.id, decided.length - 1);
      } else if (action.type === "stop") current.delete(action.id);
      else if (action.type === "timer") {
        const { id, event } = action;
        pending.push({ id, dueAt: now + action.delayMs, fire: () => take(event) });
      } else if (action.type === "untimer") pending = pending.filter(({ id }) => id !== action.id);
      else if (action.type === "send") {
        // A delayed send goes to the actor that was meant, if it is still the one at the time.
        const meant = current.get(action.to);
        const fire = () => {
          if (meant !== undefined && current.get(action.to) === meant)
            sent.push(`${action.to} ${JSON.stringify(action.event)}`);
        };
        if (action.delayMs === undefined) fire();
        else pending.push({ id: action.id ?? "", dueAt: now + action.delayMs, fire });
      } else if (action.type === "live" && action.kind === "emit") emitted.push(JSON.stringify(action.value));
    }
    if (snapshot.status === "active") return;
    pending = [];
    current.clear();
  };
  const take = (event: MachineEvent) => keep(door.step(door.revive(JSON.parse(stored) as Json), event));
  const settle = (id: string, intent: number | undefined, kind: string) => {
    if (intent === undefined || current.get(id) !== intent) return;
    current.delete(id);
    take(kind === "error" ? errorEvent(id, failure) : doneEvent(id, results?.[id] ?? null));
  };

  keep(door.initial(input));
  return {
    send(event) {
      const outside = pseudo(event);
      if (outside === undefined) return take(event);
      const { kind, of } = outside;
      if (kind === "late")
        return settle(
          of,
          decided.findLast(({ id, intent }) => id === of && intent !== current.get(of))?.intent,
          "done",
        );
      if (kind !== "advance") return settle(of, current.get(of), kind);
      const end = now + Number(of);
      for (;;) {
        const due = Math.min(...pending.map(({ dueAt }) => dueAt));
        if (due > end) break;
        const next = pending.find(({ dueAt }) => dueAt === due);
        pending = pending.filter((timer) => timer !== next);
        now = due;
        next?.fire();
      }
      now = end;
    },
    state() {
      const { value, context, tags, status, output, error } = statusOf(
        door.revive(JSON.parse(stored) as Json),
      );
      return { value, context, tags, status, output, error, open: [...current.keys()].sort(), sent, emitted };
    },
  };
}

/** What a driver shows. What two receivers were sent has no order: nothing inside or outside sees one. */
function shownBy(driver: Driver): Json {
  const { sent, ...rest } = driver.state();
  const receiverOf = (one: string): string => one.slice(0, one.indexOf("{"));
  const byReceiver = sent.toSorted(
    (a, b) => Number(receiverOf(a) > receiverOf(b)) - Number(receiverOf(a) < receiverOf(b)),
  );
  return toJson({ ...rest, sent: byReceiver });
}

/** Runs the path through both and compares what they show before the first and after every event. */
export function compareWithLive(
  of: CorpusCase,
  createDriver: (of: CorpusCase) => Driver,
  path: readonly MachineEvent[],
): void {
  const live = createLiveDriver(of);
  const folded = createDriver(of);
  expect(shownBy(folded), "after its start").toEqual(shownBy(live));
  path.forEach((event, index) => {
    live.send(event);
    folded.send(event);
    const so = path.slice(0, index + 1).map(({ type }) => type);
    expect(shownBy(folded), `after ${so.join(", ")}`).toEqual(shownBy(live));
  });
}
