/**
 * A model of where a saga begins: processes that know of one stream of ledgers or of two begin the same saga, each step of each in
 * any order, each dying anywhere, each hearing of the growth at any moment. The rules are those of services/nats/homes.ts; each can
 * be broken alone.
 *
 * The saga's arbiter is stream 0, and where there are two it is placed in stream 1: the only case in which they can differ.
 */

export interface ShardRules {
  /** What begins a saga looks at its arbiter first. */
  readonly asks: boolean;
  /** It puts a signpost there before it begins elsewhere. */
  readonly posts: boolean;
  /** The signpost is stored only where nothing stands. */
  readonly compares: boolean;
  /** An append names the last message that was read, not the last there is. */
  readonly reads: boolean;
  /** What has not heard of the growth hears of it by a signpost. */
  readonly heeds: boolean;
}

export const shardRules: ShardRules = { asks: true, posts: true, compares: true, reads: true, heeds: true };

type Message = "signpost" | "turn" | "garbage";
type Step = "look" | "post" | "begin" | "done" | "dead";

interface Process {
  readonly step: Step;
  readonly knows: 1 | 2;
  readonly home: 0 | 1 | undefined;
  /** How many messages it has read of its home. */
  readonly read: number;
}

interface State {
  readonly streams: readonly [readonly Message[], readonly Message[]];
  readonly processes: readonly Process[];
}

export interface ShardWorld {
  readonly name: string;
  /** What each process knows of at first. */
  readonly knows: readonly (1 | 2)[];
  /** Somebody else may store nonsense at the arbiter at any moment, once. */
  readonly garbage?: boolean;
}

export const shardWorlds: readonly ShardWorld[] = [
  { name: "one has heard of it, one has not", knows: [1, 2] },
  { name: "two have not heard of it", knows: [1, 1] },
  { name: "two have heard of it, one has not", knows: [1, 2, 2] },
  { name: "two have not, one has, and somebody stores nonsense", knows: [1, 1, 2], garbage: true },
];

export interface Walked {
  readonly states: number;
  /** Where two streams have turns of the saga, or a reader does not find them: how it came about. */
  readonly broken: readonly string[] | undefined;
}

/** Every order of everything. */
export function walkShards(world: ShardWorld, rules: ShardRules = shardRules): Walked {
  const first: State = {
    streams: [[], []],
    processes: world.knows.map((knows) => ({ step: "look", knows, home: undefined, read: 0 })),
  };
  const seen = new Set<string>([JSON.stringify(first)]);
  const left: { readonly state: State; readonly trace: readonly string[] }[] = [{ state: first, trace: [] }];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const fault = faultOf(one.state);
    if (fault !== undefined) return { states: seen.size, broken: [...one.trace, fault] };
    for (const [what, state] of nextOf(one.state, world, rules)) {
      const key = JSON.stringify(state);
      if (seen.has(key)) continue;
      seen.add(key);
      left.push({ state, trace: [...one.trace, what] });
    }
  }
  return { states: seen.size, broken: undefined };
}

/** By the rule of readers: the first message at the arbiter tells where the saga is. */
const homeIn = ({ streams: [arbiter] }: State): 0 | 1 | undefined =>
  arbiter[0] === undefined ? undefined : arbiter[0] === "signpost" ? 1 : 0;

function faultOf(state: State): string | undefined {
  const begun = state.streams.flatMap((messages, stream) => (messages.includes("turn") ? [stream] : []));
  if (begun.length > 1) return "it has turns in both";
  if (begun.length === 1 && begun[0] !== homeIn(state)) return "it has turns where no reader looks";
  return undefined;
}

function* nextOf(state: State, world: ShardWorld, rules: ShardRules): Iterable<readonly [string, State]> {
  for (const [who, process] of state.processes.entries()) {
    if (process.step === "done" || process.step === "dead") continue;
    const as = (change: Partial<Process>, streams = state.streams): State => ({
      streams,
      processes: state.processes.map((one, at) => (at === who ? { ...one, ...change } : one)),
    });
    yield [`${who} dies`, as({ step: "dead" })];
    if (process.knows === 1) yield [`${who} hears of it`, as({ knows: 2 })];
    yield* stepOf(state, { who, process, as }, rules);
  }
  const [arbiter, other] = state.streams;
  if (world.garbage === true && !arbiter.includes("garbage"))
    yield ["nonsense is stored", { ...state, streams: [[...arbiter, "garbage"], other] }];
}

interface Acting {
  readonly who: number;
  readonly process: Process;
  readonly as: (change: Partial<Process>, streams?: State["streams"]) => State;
}

function* stepOf(
  state: State,
  { who, process: { step, knows, home, read }, as }: Acting,
  rules: ShardRules,
): Iterable<readonly [string, State]> {
  const [arbiter, other] = state.streams;
  if (step === "look") {
    const told = homeIn(state);
    const isBlind = knows === 1 && !rules.heeds;
    const at = !rules.asks && knows === 2 ? 1 : isBlind && told !== undefined ? 0 : told;
    if (at === undefined) {
      // Nothing is there: it begins where it places it.
      const next: Partial<Process> = knows === 1 ? { step: "begin", home: 0, read: 0 } : { step: "post" };
      yield [`${who} finds nothing`, as(next)];
      return;
    }
    const messages = state.streams[at];
    yield [
      `${who} finds it in ${at}`,
      as(messages.includes("turn") ? { step: "done" } : { step: "begin", home: at, read: messages.length }),
    ];
  } else if (step === "post") {
    if (!rules.posts) yield [`${who} begins elsewhere`, as({ step: "begin", home: 1, read: 0 })];
    else if (arbiter.length === 0 || !rules.compares)
      yield [
        `${who} puts up a signpost`,
        as({ step: "begin", home: 1, read: 0 }, [[...arbiter, "signpost"], other]),
      ];
    else yield [`${who} is refused its signpost`, as({ step: "look" })];
  } else if (step === "begin" && home !== undefined) {
    const messages = state.streams[home];
    if (messages.length !== read && rules.reads) yield [`${who} is refused`, as({ step: "look" })];
    else if (messages.includes("turn")) yield [`${who} is refused`, as({ step: "done" })];
    else {
      const appended: readonly Message[] = [...messages, "turn"];
      yield [
        `${who} begins it in ${home}`,
        as({ step: "done" }, home === 0 ? [appended, other] : [arbiter, appended]),
      ];
    }
  }
}
