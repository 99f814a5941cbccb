/**
 * Free run: the saga goes on from the other model's own decisions, and nothing outside is touched but the model.
 *
 * FU1 As long as what is decided is what was recorded, the recorded turns happen as they did: the same events in the
 *     same groups at the same times, each reply in the recorded one's place. So intent ids, keys and requests stay
 *     equal, and the same model with the same script gives the recorded ledger's intents, every one.
 * FU2 From the first turn that decides otherwise the run has a time of its own: answers come after the time they
 *     took, recorded signals when they came, timers when they are due, one event a turn. A model takes as long as the
 *     recorded decision of the same number, else the median: its real time would make each run another.
 * FU3 Nothing is performed: tools, children and people are answered (answers.ts).
 * FU4 A run ends: with its saga, at a miss, when a model fails, at the bound, or when nothing more will come.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { Intent } from "../../protocol/intent.ts";
import { canonicalJson, toJson } from "../../protocol/json.ts";
import type { ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Result } from "../../protocol/result.ts";
import type { Step, Turn } from "../../protocol/turn.ts";
import { type Agenda, createAgenda } from "./agenda.ts";
import type { Answer, Answers } from "./answers.ts";
import type { ModelTurn } from "./deciding.ts";
import { accepted, hasEnded, openEntriesIn, openIn, type Run, takeTurn } from "./run.ts";
import { isInLine, notBeforeOf } from "../../actors/contract/state.ts";
import { processLoop } from "../wire/loop.ts";

export interface FreeRunDeps {
  /** What answers the calls of a run that leaves the record at a turn. */
  readonly answersFrom: (turn: number) => Promise<Answers>;
  /** Asks the model what an open call asks; undefined if it gives no answer, with why. */
  readonly ask: (id: IntentId, followsRecord: boolean) => Promise<ModelTurn>;
  /** How long the n-th answer of a model takes, from 0. */
  readonly modelMs: (n: number) => number;
  readonly signal: AbortSignal;
  readonly turnsMax: number;
  readonly decisionsMax: number;
  /** Leaves the record after this turn even where nothing differs: what follows must come to the same. */
  readonly leaveAfter?: number | undefined;
}

export interface FreeRun {
  readonly leftRecordAt?: number;
  readonly stopped?: NonNullable<ReplayDocument["stopped"]>;
}

type Stop = NonNullable<FreeRun["stopped"]>;

/** Lets the run happen beside the recorded turns. Throws the signal's reason, what reading these throws, and what the fold throws. */
export async function runFreely(
  run: Run,
  turns: AsyncGenerator<Turn, void>,
  deps: FreeRunDeps,
): Promise<FreeRun> {
  for (let next = await turns.next(); next.done !== true; next = await turns.next()) {
    const turn = next.value;
    deps.signal.throwIfAborted();
    const events = await asRecorded(run, turn, deps);
    if ("because" in events) return { stopped: events };
    const steps = takeTurn(run, turn.at, events, turn.host);
    if (isAsRecorded(steps, turn.steps) && turn.turn !== deps.leaveAfter) continue;
    const answers = await deps.answersFrom(turn.turn);
    const stopped = await goOn(run, turns, { ...deps, answers, left: turn, steps });
    return { leftRecordAt: turn.turn, ...(stopped === undefined ? {} : { stopped }) };
  }
  return {};
}

/** FU1. The turn's events with each reply that counts asked anew. */
async function asRecorded(run: Run, { steps }: Turn, { ask }: FreeRunDeps): Promise<Event[] | Stop> {
  const events: Event[] = [];
  for (const { event } of steps) {
    const open = event.type === "result" ? openIn(run, event.intent) : undefined;
    if (event.type !== "result" || open?.intent.kind !== "model" || event.result.outcome !== "succeeded") {
      events.push(event);
      continue;
    }
    const turn = await ask(event.intent, true);
    if ("failed" in turn) return { because: "model", why: turn.failed };
    events.push({ ...event, result: { outcome: "succeeded", output: toJson(turn.reply) } });
  }
  return events;
}

