/**
 * A model of how long a claim must stay: deliveries of one attempt of one saga, which stand still or die anywhere, an archiver that
 * buries the saga, takes its claims away, and forgets it, and a leader that was deposed and answers readers still. Every order of
 * everything; the rules are those of services/archive/claims.ts and services/perform/still-asked.ts, and each can be broken alone.
 *
 * Time is weeks: what a rule says of a horizon is that a week has ended since; all else may take any part of one.
 */

export interface ClaimRules {
  /** Who wins a claim for what was not decided in this week reads the ledger then. */
  readonly checks: boolean;
  /** It reads after it has won, not before it asks. */
  readonly checksAfterWin: boolean;
  /** A ledger whose turns have settled the attempt asks for it no more, whether a tombstone is seen or not. */
  readonly judgesTurns: boolean;
  /** What was decided before the saga began anew is not asked for by that one. */
  readonly tellsLives: boolean;
  /** Whoever has a claim acts in its time, counted from before it asked. */
  readonly actsInTime: boolean;
  /** Claims go when the last turn is of another week. */
  readonly waits: boolean;
  /** They go when no delivery of the saga is left in the queue. */
  readonly asksQueue: boolean;
  /** A saga is forgotten when its claims are gone. */
  readonly forgetsLast: boolean;
}

export const claimRules: ClaimRules = {
  ...{ checks: true, checksAfterWin: true, judgesTurns: true, tellsLives: true },
  ...{ actsInTime: true, waits: true, asksQueue: true, forgetsLast: true },
};

/** As the ledger goes on; after it was forgotten it may begin anew, with the same key. */
const phases = ["open", "settled", "buried", "forgotten", "anew", "settled anew"] as const;
type Phase = (typeof phases)[number];

interface Delivery {
  readonly step: "queued" | "taken" | "asked" | "won" | "held" | "may act" | "acted" | "over";
  /** The week of its decision, and that in which it asked for its claim. */
  readonly decided: number;
  readonly asked: number;
  /** A probe's, behind another's claim: the outside is asked first. */
  readonly asksOutside: boolean;
  /** It has read the ledger. */
  readonly hasRead: boolean;
}

interface State {
  readonly week: number;
  readonly phase: Phase;
  /** The ledger as the week began: so old may be what a deposed leader answers. */
  readonly before: Phase;
  /** The week of the last turn of each phase that was. */
  readonly turns: Readonly<Partial<Record<Phase, number>>>;
  /** Places of the claim's row that are taken; a `once` has one. */
  readonly claims: number;
  /** An archiver has taken them away. What a late delivery claims after that stays, for nobody's harm. */
  readonly isDropped: boolean;
  readonly deliveries: readonly Delivery[];
  readonly deaths: number;
  /** How often it happened outside, in the saga's first life and in its second. */
  readonly effects: readonly [number, number];
}

export interface ClaimWorld {
  readonly name: string;
  readonly effect: "once" | "probe";
  readonly deliveries: number;
  readonly deaths: number;
  readonly weeks: number;
  /** Readers may be answered by a leader that was deposed in this week. */
  readonly deposed: boolean;
  /** Who performs is of a version that checks nothing; it does not stand still for weeks between its delivery and its claim. */
  readonly former: boolean;
  /** Tombstones go in the end, and a client may start the saga again. */
  readonly forgets: boolean;
}

const plain = { deliveries: 2, deaths: 1, weeks: 2, deposed: true, former: false, forgets: false };

export const claimWorlds: readonly ClaimWorld[] = [
  { ...plain, name: "a once that is delivered twice", effect: "once" },
  { ...plain, name: "a probe that is delivered twice", effect: "probe" },
  { ...plain, name: "a once that is delivered three times", effect: "once", deliveries: 3, deaths: 0 },
  { ...plain, name: "workers of a former version", effect: "once", former: true },
  {
    ...plain,
    name: "a once of a saga that is forgotten and begun anew",
    effect: "once",
    deaths: 0,
    forgets: true,
  },
  { ...plain, name: "a probe of such a saga", effect: "probe", deaths: 0, forgets: true },
];

export interface Walked {
  readonly states: number;
  /** What broke, with the way to it. */
  readonly broken: readonly string[] | undefined;
}

const fresh = (decided: number): Delivery => ({
  ...{ step: "queued", decided, asked: 0, asksOutside: false, hasRead: false },
});

