/**
 * The third way to run a machine of the corpus: as a whole saga. Signals, results and timers are events of turns,
 * and between any two turns the state is text. What an actor is does not matter to the machine, so every actor is a
 * tool or a child saga that takes and gives anything; the envelope's own additions to events are taken off again.
 *
 * With `keeps` no turn goes through text: the state is the one that was decided, as in a host that has the saga, and what it
 * shows is its whole ledger folded anew.
 */
import { createMachine } from "xstate";
import { z } from "zod";
import { callableOf, toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { accept } from "../../actors/kernel/accept.ts";
import { statusOf } from "../../actors/machine/machine.ts";
import type { MachineEvent } from "../../actors/machine/actions.ts";
import { byAge } from "../../actors/kernel/open-index.ts";
import { foldLedger, foldTurn, stateFromJson, stateToJson } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import type { Event } from "../../protocol/event.ts";
import { type IntentId, parseSagaId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { ledgerVersion, toStored, Turn } from "../../protocol/turn.ts";
import { type CorpusCase, type Driver, failure } from "./machine-driver.ts";

const saga = parseSagaId("corpus");

export function createFoldDriver(of: CorpusCase, { keeps = false } = {}): Driver {
  const definition = definitionOf(of);
  const sent: string[] = [];
  const emitted: string[] = [];
  const actorOf = new Map<string, string>(); // Of each child saga, and of each intent an actor ever waited for.
  const entries = new Map<string, IntentId[]>();
  let now = 0;
  let stored: Json = null;
  let kept: SagaState | undefined;
  let signals = 0;
  const ledger: Turn[] = [];

  const state = (): SagaState => kept ?? stateFromJson(definition, JSON.parse(JSON.stringify(stored)));
  const note = (after: SagaState, intents: readonly Intent[]) => {
    const inOrder = Object.entries(after.actors).sort(([, a], [, b]) => byAge(a, b));
    for (const [name, id] of inOrder) {
      const actor = after.displaced?.[name] ?? name;
      const known = entries.get(actor) ?? [];
      if (!known.includes(id)) entries.set(actor, [...known, id]);
    }
    for (const intent of intents) {
      if (intent.kind === "saga")
        actorOf.set(intent.saga, nameOf(after, intent.id) ?? actorOf.get(intent.saga) ?? "");
      if (intent.kind !== "signal") continue;
      const { name, data } = intent;
      if (name !== "cancel")
        sent.push(`${actorOf.get(intent.saga) ?? ""} ${JSON.stringify({ type: name, ...(data as object) })}`);
    }
  };
  const take = (event: Event): void => {
    const before = ledger.length === 0 ? undefined : state();
    const judged =
      before === undefined ? { type: "new" as const, event } : accept(definition, before, event, now);
    if (judged.type !== "new") return;
    const decided = decideTurn(definition, before, { saga, at: now, events: [judged.event] });
    const recorded = toStored({
      v: ledgerVersion,
      saga,
      turn: decided.state.turn,
      at: now,
      host: "h",
      prev: "",
      steps: decided.steps,
    });
    const turn = Turn.parse(toJson(recorded));
    if (!keeps) foldTurn(definition, ledger.length === 0 ? undefined : state(), turn);
    ledger.push(turn);
    if (keeps) kept = decided.state;
    else stored = stateToJson(definition, decided.state);
    for (const { kind, value } of decided.shown) if (kind === "emit") emitted.push(JSON.stringify(value));
    const intents = decided.steps.flatMap((step) => step.intents);
    note(decided.state, intents);
    for (const { kind, id } of intents)
      if (kind === "signal") take(resultOf(id, { outcome: "succeeded", output: null }));
  };
  const settle = (id: IntentId | undefined, kind: string, actor: string): void => {
    if (id === undefined) return;
    const output = of.results?.[actor] ?? null;
    take(
      resultOf(
        id,
        kind === "error" ? { outcome: "failed", ...failure, retry: false } : { outcome: "succeeded", output },
      ),
    );
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const timers = Object.values(state().open).flatMap(({ intent }) =>
        intent.kind === "timer" ? [intent] : [],
      );
      const [next] = timers.sort((a, b) => a.dueAt - b.dueAt);
      if (next === undefined || next.dueAt > end) break;
      now = next.dueAt;
      take({ type: "timer", intent: next.id });
    }
    now = end;
  };
  const current = (actor: string): IntentId | undefined =>
    Object.hasOwn(state().actors, actor) ? state().actors[actor] : undefined;

  const { name, version, hash } = definition;
  take({ type: "start", definition: { name, version, hash }, input: of.input ?? null, follows: "xstate" });
  return {
    send(event) {
      const pseudo = /^(done|error|late|advance):(.+)$/.exec(event.type);
      const [, kind = "", actor = ""] = pseudo ?? [];
      if (kind === "advance") return advance(Number(actor));
      if (kind === "late") {
        const before = entries.get(actor)?.filter((id) => id !== current(actor)) ?? [];
        const waiting = Object.values(state().actors);
        return settle(before.findLast((id) => waiting.includes(id)) ?? before.at(-1), "done", actor);
      }
      if (kind !== "") return settle(current(actor), kind, actor);
      const { type, ...data } = event;
      return take({
        type: "signal",
        name: type,
        data: toJson(data),
        id: `${signals++}`,
        from: "corpus",
        sentAt: now,
      });
    },
    state() {
      const folded = keeps ? foldLedger(definition, ledger).state : state();
      const { value, context, tags, status, output, error } = statusOf(folded.snapshot);
      const names = Object.keys(folded.actors).filter((name) => folded.displaced?.[name] === undefined);
      const open = folded.phase.kind === "running" ? names.sort() : [];
      return { value, context, tags, status, output, error, open, sent, emitted };
    },
  };
}

/** The machine's own id of the actor that waits for an intent. */
function nameOf({ open, displaced }: SagaState, intent: IntentId): string | undefined {
  const name = open[intent]?.actor;
  return name === undefined ? undefined : (displaced?.[name] ?? name);
}

const resultOf = (intent: IntentId, result: Extract<Event, { type: "result" }>["result"]): Event => ({
  type: "result",
  intent,
  attempt: 1,
  by: "corpus",
  result,
});

/** The machine as a saga. */
function definitionOf({ machine, events }: CorpusCase): Definition {
  const logics = Object.entries(machine.implementations.actors as Record<string, unknown>);
  const actors = toActors(
    Object.fromEntries(
      logics.map(([src, logic]) => [src, callableOf(logic)?.kind === "saga" ? childOf(src) : toolOf(src)]),
    ),
  );
  const own = events.filter(({ type }) => !/^(done|error|late|advance):/.test(type));
  const { definition } = defineSaga({
    name: "corpus",
    version: 1,
    input: z.any(),
    output: z.any(),
    signals: Object.fromEntries(own.map(({ type }) => [type, z.any()])),
    machine: machine.provide({ actors: actors as never }),
  });
  const { machine: opened } = definition;
  return {
    ...definition,
    machine: {
      ...opened,
      step: (snapshot, event, follows) => opened.step(snapshot, bare(event, definition.signals), follows),
    },
  };
}

const toolOf = (src: string) =>
  defineTool({
    name: `tool_${src}`,
    description: "Anything.",
    effect: "idempotent",
    input: z.any(),
    output: z.any(),
    retry: { attemptsMax: 1, backoffMs: 0 },
  });

const childOf = (src: string) =>
  defineSaga({
    name: `saga_${src}`,
    version: 1,
    input: z.any(),
    output: z.any(),
    signals: {},
    machine: createMachine({}),
  });

/** The event as XState itself would make it. */
function bare(event: MachineEvent, signals: Definition["signals"]): MachineEvent {
  const { at: _at, from: _from, ...rest } = event;
  if (Object.hasOwn(signals, event.type)) return { type: event.type, ...(rest["data"] as object) };
  if ("error" in rest) return { ...rest, error: failure };
  return rest;
}
