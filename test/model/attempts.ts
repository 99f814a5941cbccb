/**
 * Attempts: how one attempt of one intent is performed and told, by a host that has the saga, by one that has lost it, or
 * by a worker. As services/perform does.
 */
import { type Outcome, resultText } from "./event.ts";
import {
  activationOf,
  hostOf,
  ledgerOf,
  type Model,
  publish,
  type Step,
  withActivation,
  withHost,
} from "./change.ts";
import { bag, part } from "./part.ts";
import { type Attempt, type Call, nameOfHost, nameOfSaga, none, type Outside, type State } from "./state.ts";
import { isSingle, type IntentKind } from "./world.ts";

/** Who performs an attempt, and how a change of it is written down. */
interface Performer {
  readonly name: string;
  /** By host, or the workers. */
  readonly at: number | "worker";
  /** It may begin: the saga is its host's still. */
  readonly mayBegin: boolean;
  readonly put: (state: State, changed: Attempt | undefined) => State;
  /** Where a result goes from here. */
  readonly told: "observed" | "report";
}

/** The steps of everything that is performed or handed on now. */
export function attemptSteps(model: Model, state: State): Step[] {
  const steps: Step[] = [...workerSteps(model, state)];
  model.world.hosts.forEach((_, host) => {
    model.world.sagas.forEach((_spec, saga) => {
      for (const hand of activationOf(state, host, saga)?.hands ?? [])
        steps.push(...stepsOf(model, state, hand, ownHand(host, saga, hand)));
    });
    for (const orphan of hostOf(state, host).orphans)
      steps.push(...stepsOf(model, state, orphan, orphanOf(host, orphan)));
  });
  return steps;
}

const replaced = (list: readonly Attempt[], old: Attempt, made: Attempt | undefined): readonly Attempt[] =>
  bag(list.flatMap((one) => (one === old ? (made ?? []) : one))).is;

const ownHand = (host: number, saga: number, hand: Attempt): Performer => ({
  ...{ name: nameOfHost(host), at: host, mayBegin: true, told: "observed" },
  put: (state, made) => {
    const activation = activationOf(state, host, saga);
    if (activation === null) return state;
    return withActivation(state, host, saga, {
      ...activation,
      hands: replaced(activation.hands, hand, made),
    });
  },
});

const orphanOf = (host: number, orphan: Attempt): Performer => ({
  ...{ name: `${nameOfHost(host)}, which has lost the saga,`, at: host, mayBegin: false, told: "report" },
  put: (state, made) =>
    withHost(state, host, { orphans: replaced(hostOf(state, host).orphans, orphan, made) }),
});

const workerOf = (attempt: Attempt): Performer => ({
  ...{ name: "a worker", at: "worker", mayBegin: true, told: "report" },
  put: (state, made) => ({ ...state, workers: bag(replaced(state.workers.is, attempt, made)) }),
});

function workerSteps(model: Model, state: State): Step[] {
  const taken = state.work.is
    .filter(({ free }) => free)
    .map((call): Step => {
      const { saga, intent, attempt } = call;
      const work = state.work.is.flatMap((other) => {
        if (other !== call) return [other];
        return model.world.rules.workAckedAfterResult ? [{ ...call, free: false }] : [];
      });
      const workers = [...state.workers.is, { saga, intent, attempt, stage: "begun" as const }];
      return {
        to: { ...state, work: bag(work), workers: bag(workers) },
        say: () => `a worker gets the call ${intent}.${attempt} of ${nameOfSaga(saga)}`,
      };
    });
  return [...taken, ...state.workers.is.flatMap((one) => stepsOf(model, state, one, workerOf(one)))];
}

function stepsOf(model: Model, state: State, attempt: Attempt, by: Performer): Step[] {
  const { saga, intent } = attempt;
  const kind = model.folds.intents(saga)[intent]?.kind ?? "read";
  const what = `${kind} ${intent}.${attempt.attempt} of ${nameOfSaga(saga)}`;
  const say = (does: string) => () => `${by.name} ${does} ${what}`;
  switch (attempt.stage) {
    case "begun":
      return [begin(model, state, attempt, by, kind, say)];
    case "waits":
      return outlast(model, state, attempt, by, kind, say);
    case "won":
    case "asks":
      return [act(model, state, attempt, by, kind, say)];
    case "publish":
      return [handOver(model, state, attempt, by, kind, say)];
    case "report": {
      const text = resultText(intent, attempt.attempt, attempt.outcome ?? "ok");
      const stored = publish(state, model, saga, text);
      const isCall = by.at === "worker" && model.world.rules.workAckedAfterResult;
      return [
        {
          to: by.put(stored, isCall ? { ...attempt, stage: "ack" } : undefined),
          say: say("tells the result of"),
        },
      ];
    }
    case "ack":
      return [{ to: by.put(withoutCall(state, attempt), undefined), say: say("acks the call") }];
    case "observed":
      return []; // The saga's next turn has it.
  }
}

const withoutCall = (state: State, { saga, intent, attempt }: Attempt): State => ({
  ...state,
  work: bag(
    state.work.is.filter((call) => call.saga !== saga || call.intent !== intent || call.attempt !== attempt),
  ),
});

/** A `once` is claimed by attempt, a `probe` by its key. */
const claimOf = ({ saga, intent, attempt }: Attempt, kind: IntentKind): string =>
  kind === "probe" ? `${saga}.${intent}` : `${saga}.${intent}.${attempt}`;

