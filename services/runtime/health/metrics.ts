/**
 * Metrics: what hosts and workers tell of themselves, as counters. Fed through their observers; costs nothing
 * where no health port was asked for, because then none of this is loaded.
 *
 * MM1 A label is the name of something declared, or of a closed list. Never an id of a saga, nothing the model says.
 */
import type { DecidedTurn } from "../../../actors/kernel/fold.ts";
import { usageOf } from "../../../actors/kernel/settle.ts";
import type { OpenIntent, SagaState } from "../../../actors/contract/state.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Observer } from "../../host/host-deps.ts";
import type { AttemptObserver } from "../../perform/observe.ts";
import type { WorkerObserver } from "../../worker/worker.ts";
import type { Counter, Exposition } from "./exposition.ts";

/** Seconds. From a tool that only looks something up to the ten minutes a model call may take. */
const attemptSeconds = [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 60, 180, 600];
/** Seconds. A takeover is a load and a turn; most of what a saga waits is the lease before it. */
const recoverySeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface Observers {
  readonly host: Observer;
  readonly worker: WorkerObserver;
  readonly gateway: { readonly answered: (kind: string, status: number) => void };
}

export function createMetrics(exposition: Exposition): Observers {
  const { counter, gauge, histogram } = exposition;
  const attempt = ["kind", "name"] as const;
  const turns = counter("sagamesh_turns_total", "Turns this host appended.");
  const appends = counter(
    "sagamesh_appends_total",
    "Answers to appends: appended, retried (sent again after a transient refusal), fenced (another host had appended), behind (the ledger had lost turns).",
    ["outcome"],
  );
  const foreign = counter(
    "sagamesh_foreign_messages_total",
    "Messages on ledgers that are no turns, each time this host read past one.",
  );
  const taken = counter("sagamesh_inputs_taken_total", "Inputs recorded in turns, by type of event.", [
    "type",
  ]);
  const refused = counter("sagamesh_inputs_refused_total", "Messages set aside as dead letters, by code.", [
    "source",
    "code",
  ]);
  const decided = counter("sagamesh_intents_decided_total", "Intents recorded, by kind and declared name.", [
    ...attempt,
  ]);
  const settled = counter(
    "sagamesh_intents_settled_total",
    "Intents that came to their end, by the outcome recorded.",
    [...attempt, "outcome"],
  );
  const results = counter(
    "sagamesh_results_total",
    "Results recorded; an intent that is tried again has several.",
    [...attempt, "outcome"],
  );
  const parked = counter("sagamesh_sagas_not_taken_total", "Times a saga could not be taken here, by code.", [
    "code",
  ]);
  const handedOn = counter(
    "sagamesh_inputs_handed_on_total",
    "Inputs of sagas that this host does not serve, sent to a host that does, by what became of it.",
    ["outcome"],
  );
  const recovery = histogram(
    "sagamesh_recovery_seconds",
    "From the first input of a saga that another process left with work open to this host's first own turn in it.",
    [],
    recoverySeconds,
  );
  const orphaned = counter(
    "sagamesh_orphans_total",
    "Open intents that were in no queue and were handed on again, by kind.",
    ["kind"],
  );
  const tokens = counter("sagamesh_tokens_total", "Tokens recorded as spent, by model.", [
    "model",
    "direction",
  ]);
  const usd = counter(
    "sagamesh_spent_usd_total",
    "US dollars recorded as spent, where the port knows a price.",
    ["model"],
  );
  const answered = counter(
    "sagamesh_callbacks_total",
    "Requests of links this gateway answered, by HTTP status.",
    ["kind", "status"],
  );
  const overBudget = counter(
    "sagamesh_budget_refusals_total",
    "Decisions, calls and sub-agents refused because a budget is used up.",
    ["kind"],
  );
  const unreported = counter(
    "sagamesh_budget_unreported_tokens_total",
    "Tokens reserved for model calls whose cost was never reported, counted as used.",
  );
  for (const outcome of ["appended", "retried", "fenced", "behind"]) appends.add([outcome], 0);

  const running = gauge("sagamesh_attempts_in_flight", "Attempts this process performs now.", [...attempt]);
  const attempts = counter("sagamesh_attempts_total", "Attempts this process performed, by how they went.", [
    ...attempt,
    "outcome",
  ]);
  const durations = histogram(
    "sagamesh_attempt_seconds",
    "How long attempts took in this process.",
    [...attempt],
    attemptSeconds,
  );
  const performed: AttemptObserver = {
    attemptBegan: (kind, name) => running.add([kind, name], 1),
    attemptEnded: (kind, name, outcome, ms) => {
      running.add([kind, name], -1);
      attempts.add([kind, name, outcome]);
      durations.observe([kind, name], ms / 1_000);
    },
  };

  const onTurn = (turn: DecidedTurn, before: SagaState | undefined) => {
    turns.add();
    for (const { event, intents } of turn.steps) {
      taken.add([event.type]);
      for (const intent of intents) if (intent.kind !== "retry") decided.add(labelsOf(intent));
      for (const intent of intents)
        if (intent.kind === "denied" && intent.code === "BUDGET_EXCEEDED")
          overBudget.add([intent.name === "decision" || intent.name === "modelCall" ? "model" : "call"]);
      if (event.type === "result") {
        const open = before?.open[event.intent];
        results.add([...labelsOf(open?.intent), event.result.outcome]);
      }
    }
    if (before === undefined) return;
    if (before.open !== turn.state.open) countSettled(settled, turn, before);
    countSpent({ tokens, usd }, turn, before);
    unreported.add([], (turn.state.budget?.lost.tokens ?? 0) - (before.budget?.lost.tokens ?? 0));
  };

  return {
    host: {
      ...performed,
      turn: onTurn,
      append: (outcome) => appends.add([outcome]),
      refused: (code) => refused.add(["inbox", code]),
      handedOn: (outcome) => handedOn.add([outcome]),
      foreign: (messages) => foreign.add([], messages),
      parked: (_, error) => parked.add([isMeshError(error) ? error.code : "INTERNAL"]),
      takenOver: (ms) => recovery.observe([], ms / 1_000),
      orphaned: (kind) => orphaned.add([kind]),
    },
    worker: { ...performed, refused: (code) => refused.add(["work", code]) },
    gateway: { answered: (kind, status) => answered.add([kind, String(status)]) },
  };
}

