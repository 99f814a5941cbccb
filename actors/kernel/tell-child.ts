/**
 * Tell child: what a machine sends to a child of its own is a signal to that child's saga.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { MachineAction, MachineEvent } from "../machine/actions.ts";
import { isInLine, isOpen } from "../contract/state.ts";
import { loosen } from "./actor-ids.ts";
import { changeOpen, type Folding, isAwaited, newId, openIntent } from "./folding.ts";
import { toldUnder } from "./keys.ts";

/** The intent that an actor of the machine waits for. */
export const currentOf = (f: Folding, actor: string): IntentId | undefined =>
  Object.hasOwn(f.state.actors, actor) ? f.state.actors[actor] : undefined;

/** A delayed send is a timer whose firing sends, to the child that is meant now. */
export function sendLater(f: Folding, action: Extract<MachineAction, { type: "send" }>): void {
  const child = currentOf(f, action.to);
  if (child === undefined) return nobodyTook(f, action.to, action.event);
  loosen(f, action.id);
  openIntent(f, {
    intent: { kind: "timer", id: newId(f), dueAt: f.at + (action.delayMs ?? 0) },
    input: null,
    attempt: 1,
    event: action.event,
    sendTo: child,
    ...(action.id === undefined ? {} : { timer: action.id }),
  });
}

/** Sends at once; what no running child takes is shown in the log and no more. */
export function send(f: Folding, to: string, event: MachineEvent): void {
  const id = currentOf(f, to);
  if (id === undefined) return nobodyTook(f, to, event);
  sendToChild(f, id, event);
}

const nobodyTook = (f: Folding, to: string, event: MachineEvent): void =>
  void f.shown.push({ kind: "log", value: `nothing took ${event.type}: ${to} is no running child` });

/** Sends an event to a child, as long as it is the one its actor waits for: a signal to its saga, once that begins. */
export function sendToChild(f: Folding, id: IntentId, event: MachineEvent): void {
  const open = f.state.open[id];
  if (!isOpen(open, "saga") || !isAwaited(f, id, open.actor)) return nobodyTook(f, id, event);
  const [name, data] = [event.type, dataOf(event)];
  if (isInLine(open)) changeOpen(f, open, { toSend: [...(open.toSend ?? []), { name, data }] });
  else tellChild(f, open.intent.saga, name, data);
}

/** A signal to the child's saga. */
export function tellChild(f: Folding, saga: SagaId, name: string, data: Json): void {
  const told = { saga, name, data };
  openIntent(f, {
    intent: { kind: "signal", id: newId(f), ...toldUnder(f, told, "counted"), ...told },
    input: null,
    attempt: 1,
  });
}

/** What the other saga is sent: the event's data, else what it holds besides its type, else nothing. */
function dataOf({ type: _type, ...rest }: MachineEvent): Json {
  if ("data" in rest) return toJson(rest["data"]);
  return Object.keys(rest).length === 0 ? null : toJson(rest);
}