/** Whether the same intents were decided. What a request's digest is over, wording above all, is no decision. */
const isAsRecorded = (got: readonly Step[], recorded: readonly Step[]): boolean =>
  got.length === recorded.length &&
  got.every(
    (step, k) => canonicalJson(step.intents.map(bare)) === canonicalJson(recorded[k]?.intents.map(bare)),
  );

const bare = (intent: Intent): object => {
  if (intent.kind !== "model") return intent;
  const { request: _request, outputTokensMax: _bound, budget: _reserved, ...rest } = intent;
  return rest;
};

/** What is on the agenda: an event, which may have become pointless; or that a model is done. */
type Coming = { readonly event: Event } | { readonly model: IntentId };

interface Going extends FreeRunDeps {
  readonly answers: Answers;
  /** The turn with which the run left the record, and what it decided. */
  readonly left: Turn;
  readonly steps: readonly Step[];
}

/** FU2. `later`: the recorded turns behind the one with which it left. */
async function goOn(run: Run, later: AsyncIterable<Turn>, deps: Going): Promise<Stop | undefined> {
  const { left, signal } = deps;
  const agenda = createAgenda<Coming>();
  let now = left.at;
  let decisions = run.replies;
  for await (const turn of later)
    for (const { event } of turn.steps) if (event.type === "signal") agenda.note(turn.at, { event });
  const plan = (ids: readonly IntentId[]): Stop | undefined => {
    for (const id of ids) {
      const stop = planFor(run, id, { ...deps, agenda, now, decisions });
      if (stop !== undefined) return stop;
    }
    return undefined;
  };
  let stop = plan(openEntriesIn(run).map(([id]) => id));
  while (stop === undefined && !hasEnded(run)) {
    await processLoop.breathe();
    signal.throwIfAborted();
    const turns = run.state?.turn ?? 0;
    if (turns >= deps.turnsMax || decisions >= deps.decisionsMax)
      return { because: "bound", why: `${turns} turns and ${decisions} decisions without an end` };
    const due = agenda.next();
    if (due === undefined) return { because: "waits", why: waitsFor(run) };
    now = Math.max(now, due.at);
    const event = await eventOf(run, due.what, deps);
    if (event !== undefined && "because" in event) return event;
    const taken = event && accepted(run, event, now);
    if (taken === undefined) continue;
    if ("model" in due.what) decisions++;
    const steps = takeTurn(run, now, [taken], "replay");
    stop = plan(openedIn(run, steps));
  }
  return stop;
}

/** What the steps opened, or opened again, and the children that left the line. */
const openedIn = (run: Run, steps: readonly Step[]): IntentId[] => [
  ...new Set(
    steps
      .flatMap(({ intents, begun = [] }) => [
        ...intents.map(({ id }) => id),
        ...begun.map(({ intent }) => intent),
      ])
      .filter((id) => openIn(run, id)),
  ),
];

async function eventOf(run: Run, coming: Coming, { ask }: FreeRunDeps): Promise<Event | Stop | undefined> {
  if (!("model" in coming)) return coming.event;
  const open = openIn(run, coming.model);
  if (open === undefined) return undefined; // Superseded: it is never asked and costs nothing.
  const turn = await ask(coming.model, false);
  if ("failed" in turn) return { because: "model", why: turn.failed };
  return resultOf(coming.model, open.attempt, { outcome: "succeeded", output: toJson(turn.reply) });
}