/** Deliveries are exchangeable, and of one that is over nothing counts any more. */
function keyOf({
  week,
  phase,
  before,
  turns,
  claims,
  isDropped,
  deliveries,
  deaths,
  effects,
}: State): string {
  const told = deliveries.map(({ step, decided, asked, asksOutside, hasRead }) =>
    step === "over" ? step : `${step} ${decided} ${asked} ${asksOutside} ${hasRead}`,
  );
  return [
    week,
    phase,
    before,
    JSON.stringify(turns),
    claims,
    isDropped,
    deaths,
    effects,
    ...told.sort(),
  ].join();
}

/** Every order of everything. */
export function walkClaims(world: ClaimWorld, rules: ClaimRules = claimRules): Walked {
  const first: State = {
    ...{ week: 0, phase: "open", before: "open", turns: { open: 0 }, claims: 0, deaths: 0 },
    ...{ isDropped: false, effects: [0, 0] },
    deliveries: Array.from({ length: world.deliveries }, () => fresh(0)),
  };
  /** By each state that was seen, from which it came and how. */
  const seen = new Map<string, readonly [from: string, what: string] | undefined>([
    [keyOf(first), undefined],
  ]);
  const left: State[] = [first];
  const wayTo = (key: string): string[] => {
    const step = seen.get(key);
    return step === undefined ? [] : [...wayTo(step[0]), step[1]];
  };
  let isClean = false; // In some order.
  for (let next = 0; next < left.length; next++) {
    const state = left[next]!;
    const from = keyOf(state);
    const fault = faultOf(state);
    if (fault !== undefined) return { states: seen.size, broken: [...wayTo(from), fault] };
    isClean ||= state.claims === 0 && state.phase === (world.forgets ? "forgotten" : "buried");
    for (const [what, to] of nextOf(state, world, rules)) {
      const key = keyOf(to);
      if (seen.has(key)) continue;
      seen.set(key, [from, what]);
      left.push(to);
    }
  }
  return { states: seen.size, broken: isClean ? undefined : ["nothing is ever taken away"] };
}

function faultOf({ effects, phase, claims, isDropped }: State): string | undefined {
  if (effects.some((times) => times > 1)) return "it happens twice";
  return phase === "forgotten" && claims > 0 && !isDropped ? "what it claimed is left for ever" : undefined;
}

type Steps = Iterable<readonly [what: string, to: State]>;

function* nextOf(state: State, world: ClaimWorld, rules: ClaimRules): Steps {
  const { deliveries, week, phase } = state;
  const isStill = ({ step }: Delivery): boolean => world.former && (step === "taken" || step === "won");
  if (week < world.weeks && !deliveries.some(isStill))
    yield ["a week goes by", { ...state, week: week + 1, before: phase }];
  for (const [who, delivery] of deliveries.entries()) {
    const as = (change: Partial<Delivery>, more: Partial<State> = {}): State => ({
      ...{ ...state, ...more },
      deliveries: (more.deliveries ?? deliveries).map((one, at) =>
        at === who ? { ...one, ...change } : one,
      ),
    });
    if (state.deaths < world.deaths && delivery.step !== "queued" && delivery.step !== "over")
      yield [
        `${who} dies, and is delivered again`,
        as(fresh(delivery.decided), { deaths: state.deaths + 1 }),
      ];
    for (const [what, to] of deliverySteps({ state, delivery, as }, world, rules))
      yield [`${who} ${what}`, to];
  }
  yield* archiverSteps(state, world, rules);
}

interface Acting {
  readonly state: State;
  readonly delivery: Delivery;
  readonly as: (change: Partial<Delivery>, more?: Partial<State>) => State;
}

/** One delivery, from the queue to its result. */
function* deliverySteps(acting: Acting, world: ClaimWorld, rules: ClaimRules): Steps {
  const { state, delivery, as } = acting;
  const { week, claims } = state;
  switch (delivery.step) {
    case "queued":
      return yield ["is delivered", as({ step: "taken" })];
    case "taken":
      if (rules.checks && !rules.checksAfterWin && !delivery.hasRead && !world.former)
        return yield* reads(acting, world, rules, "taken");
      return yield ["asks for the claim", as({ step: "asked", asked: week })];
    case "asked": {
      const place = delivery.asksOutside ? claims : 0;
      return claims > place
        ? yield ["finds it claimed", as({ step: "held" })]
        : yield ["claims it", as({ step: "won" }, { claims: claims + 1 })];
    }
    case "held":
      return yield* outlasts(acting, world);
    case "won":
      if (world.former || !rules.checks || !rules.checksAfterWin || delivery.decided === week)
        return yield ["needs not look", as({ step: "may act" })];
      return yield* reads(acting, world, rules, "may act");
    case "may act":
      return yield* acts(acting, rules);
    case "acted":
      return yield ["tells its result", as({ step: "over" }, settled(state))];
    case "over":
      return;
  }
}