type Say = (does: string) => () => string;

function begin(
  model: Model,
  state: State,
  attempt: Attempt,
  by: Performer,
  kind: IntentKind,
  say: Say,
): Step {
  const { rules } = model.world;
  if (!isSingle(kind) || !rules.claims) return act(model, state, attempt, by, kind, say);
  const outside = state.outside.is;
  const key = claimOf(attempt, kind);
  // Only where the rule is broken is it written down whose a claim is.
  const claim = rules.claimsByDelivery ? key : `${key}@${by.at}`;
  const isTaken = outside.claims.some((other) => other === key || other.startsWith(`${key}@`));
  if (isTaken && !(outside.claims.includes(claim) && !rules.claimsByDelivery))
    return { to: by.put(state, { ...attempt, stage: "waits" }), say: say("finds claimed") };
  const claims = [...new Set([...outside.claims, claim])].sort();
  const claimed = { ...state, outside: part<Outside>({ ...outside, claims }) };
  return { to: by.put(claimed, { ...attempt, stage: "won" }), say: say("claims") };
}

/** Who else may be performing the same now. */
function isActing(state: State, attempt: Attempt, kind: IntentKind): boolean {
  const key = claimOf(attempt, kind);
  const all = [
    ...state.workers.is,
    ...state.hosts.flatMap(({ is }) => [...is.orphans, ...is.sagas.flatMap((saga) => saga?.hands ?? [])]),
  ];
  return all.some(
    (other) => (other.stage === "won" || other.stage === "asks") && claimOf(other, kind) === key,
  );
}

/** CI2 of services/perform/claim.ts: the time of the one that claimed it is over. */
function outlast(
  model: Model,
  state: State,
  attempt: Attempt,
  by: Performer,
  kind: IntentKind,
  say: Say,
): Step[] {
  if (model.world.rules.waitsForHolder && isActing(state, attempt, kind)) return [];
  if (kind === "probe") {
    const stage = model.world.rules.asksOutside ? "asks" : "won";
    return [{ to: by.put(state, { ...attempt, stage }), say: say("takes over") }];
  }
  return [
    { to: by.put(state, { ...attempt, stage: by.told, outcome: "doubt" }), say: say("is in doubt of") },
  ];
}

/** The effect itself, or that it is not begun any more. */
function act(model: Model, state: State, attempt: Attempt, by: Performer, kind: IntentKind, say: Say): Step {
  const { saga, intent } = attempt;
  const key = `${saga}.${intent}`;
  const { effects } = state.outside.is;
  const times = effects[key] ?? 0;
  const ends = (from: State, outcome: Outcome): State =>
    by.put(from, { ...attempt, stage: by.told, outcome });
  if (attempt.stage === "asks" && times > 0)
    return { to: ends(state, "ok"), say: say("learns that it happened:") };
  if (!by.mayBegin)
    return kind === "probe" || kind === "read"
      ? { to: by.put(state, undefined), say: say("does not begin") }
      : { to: ends(state, "not"), say: say("does not perform") };
  const done = {
    ...state,
    outside: part<Outside>({ ...state.outside.is, effects: { ...effects, [key]: times + 1 } }),
  };
  return {
    to: ends(isSingle(kind) ? done : state, "ok"),
    say: say("performs"),
    broken: brokenBy(model, state, attempt, kind, times),
  };
}

function brokenBy(
  { folds }: Model,
  state: State,
  attempt: Attempt,
  kind: IntentKind,
  times: number,
): string | undefined {
  const { saga, intent } = attempt;
  const truth = folds.truth(saga, ledgerOf(state, saga));
  const name = `${kind} ${intent} of ${nameOfSaga(saga)}`;
  if (isSingle(kind) && times > 0) return `${name} happens twice`;
  const isIntended =
    truth.outcomes[intent] !== undefined || truth.open.some((open) => open.intent === intent);
  return isIntended || truth.archived ? undefined : `${name} is performed, and no turn asks for it`;
}

/** A call to the workers, a start to a child, an end to a parent. */
function handOver(
  model: Model,
  state: State,
  attempt: Attempt,
  by: Performer,
  kind: IntentKind,
  say: Say,
): Step {
  const { sagas } = model.world;
  const { saga, intent } = attempt;
  const spec = sagas[saga];
  if (kind === "work") {
    const isThere = state.work.is.some(
      (call) => call.saga === saga && call.intent === intent && call.attempt === attempt.attempt,
    );
    const call: Call = { saga, intent, attempt: attempt.attempt, free: true };
    const put = isThere ? state : { ...state, work: bag([...state.work.is, call]) };
    return { to: by.put(put, undefined), say: say("puts into the workers' queue") };
  }
  if (kind === "child")
    return { to: by.put(publish(state, model, spec?.child ?? none, "start"), undefined), say: say("starts") };
  const parent = spec?.parent ?? { saga: none, intent: none };
  const stored = publish(state, model, parent.saga, resultText(parent.intent, 1, "ok"));
  // Its own host hears that it is stored; who has lost the saga need not.
  const heard: Attempt | undefined =
    by.told === "observed" ? { ...attempt, stage: "observed", outcome: "ok" } : undefined;
  return { to: by.put(stored, heard), say: say("tells the parent") };
}
