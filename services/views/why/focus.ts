/**
 * Why, focus: which sentences of a saga's story are the story of one intent.
 *
 * In it: the decision that proposed the intent and what had come in before that; the approvals, refusals and changes on
 * its way; its attempts and results; what undid it, or what it undid; and what was decided from its result.
 *
 * KF1 What the intent rests on was there when it was decided, and what rests on it names it. So once it was found (`lookingFor`), the
 *     story is chosen from as it is told, and no turn is kept.
 */
import { type IntentId, turnOf } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Account, Change, StepPlace, ToldIntent } from "../../ledger/account.ts";
import { intentOfEvent, isDecision } from "../../ledger/account-decisions.ts";
import { stepsOf } from "../../ledger/account-reader.ts";
import { type IntentView, intentView } from "../view.ts";
import { begunRef, eventRef, intentRef, retryRef, type Told } from "./telling.ts";

/** The intent that a story is of, as its whole ledger tells of it. */
export interface Focused {
  readonly view: Omit<IntentView, "inLine">;
  /** When it ended; undefined while it is open. */
  readonly settledAt: number | undefined;
  readonly undoneBy: IntentId | undefined;
  readonly effect: ReturnType<Account["effects"]["get"]>;
  /** The last turn. */
  readonly last: Pick<Turn, "turn" | "at">;
  readonly grounds: Grounds;
}

/** What it rests on. */
interface Grounds {
  /** It and intents before it all of which is told. */
  readonly whole: readonly IntentId[];
  /** Of these when they began. */
  readonly since: number;
  /** The decision that proposed it. */
  readonly proposedBy: IntentId | undefined;
  /** What of steps is told, by its references. */
  readonly refs: readonly string[];
}

/** Looks for an intent as a ledger is read. */
export interface Looking {
  /** The account took this turn, and says what it changed. */
  took(account: Account, turn: Turn, changes: readonly Change[]): void;
  /** Of the turns taken; undefined: there is no such intent. */
  found(account: Account): Focused | undefined;
}

/** A task before the intent, as far as it may have led to it. */
interface Led {
  readonly by: IntentId | undefined;
  readonly after: IntentId | undefined;
  readonly call: string | undefined;
}

export function lookingFor(id: IntentId): Looking {
  const tasks = new Map<IntentId, Led>();
  let told: ToldIntent | undefined;
  let view: Focused["view"] | undefined;
  let grounds: Grounds | undefined;
  return {
    took: (account, turn, changes) => {
      if (told === undefined)
        for (const at of stepsOf(turn))
          for (const one of at.intents)
            if (one.kind === "task")
              tasks.set(one.id, { by: intentOfEvent(at.event), after: one.after?.task, call: one.call });
      const isNew = told === undefined;
      told ??= account.intents.get(id);
      if (told === undefined) return;
      if (isNew) grounds = groundsOf(account, told, tasks);
      // What is said of why it ended names what was decided in its place, and that is known now.
      if (isNew || changes.some((one) => "intent" in one && one.intent === told))
        view = intentView(account, told);
    },
    found: (account) => {
      if (told === undefined || view === undefined || grounds === undefined) return undefined;
      const { turns: turn, updatedAt: at, undone, effects } = account;
      return {
        ...{ view, grounds, settledAt: told.ended?.at, undoneBy: undone.get(id), effect: effects.get(id) },
        last: { turn, at },
      };
    },
  };
}

const callOf = (intent: Intent): string | undefined => ("call" in intent ? intent.call : undefined);
const undoneBy = (intent: Intent): IntentId | undefined => ("undoes" in intent ? intent.undoes : undefined);

function groundsOf(account: Account, told: ToldIntent, tasks: ReadonlyMap<IntentId, Led>): Grounds {
  const { intent, place, proposedBy } = told;
  const call = callOf(intent);
  const undone = undoneBy(intent);
  const whole = new Set([intent.id, ...(undone === undefined ? [] : [undone])]);
  // A machine's call has no name: it is followed by the votes that let it through.
  for (let by = intentOfEvent(place.event); by !== undefined;) {
    const task = tasks.get(by);
    const isOfCall = call !== undefined && task?.call === call;
    if (task === undefined || isOfCall || whole.has(by)) break;
    whole.add(by);
    if (task.after !== undefined) whole.add(task.after);
    by = task.by;
  }
  const since = [...whole].reduce((first, one) => Math.min(first, turnOf(one)), place.turn);
  return {
    whole: [...whole],
    since,
    proposedBy,
    refs: proposedBy === undefined ? causes(account, told) : [],
  };
}

/** What a decision was told of, or the step that another intent was decided on. */
function causes(account: Account, { intent, place }: ToldIntent): string[] {
  const news = account.news.get(intent.id);
  if (news !== undefined)
    return news.map(({ at, intent: of }) =>
      of !== undefined && at.intents.some(({ id, kind }) => id === of && kind === "denied")
        ? intentRef(of)
        : eventRef(at),
    );
  const source = intentOfEvent(place.event);
  const isByModel = source !== undefined && account.intents.get(source)?.intent.kind === "model";
  return [...(isByModel ? [intentRef(source)] : []), eventRef(place)];
}

/** Chooses from a story as it is told. */
export interface Choosing {
  /** Those sentences of a turn; the account took it. */
  of(turn: Turn, story: readonly Told[], account: Account): Told[];
}

export function choosing({ view, grounds, last }: Focused): Choosing {
  const { id } = view.intent;
  const call = callOf(view.intent);
  const end = view.settledTurn ?? last.turn;
  /** All that is recorded of these is told. */
  const whole = new Set(grounds.whole);
  /** Of these the intent and its events are, but they are not on its way. */
  const beside = new Set(grounds.proposedBy === undefined ? [] : [grounds.proposedBy]);
  const refs = new Set(grounds.refs);
  let { since } = grounds;
  let isHeard = false;

  function relate(at: StepPlace, account: Account): void {
    for (const intent of at.intents) {
      if (intent.kind === "retry") continue;
      const isOfCall = call !== undefined && callOf(intent) === call;
      const isAbout = undoneBy(intent) === id || (intent.kind === "task" && intent.of === id);
      if (isOfCall || isAbout) whole.add(intent.id);
      if (isOfCall || isAbout) since = Math.min(since, at.turn);
      // What was decided from its result: the decision that heard of it first, or what a machine did in the same step.
      if (
        isDecision(intent) &&
        !isHeard &&
        account.news.get(intent.id)?.some((one) => one.intent === id) === true
      ) {
        isHeard = true;
        beside.add(intent.id);
      }
      const isNext = at.event.type === "result" && at.event.intent === id;
      const isProposed = isDecision(view.intent) && account.intents.get(intent.id)?.proposedBy === id;
      if (isNext || isProposed) refs.add(intentRef(intent.id));
    }
  }

  function refer(at: StepPlace): void {
    const isMeant = (one: IntentId | undefined) => one !== undefined && (whole.has(one) || beside.has(one));
    if (isMeant(intentOfEvent(at.event))) refs.add(eventRef(at));
    for (const intent of at.intents)
      if (isMeant(intent.id))
        refs.add(intent.kind === "retry" ? retryRef(intent.id, intent.attempt) : intentRef(intent.id));
    for (const { intent } of at.begun ?? []) if (isMeant(intent)) refs.add(begunRef(intent));
  }

  return {
    of: (turn, story, account) => {
      for (const at of stepsOf(turn)) {
        relate(at, account);
        refer(at);
      }
      return story.filter(
        ({ tells, about, turn: of }) =>
          tells.some((ref) => refs.has(ref)) || (about === "host" && of > since && of <= end),
      );
    },
  };
}