/** The ledger as it is, or as a deposed leader has it. */
function* reads(
  { state, delivery, as }: Acting,
  world: ClaimWorld,
  rules: ClaimRules,
  then: Delivery["step"],
): Steps {
  const [from, to] = [phases.indexOf(state.before), phases.indexOf(state.phase)];
  for (const seen of phases.slice(world.deposed ? from : to, to + 1)) {
    const isYoung = state.turns[seen] === state.week && seen !== "buried" && seen !== "forgotten";
    const isOpen = seen === "open" || seen === "anew" || (seen.startsWith("settled") && !rules.judgesTurns);
    const isOther = rules.tellsLives && seen.endsWith("anew") && delivery.decided < (state.turns.anew ?? 0);
    if ((isYoung || isOpen) && !isOther)
      yield [`reads that it is ${seen}, and goes on`, as({ step: then, hasRead: true })];
    else yield [`reads that it is ${seen}: in doubt`, as({ ...delivery, step: "acted", hasRead: true })];
  }
}

/** In doubt, or to ask the outside: once the holder's time is over. */
function* outlasts({ state, delivery, as }: Acting, { effect }: ClaimWorld): Steps {
  const mayAct = ({ step, asked }: Delivery) =>
    (step === "asked" || step === "won" || step === "may act") && asked === state.week;
  if (state.deliveries.some((other) => other !== delivery && mayAct(other))) return;
  if (effect === "probe") yield ["takes over", as({ step: "asked", asked: state.week, asksOutside: true })];
  else yield ["is in doubt", as({ step: "acted" })];
}

/** The effect itself. */
function* acts({ state, delivery, as }: Acting, rules: ClaimRules): Steps {
  const [first, second] = state.effects;
  if (rules.actsInTime && delivery.asked !== state.week) return yield ["is too late", as({ step: "acted" })];
  if (delivery.asksOutside && first + second > 0)
    return yield ["learns that it happened", as({ step: "acted" })];
  const isSecond = state.phase.endsWith("anew");
  const effects = isSecond ? ([first, second + 1] as const) : ([first + 1, second] as const);
  yield ["performs", as({ step: "acted" }, { effects })];
}

/** The turn that records a result: the first that comes. */
function settled({ phase, turns, week }: State): Partial<State> {
  if (phase !== "open" && phase !== "anew") return {};
  const next = phase === "open" ? "settled" : "settled anew";
  return { phase: next, turns: { ...turns, [next]: week } };
}

/** Any archiver, which may die between any two of these. */
function* archiverSteps(state: State, world: ClaimWorld, rules: ClaimRules): Steps {
  const { phase, week, turns, isDropped, deliveries } = state;
  const isOld = week > (turns.settled ?? week);
  const isQueued = deliveries.some(({ step }) => step !== "over");
  if (phase === "settled")
    yield ["it is buried", { ...state, phase: "buried", turns: { ...turns, buried: week } }];
  if (phase !== "buried") {
    if (phase === "forgotten") yield* beginsAnew(state);
    return;
  }
  const mayDrop = (isOld || !rules.waits) && !(world.former && rules.asksQueue && isQueued);
  if (mayDrop) yield ["its claims are taken away", { ...state, claims: 0, isDropped: true }];
  if (world.forgets && week > (turns.buried ?? week) && (isDropped || !rules.forgetsLast))
    yield ["it is forgotten", { ...state, phase: "forgotten" }];
}

/** A client starts it again, and it decides the same. */
function* beginsAnew(state: State): Steps {
  const { turns, week, deliveries } = state;
  const anew = {
    phase: "anew",
    turns: { ...turns, anew: week },
    deliveries: [...deliveries, fresh(week)],
  } as const;
  yield ["it begins anew", { ...state, ...anew }];
}
