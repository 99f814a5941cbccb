/**
 * Inspection: a ledger told in the messages of the Stately inspector (`@statelyai/inspect`), turn by turn, as the live actor
 * that the saga is would have told them itself.
 *
 * The machine is watched while today's code folds the turns, so that what is told is what was decided, event by event; nothing
 * is performed. What an actor of the machine did is told by what the machine heard of it.
 *
 * IJ1 Session ids follow from the ledger: told again, or from a later turn on, the same actor has the same id.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import { lastMigration } from "../../actors/kernel/migrated.ts";
import { foldTurn } from "../../actors/kernel/replay.ts";
import type { MachineEvent } from "../../actors/machine/actions.ts";
import {
  type Machine,
  type MachineStatus,
  type MachineStep,
  statusOf,
} from "../../actors/machine/machine.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { servedDefinition } from "./folded.ts";

/** The version of `@statelyai/inspect` whose messages these are. */
const inspectVersion = "0.7.2";

interface Common {
  /** Whom it is about. */
  readonly sessionId: string;
  readonly rootId: string;
  /** Milliseconds since 1970 as a text: when the turn was decided. */
  readonly createdAt: string;
  readonly id: null;
  readonly _version: string;
}
interface Inspected {
  readonly status: MachineStatus["status"] | "stopped";
  readonly [member: string]: unknown;
}
type Said =
  | {
      readonly type: "@xstate.actor";
      readonly name: string;
      readonly parentId: string | undefined;
      /** What its author wrote, as JSON in a text. */
      readonly definition: string;
      readonly snapshot: Inspected;
    }
  | { readonly type: "@xstate.event"; readonly event: MachineEvent; readonly sourceId: string | undefined }
  | { readonly type: "@xstate.snapshot"; readonly event: MachineEvent; readonly snapshot: Inspected };

/** One message, as JSON. */
export type InspectionMessage = Common & Said;

/** A ledger that is being told. */
export interface Inspection {
  /** What a turn says. Throws FOLD_DIVERGED, LEDGER_BROKEN. */
  take(turn: Turn): InspectionMessage[];
  /** The saga as it is after the turns taken, for a listener who heard of none of them. */
  present(): InspectionMessage[];
}

/** Tells turns, from the first on, under one definition. `moved`: the turn of the ledger's last move to another one. */
export function inspecting(definition: Definition, session: string, moved = 0): Inspection {
  const growing: Growing = new WeakSet();
  const speaker = speakerOf(session);
  const watched = watch(definition, session, speaker);
  let state: SagaState | undefined;
  return {
    take: (turn) => {
      speaker.begin(turn.at);
      const comparison = turn.turn < moved ? "but for requests" : "strict";
      ({ state } = foldTurn(watched.definition, state, turn, comparison, growing));
      for (const end of endsOf(turn)) watched.end(end);
      return speaker.said();
    },
    present: () => {
      speaker.begin(state?.updatedAt ?? 0);
      watched.present();
      return speaker.said();
    },
  };
}

/** Gathers what is said at one time. */
function speakerOf(rootId: string) {
  let messages: InspectionMessage[] = [];
  let createdAt = "";
  const tell = (sessionId: string, one: Said) =>
    void messages.push({ ...one, sessionId, rootId, createdAt, id: null, _version: inspectVersion });
  return {
    begin: (at: number) => {
      messages = [];
      createdAt = String(at);
    },
    said: () => messages,
    actor: (id: string, { name, parentId, drawn, snapshot }: Drawn) =>
      tell(id, { type: "@xstate.actor", name, parentId, definition: JSON.stringify(drawn), snapshot }),
    snapshot: (id: string, event: MachineEvent, snapshot: Inspected) =>
      tell(id, { type: "@xstate.snapshot", event, snapshot }),
    event: (id: string, event: MachineEvent, sourceId?: string) =>
      tell(id, { type: "@xstate.event", event, sourceId }),
  };
}

/** An actor, with what its author wrote of it. */
interface Drawn {
  readonly name: string;
  readonly parentId?: string;
  readonly drawn: Json;
  readonly snapshot: Inspected;
}

