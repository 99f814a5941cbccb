/**
 * Goal: what a saga's runtime decides once its machine is left out follows from the ledger alone, and is what the fold with
 * the machine decides.
 * Method: every example and every told ledger, cut off after each of its turns; the saga is cancelled without its machine,
 * and then all that is open comes to one end after the other, by the state that was folded and by the one that was put
 * together. Steps are compared, not states.
 */
import { describe, expect, test } from "vitest";
import type { SagaState } from "../../../actors/contract/state.ts";
import { accept } from "../../../actors/kernel/accept.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { foldTurn } from "../../../actors/kernel/replay.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import type { Event } from "../../../protocol/event.ts";
import type { Result } from "../../../protocol/result.ts";
import { ledgerVersion, type Turn } from "../../../protocol/turn.ts";
import type { App } from "../../../services/app/app.ts";
import { bareStateOf, foldingToEnd, isBare } from "../../../services/ledger/bare-state.ts";
import { segmentsOf, servedBy } from "../../../services/views/segments.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const cancelled = (at: number): Event => ({
  type: "signal",
  name: "cancel",
  ...{
    data: { reason: "its machine kills" },
    id: "by-hand",
    from: "operator",
    sentAt: at,
    withoutMachine: true,
  },
});

/** How what is open may end: as each of these. */
const endings: readonly Result[] = [
  { outcome: "failed", code: "NOT_PERFORMED", reason: "it was not", retry: false },
  { outcome: "in_doubt", code: "POISON", reason: "who knows" },
  { outcome: "succeeded", output: {} },
];

/** What becomes of all that is open, as the saga's door takes it. */
const eventsOf = (definition: Definition, state: SagaState, result: Result): Event[] =>
  Object.values(state.open).flatMap(({ intent, attempt }) => {
    const isPublished = intent.kind === "signal" || intent.kind === "end";
    const said: Result = isPublished ? { outcome: "succeeded", output: null } : result;
    const event: Event = { type: "result", intent: intent.id, attempt, by: "w", result: said };
    const judged = accept(definition, state, event, state.updatedAt);
    return judged.type === "new" ? [judged.event] : [];
  });

/** Cuts taken and turns compared. */
const count = { cuts: 0, turns: 0, undone: 0 };

function compareAfter(
  definition: Definition,
  folded: SagaState,
  turns: readonly Turn[],
  result: Result,
): void {
  const { saga, updatedAt: at } = folded;
  let [withMachine, without] = [folded, atOnce(bareStateOf(definition, turns))];
  const written = [...turns];
  let events: readonly Event[] = [cancelled(at)];
  for (let round = 0; round < 6 && events.length > 0; round++) {
    const expected = decideTurn(definition, withMachine, { saga, at, events });
    const got = decideTurn(definition, without, { saga, at, events });
    expect(got.steps).toEqual(expected.steps);
    [withMachine, without] = [expected.state, got.state];
    written.push({ v: ledgerVersion, saga, turn: got.state.turn, at, host: "h", prev: "", steps: got.steps });
    count.undone += got.steps.flatMap(({ intents }) => intents).filter((one) => "undoes" in one).length;
    count.turns += 1;
    events = eventsOf(definition, without, result);
  }
  expect(without.phase.kind).toBe(withMachine.phase.kind);
  expect(isBare(written)).toBe(true);
  // Who loads it later folds it from its first turn, and without the machine.
  const pieces = foldingToEnd({ ...definition, machine: killing(definition) }, written);
  let piece = pieces.next();
  while (piece.done !== true) piece = pieces.next();
  const { state } = piece.value;
  expect(Object.keys(state.open)).toEqual(Object.keys(without.open));
  expect(state.effects).toEqual(without.effects);
}

/** A machine that may be asked nothing, but a workflow's for the graph it begins with: what is folded without it does not ask. */
const killing = ({ kind, machine }: Definition): Definition["machine"] =>
  new Proxy(machine, {
    get: (of, member) => {
      if (member === "initial" && kind.undoOf !== undefined) return of.initial;
      return () => {
        throw new Error(`the machine was asked for ${String(member)}`);
      };
    },
  });

function compareAtEveryTurn(app: App, turns: readonly Turn[]): void {
  const segments = segmentsOf(turns);
  if (segments.length > 1) return; // A moved saga is loaded under its present definition, which decides all of it.
  const definition = servedBy(app, { saga: turns[0]!.saga }, segments[0]);
  let state: SagaState | undefined;
  for (const [k, turn] of turns.entries()) {
    ({ state } = foldTurn(definition, state, turn));
    if (state.phase.kind === "ended") return;
    // One ending for each cut, by turns: there are hundreds.
    compareAfter(definition, state, turns.slice(0, k + 1), endings[k % endings.length]!);
    count.cuts += 1;
  }
}

describe("a cancellation without the machine decides what it would with it,", () => {
  test("of the told ledgers, after each turn", { timeout: 120_000 }, async () => {
    for (const [name, { app, turns }] of Object.entries(await toldLedgers()))
      try {
        compareAtEveryTurn(app, turns);
      } catch (error) {
        throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
      }
    expect(count.undone).toBeGreaterThan(20);
  });

  test.each(examples)("of the example $name, after each turn", { timeout: 120_000 }, async (example) => {
    for (const { app, turns } of await record(example, 1)) compareAtEveryTurn(app, turns);
  });
});