/** MM1: only these kinds have a name that an application declares. */
function labelsOf(intent: Intent | OpenIntent["intent"] | undefined): [string, string] {
  if (intent === undefined) return ["settled_before", ""];
  switch (intent.kind) {
    case "tool":
    case "model":
    case "saga":
      return [intent.kind, intent.name];
    default:
      return [intent.kind, ""];
  }
}

/** What was open before the turn and is no more. */
function countSettled(settled: Counter, { state, steps }: DecidedTurn, before: SagaState): void {
  for (const [id, open] of Object.entries(before.open) as [IntentId, OpenIntent][]) {
    if (state.open[id] !== undefined) continue;
    const event = steps.find((step) => "intent" in step.event && step.event.intent === id)?.event;
    settled.add([...labelsOf(open.intent), outcomeOf(open, event)]);
  }
}

/** Without an event of its own it was called off: superseded, or cancelled with its saga. */
function outcomeOf(open: OpenIntent, event: Event | undefined): string {
  if (event?.type === "result") return event.result.outcome;
  if (event?.type === "task") return "succeeded";
  if (event?.type === "timer") return open.intent.kind === "timer" ? "succeeded" : "failed";
  return "cancelled";
}

/** All that the turn added to what its saga has spent; a call that was superseded has no intent to name a model. */
function countSpent(
  { tokens, usd }: { tokens: Counter; usd: Counter },
  { state, steps }: DecidedTurn,
  before: SagaState,
): void {
  if (state.spent === before.spent) return;
  const rest = {
    input: state.spent.inputTokens - before.spent.inputTokens,
    output: state.spent.outputTokens - before.spent.outputTokens,
    usd: state.spent.usd - before.spent.usd,
  };
  const add = (model: string, spent: { input: number; output: number; usd: number }) => {
    rest.input -= spent.input;
    rest.output -= spent.output;
    rest.usd -= spent.usd;
    tokens.add([model, "input"], spent.input);
    tokens.add([model, "output"], spent.output);
    usd.add([model], Math.max(0, spent.usd)); // What is left of sums of fractions may be a hair below zero.
  };
  for (const { event } of steps) {
    if (event.type !== "result") continue;
    const intent = before.open[event.intent]?.intent;
    const usage = usageOf(event.result);
    if (intent?.kind !== "model" || usage === undefined) continue;
    const input = usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
    add(intent.name, { input, output: usage.outputTokens, usd: usage.usd ?? 0 });
  }
  if (rest.input > 0 || rest.output > 0) add("superseded", { ...rest });
}
