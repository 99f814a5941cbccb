/**
 * Account reader: a ledger's turns to their account, one after another.
 */
import { nothingSpent } from "../../actors/kernel/spending.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Turn } from "../../protocol/turn.ts";
import { atOnce } from "../wire/loop.ts";
import type { Account, AccountReader, Change, Reading, StepPlace } from "./account.ts";
import { askAnew, takeNews } from "./account-decisions.ts";
import { takeBegun, takeClosing, takeDeferred, takeForked, takeIntent, takeSaid } from "./account-intents.ts";
import { countAnew, takeSpending } from "./account-spending.ts";
import { createForgetting } from "./account-forgetting.ts";
import { takeSteering } from "./account-steering.ts";

/** An account of nothing yet. `remembers`: so many of the intents that are over (AO4 of account.ts); all unless given. */
export function createAccountReader(remembers = Number.POSITIVE_INFINITY): AccountReader {
  let reading: Reading | undefined;
  const forgetting = remembers < Number.POSITIVE_INFINITY ? createForgetting(remembers) : undefined;
  return {
    take(turn) {
      reading ??= begin(turn);
      if (turn.turn !== reading.turns + 1)
        throw new MeshError(
          "LEDGER_BROKEN",
          `the ledger of ${reading.saga} has turn ${turn.turn} where ${reading.turns + 1} belongs`,
        );
      const changes = takeTurn(reading, turn);
      forgetting?.after(reading, turn);
      return changes;
    },
    get account() {
      if (reading === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger begins with a start");
      return reading;
    },
  };
}

/** The account of a whole ledger, or of its first turns. Throws LEDGER_BROKEN unless it begins with a start. */
export const accountOf = (turns: readonly Turn[]): Account => atOnce(accounting(turns));

/** The same in pieces, a turn each. */
export function* accounting(turns: readonly Turn[]): Generator<undefined, Account> {
  const reader = createAccountReader();
  for (const turn of turns) {
    reader.take(turn);
    yield;
  }
  return reader.account;
}

function begin({ saga, at, steps }: Turn): Reading {
  const start = steps[0]?.event;
  if (start?.type !== "start") throw new MeshError("LEDGER_BROKEN", "a ledger begins with a start");
  return {
    ...{ saga, start, definition: start.definition, moves: [], turns: 0, startedAt: at, updatedAt: at },
    fork: start.fork && { saga: start.fork.saga, turn: start.fork.turn },
    ...{ hosts: new Set(), intents: new Map(), forgotten: 0, open: new Map(), end: undefined },
    ...{ effects: new Map(), undone: new Map(), undoing: new Map(), doubts: new Set() },
    ...{ numbers: new Map(), news: new Map(), superseded: new Map(), decisions: [], answered: new Set() },
    ...{ fresh: [], withdrawn: undefined, inputs: new Map() },
    ...{ spent: nothingSpent, below: undefined, reserved: new Map(), paid: new Set(), raises: [] },
    retriedIn: new Map(),
    exceeded: undefined,
    ...{ paused: undefined, flags: [], changes: [] },
  };
}

function takeTurn(reading: Reading, turn: Turn): readonly Change[] {
  const { spent, below } = reading;
  reading.changes = [];
  reading.turns = turn.turn;
  reading.updatedAt = turn.at;
  reading.hosts.add(turn.host);
  for (const place of stepsOf(turn)) takeStep(reading, place);
  if (reading.spent !== spent || reading.below !== below)
    reading.changes.push({ type: "spent", spent: reading.spent, below: reading.below });
  return reading.changes;
}

/** A turn's steps with their places. */
export const stepsOf = ({ turn, at, host, steps }: Turn): StepPlace[] =>
  steps.map((step, k) => ({ turn, step: k, at, host, ...step }));

/** What came in, then what it ended, then what was decided: as the fold has it. */
function takeStep(reading: Reading, at: StepPlace): void {
  const { event, intents, closed, begun = [] } = at;
  takeNews(reading, at);
  if (event.type === "deferred") takeDeferred(reading, event, at);
  if (event.type === "forked") takeForked(reading, event);
  if (event.type === "migrated") {
    reading.definition = event.to;
    reading.moves.push({ turn: at.turn, at: at.at, event });
  }
  if (event.type === "forked" || event.type === "migrated") askAnew(reading, at);
  takeSaid(reading, at);
  takeSteering(reading, at);
  takeSpending(reading, at);
  const early = new Set(intents.map(({ id }) => id));
  for (const closing of closed) if (!early.has(closing.intent)) takeClosing(reading, closing, at);
  for (const intent of intents) takeIntent(reading, intent, at);
  for (const one of begun) takeBegun(reading, one);
  // What was opened and closed again within the step.
  for (const closing of closed) if (early.has(closing.intent)) takeClosing(reading, closing, at);
  if (event.type === "adopted" && event.anew === true) countAnew(reading, at);
}