/** Notes what will become of an open intent. */
function planFor(
  run: Run,
  id: IntentId,
  {
    answers,
    agenda,
    now,
    decisions,
    modelMs,
  }: Going & { agenda: Agenda<Coming>; now: number; decisions: number },
): Stop | undefined {
  const open = openIn(run, id);
  if (open === undefined || isInLine(open)) return undefined; // Planned once it begins.
  const { intent, attempt } = open;
  const notBefore = notBeforeOf(open) ?? 0;
  const began = run.openedAt.get(id) ?? now;
  const at = (ms: number) => Math.max(now, notBefore, attempt === 1 ? began + ms : 0);
  switch (intent.kind) {
    case "model":
      agenda.note(Math.max(at(modelMs(decisions)), notBefore), { model: id });
      return undefined;
    case "timer":
      agenda.note(intent.dueAt, { event: { type: "timer", intent: id } });
      return undefined;
    case "signal": {
      agenda.note(now, { event: resultOf(id, attempt, { outcome: "succeeded", output: null }) });
      if (intent.name === "cancel") cancelChild(run, intent.saga, agenda, now);
      return undefined;
    }
    case "end":
      return undefined;
    case "tool":
    case "saga":
    case "task": {
      const answer = answers.answer(run, id, open);
      if ("miss" in answer) return { because: "miss", why: answer.miss };
      if (intent.kind === "task") noteVotes(id, answer, { agenda, began, now });
      if (intent.kind === "task") agenda.note(intent.dueAt, { event: { type: "timer", intent: id } });
      else noteResult(id, attempt, answer, { agenda, began: attempt === 1 ? began : now, now: at(0) });
      const { corrected } = answer.call ?? {};
      if (corrected !== undefined)
        agenda.note(Math.max(now, began + corrected.afterMs), {
          event: resultOf(id, attempt, corrected.result),
        });
      return undefined;
    }
  }
}

/** Votes of before this run left the record were taken there. */
function noteVotes(
  id: IntentId,
  { votes = [] }: Answer,
  { agenda, began, now }: { agenda: Agenda<Coming>; began: number; now: number },
): void {
  for (const [k, { vote, afterMs }] of votes.entries()) {
    const { digest: _digest, ...said } = vote; // Of the recorded arguments; the task's own are put in its place.
    if (began + afterMs > now || began === now)
      agenda.note(began + afterMs, {
        event: { type: "task", intent: id, id: `replay-${id}-${k}`, vote: said },
      });
  }
}

/** A child that was told to cancel ends so, whatever the record has of one that was not. */
function cancelChild(run: Run, saga: string, agenda: Agenda<Coming>, now: number): void {
  for (const [id, { intent, attempt }] of openEntriesIn(run))
    if (intent.kind === "saga" && intent.saga === saga && intent.undoes === undefined)
      agenda.note(now, {
        event: resultOf(id, attempt, {
          outcome: "cancelled",
          code: "CANCELLED",
          reason: "its parent cancelled it",
        }),
      });
}

/** A call that was handed to the outside has its deadline, whether or not the answer comes before. */
function noteResult(
  id: IntentId,
  attempt: number,
  { result, call, durationMs }: Answer,
  { agenda, began, now }: { agenda: Agenda<Coming>; began: number; now: number },
): void {
  const { deferred, spent } = call ?? {};
  const due = deferred && Math.max(now, began + deferred.afterMs) + deferred.withinMs;
  if (deferred !== undefined && due !== undefined) {
    const event: Event = { type: "deferred", intent: id, attempt, dueAt: due };
    agenda.note(Math.max(now, began + deferred.afterMs), { event });
    agenda.note(due, { event: { type: "timer", intent: id } });
  }
  const isTooLate = result?.outcome === "failed" && result.code === "DEFERRED_TOO_LATE" && due !== undefined;
  if (result === undefined || isTooLate) return;
  const event = { ...resultOf(id, attempt, result), ...(spent === undefined ? {} : { spent }) };
  agenda.note(Math.max(now, began + durationMs), { event });
}

const resultOf = (intent: IntentId, attempt: number, result: Result): EventOf<"result"> => ({
  type: "result",
  ...{ intent, attempt, by: "replay", result },
});

function waitsFor(run: Run): string {
  const open = openEntriesIn(run).map(([id, { intent }]) => `${id} (${intent.kind})`);
  return `nothing more comes; open is ${open.join(", ") || "nothing: it waits for a signal"}`;
}