/** The definition with a machine that tells of each of its steps; how the saga is, and that it ended, is told by hand. */
function watch(definition: Definition, session: string, tell: ReturnType<typeof speakerOf>) {
  const { machine, name } = definition;
  const actors = actorsOf(session);
  let present: Inspected = { status: "active" };
  const tellSelf = () =>
    tell.actor(session, { name: `${name} ${session}`, drawn: machine.config(), snapshot: present });

  /** The machine hears of an actor: that is the actor's own end. */
  const tellHeard = (event: MachineEvent): string | undefined => {
    const actor = actors.end(event);
    if (actor === undefined) return undefined;
    const { output, error } = event;
    tell.snapshot(actor, event, "error" in event ? { status: "error", error } : { status: "done", output });
    return actor;
  };
  const tellStep = (event: MachineEvent, { snapshot, actions }: MachineStep): void => {
    for (const action of actions) {
      if (action.type !== "invoke") continue;
      const { id, src, input } = action;
      const actor = actors.begin(id);
      const init = { type: "xstate.init", input };
      const inner: Inspected = { status: "active", input };
      tell.actor(actor, { name: id, parentId: session, drawn: { id: src }, snapshot: inner });
      tell.event(actor, init, session);
      tell.snapshot(actor, init, inner);
    }
    present = inspected(statusOf(snapshot), Object.keys(snapshot.children as object));
    tell.snapshot(session, event, present);
  };
  const initial: Machine["initial"] = (input, follows) => {
    const init = { type: "xstate.init", input };
    tellSelf();
    tell.event(session, init);
    const step = machine.initial(input, follows);
    tellStep(init, step);
    return step;
  };
  const stepped: Machine["step"] = (snapshot, event, follows) => {
    tell.event(
      session,
      event,
      tellHeard(event) ?? (event.type.startsWith("xstate.after.") ? session : undefined),
    );
    const step = machine.step(snapshot, event, follows);
    tellStep(event, step);
    return step;
  };
  return {
    definition: { ...definition, machine: { ...machine, initial, step: stepped } },
    present: tellSelf,
    /** Nothing where its machine has ended: that was told. */
    end: (end: IntentOf<"end">) => {
      if (present.status !== "active") return;
      present = { ...present, ...endedAs(end) };
      tell.snapshot(session, { type: `sagamesh.${end.status}`, code: end.code, reason: end.reason }, present);
    },
  };
}

const endsOf = ({ steps }: Turn): IntentOf<"end">[] =>
  steps.flatMap(({ intents }) => intents).filter((one) => one.kind === "end");

/** A saga may end before its machine does: cancelled, or failed by what no state takes. */
const endedAs = ({ status, code, reason }: IntentOf<"end">): Inspected =>
  status === "failed" ? { status: "error", error: { code, message: reason } } : { status: "stopped" };

/** As XState's own snapshots are in JSON. */
const inspected = (status: MachineStatus, children: readonly string[]): Inspected => ({
  ...status,
  children: Object.fromEntries(children.map((id) => [id, { xstate$$type: 1, id }])),
  historyValue: {},
});

/** The actors of a machine by their sessions. An id that is used again is another actor (IJ1). */
function actorsOf(session: string) {
  const begun = new Map<string, number>();
  const sessionOf = (id: string) => {
    const times = begun.get(id) ?? 0;
    return `${session}/${id}${times > 1 ? `#${times}` : ""}`;
  };
  return {
    begin: (id: string): string => {
      begun.set(id, (begun.get(id) ?? 0) + 1);
      return sessionOf(id);
    },
    /** Whose end the event tells; undefined if it tells of none. */
    end: ({ type, actorId, call }: MachineEvent): string | undefined => {
      const isEnd = /^xstate\.(done|error)\.actor\./.test(type) || type === "sagamesh.result";
      const id = actorId ?? call;
      return isEnd && typeof id === "string" && begun.has(id) ? sessionOf(id) : undefined;
    },
  };
}

/** Tells turns that are all there, from the first on, in pieces of a turn each. */
export function* inspectingTurns(
  definition: Definition,
  turns: readonly Turn[],
  session: string,
): Generator<InspectionMessage[], undefined> {
  const inspection = inspecting(definition, session, lastMigration(turns)?.turn);
  for (const turn of turns) yield inspection.take(turn);
  return undefined;
}

/** A saga's ledger that is being told as it grows, whatever definition it moves to. */
export interface LedgerInspection {
  /** What the ledger holds so far, in pieces of a turn each. Once, before `take`. Throws as `servedDefinition` and `Inspection.take`. */
  begin(turns: readonly Turn[]): Iterable<InspectionMessage[]>;
  /** The next turn; one that is known says nothing. After a move to another definition the saga is told as it is under that. */
  take(turn: Turn): Iterable<InspectionMessage[]>;
}

/** Opens the telling of one saga by an application's definitions. */
export function inspectingLedger(app: App, session: string): LedgerInspection {
  let known: Turn[] = [];
  let inspection: Inspection | undefined;
  const anew = (): Inspection =>
    inspecting(servedDefinition(app, known), session, lastMigration(known)?.turn ?? 0);
  return {
    *begin(turns) {
      if (turns.length === 0) return;
      known = [...turns];
      const begun = (inspection = anew());
      for (const turn of turns) yield begun.take(turn);
    },
    *take(turn) {
      if (turn.turn <= known.length) return;
      known.push(turn);
      const isMove = turn.steps.some(({ event }) => event.type === "migrated");
      if (inspection !== undefined && !isMove) yield inspection.take(turn);
      else if (known.length === 1) yield (inspection = anew()).take(turn);
      else {
        const begun = (inspection = anew());
        for (const one of known) {
          begun.take(one);
          yield [];
        }
        yield begun.present();
      }
    },
  };
}
