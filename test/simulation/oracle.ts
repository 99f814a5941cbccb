/**
 * Oracle: what must hold of a run that is over, as pure predicates over its account.
 *
 * | promise | what is looked for |
 * |---|---|
 * | P1 | a `once` effect done twice; an `idempotent` one asked for under two keys; a `probe` done twice |
 * | P2 | an input that the server stored and no ledger or dead letter holds, or a ledger holds twice |
 * | P3 | a chain that is broken; an effect done before, or without, the turn that decided it |
 * | P4 | a ledger that does not fold, or folds to something else by way of a snapshot |
 * | END | a saga that does not end; messages that nobody takes |
 * | LIE | done, but recorded as not done; undone never, or twice, though the saga was called off |
 * | LINE | more children of a crowd at once than it has places; one that began before its parent's ledger said so |
 * | LIST | a saga whose row in the listing says otherwise than its ledger, or of which there are two, or none |
 * | CODE | something was thrown that is no error of the mesh's own |
 *
 * What it leaves out, and why:
 *
 * | left out | because |
 * |---|---|
 * | a `probe` done twice where a performer stood still, or its request was held up longer than the grace, and the second after the undoing | the outside cannot know of what has not arrived |
 * | an `idempotent` or `probe` effect done under an attempt that failed last, attempts being used up | how often to try is the tool's own rule; the tools here try forty times |
 * | an effect that arrived after its undoing and that nobody lived to report | nobody but the outside knows of it |
 * | votes on a task that was closed meanwhile | they say nothing new |
 * | a row that says `running` or `unreadable` beside the right one | its write was held up until another host had ended the saga; who looks reads the ledger |
 * | timers left armed when all sagas have ended | taking them back is best effort; one that fires is known |
 */
import { foldTurn, stateFromJson, stateToJson } from "../../actors/kernel/replay.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { contentTypes, decode, encodeMsgpack } from "../../protocol/codec.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { canonicalJson, toJson } from "../../protocol/json.ts";
import { headers as names, parseInboxSubject } from "../../protocol/subjects.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { isUndoable } from "./contracts.ts";
import { misListed } from "./listed.ts";
import { overcrowded } from "../support/overcrowded.ts";
import { crowdPlaces, crowds, errand, journey, planner, second } from "./sagas.ts";
import type { Account, StoredInput } from "./account.ts";
import type { Act, Asked } from "./world.ts";

export interface Violation {
  readonly promise: "P1" | "P2" | "P3" | "P4" | "END" | "LIE" | "HOP" | "LINE" | "LIST" | "CODE";
  readonly what: string;
}

/** All that does not hold. */
export function judge(account: Account): Violation[] {
  const readings = new Map([...account.ledgers].map(([saga, turns]) => [saga, read(turns)]));
  return [
    ...account.mistakes.map((what): Violation => ({ promise: "CODE", what })),
    ...chains(account),
    ...[...readings.values()].flatMap(folds),
    ...[...readings.values()].flatMap(untimely),
    ...performances(account),
    ...phantoms(account, readings),
    ...inputs(account, readings),
    ...ends(account, readings),
    ...lies(account, readings),
    ...undoings(account, readings),
    ...hops(account),
    ...strangers(account, readings),
    ...overcrowded(new Map([...readings].map(([saga, { turns }]) => [saga, turns])), crowdPlaces).map(
      (what): Violation => ({ promise: "LINE", what }),
    ),
    ...misListed(account.rows, new Map([...readings].map(([saga, { turns }]) => [saga, turns]))).map(
      (what): Violation => ({ promise: "LIST", what }),
    ),
  ];
}

/** A ledger as the oracle reads it. */
interface Reading {
  readonly saga: SagaId;
  readonly turns: readonly StoredTurn[];
  readonly tools: ReadonlyMap<IntentId, { readonly intent: IntentOf<"tool">; readonly at: number }>;
  readonly byKey: ReadonlyMap<string, IntentId>;
  readonly results: ReadonlyMap<IntentId, readonly EventOf<"result">[]>;
  readonly end: IntentOf<"end"> | undefined;
  readonly state: SagaState | undefined;
  readonly divergence: string | undefined;
}

const definitions = [journey, errand, planner, ...Object.values(second), ...Object.values(crowds)].map(
  ({ definition }) => definition,
);

function read(turns: readonly StoredTurn[]): Reading {
  const tools = new Map<IntentId, { intent: IntentOf<"tool">; at: number }>();
  const byKey = new Map<string, IntentId>();
  const results = new Map<IntentId, EventOf<"result">[]>();
  let end: IntentOf<"end"> | undefined;
  for (const { turn, storedAt } of turns)
    for (const { event, intents } of turn.steps) {
      if (event.type === "result") results.set(event.intent, [...(results.get(event.intent) ?? []), event]);
      for (const intent of intents) {
        if (intent.kind === "end") end = intent;
        if (intent.kind !== "tool") continue;
        tools.set(intent.id, { intent, at: storedAt });
        byKey.set(intent.key, intent.id);
      }
    }
  const saga = turns[0]?.turn.saga as SagaId; // A ledger that is listed has a turn, or is broken (chains).
  return { saga, turns, tools, byKey, results, end, ...folded(turns) };
}

function folded(turns: readonly StoredTurn[]): Pick<Reading, "state" | "divergence"> {
  const [first] = turns[0]?.turn.steps ?? [];
  const ref = first?.event.type === "start" ? first.event.definition : undefined;
  const definition = definitions.find(({ hash }) => hash === ref?.hash);
  if (definition === undefined)
    return { state: undefined, divergence: "its first event names no definition" };
  try {
    const half = Math.ceil(turns.length / 2);
    const middle = fold(definition, undefined, turns.slice(0, half));
    const state = fold(definition, middle, turns.slice(half));
    const revived = stateFromJson(definition, throughMsgpack(stateToJson(definition, middle)));
    const other = fold(definition, revived, turns.slice(half));
    const same =
      canonicalJson(stateToJson(definition, state)) === canonicalJson(stateToJson(definition, other));
    return { state, divergence: same ? undefined : "its second half folds otherwise from a snapshot" };
  } catch (error) {
    return { state: undefined, divergence: String(error) };
  }
}

const fold = (definition: Definition, from: SagaState | undefined, turns: readonly StoredTurn[]): SagaState =>
  turns.reduce<SagaState | undefined>(
    (state, { turn }) => foldTurn(definition, state, turn).state,
    from,
  ) as SagaState;

const throughMsgpack = (value: unknown): unknown =>
  decode(encodeMsgpack(toJson(value)), contentTypes.msgpack);

// P3, P4

const chains = ({ broken }: Account): Violation[] =>
  [...broken].map(([saga, why]) => ({ promise: "P3", what: `the chain of ${saga}: ${why}` }));

const folds = ({ saga, divergence }: Reading): Violation[] =>
  divergence === undefined ? [] : [{ promise: "P4", what: `${saga}: ${divergence.slice(0, 400)}` }];

function phantoms({ asked }: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  return asked.flatMap((one): Violation[] => {
    const reading = readings.get(sagaOf(one));
    const id = reading?.byKey.get(one.key);
    const decided = id === undefined ? undefined : reading?.tools.get(id);
    if (decided?.intent.name === one.tool && decided.at <= one.sentAt) return [];
    return [{ promise: "P3", what: `${one.tool} ${one.key} was done without a turn that decided it` }];
  });
}

// P1

/** An effect that the outside has more than once, or, of an `idempotent` one, was asked for under more than one key. */
export interface Repeat {
  readonly effect: "once" | "probe" | "idempotent";
  readonly place: string;
  /** By whom, or under which keys. */
  readonly by: readonly string[];
}

export function repeats({
  acts,
  asked,
  stoodStill,
}: Pick<Account, "acts" | "asked" | "stoodStill">): Repeat[] {
  const found: Repeat[] = [];
  for (const [place, group] of grouped(acts, placeOf)) {
    const [first] = group;
    if (first === undefined || group.length < 2) continue;
    const by = group.map((act) => act.by);
    if (first.effect === "once") found.push({ effect: "once", place, by });
    if (first.effect === "probe" && !group.some((act) => stoodStill(act) || isHeldUp(act)))
      found.push({ effect: "probe", place, by });
  }
  const idempotent = asked.filter((one) => one.effect === "idempotent" && one.undoes === undefined);
  for (const [place, group] of grouped(idempotent, placeOf)) {
    const keys = [...new Set(group.map(({ key }) => key))];
    if (keys.length > 1) found.push({ effect: "idempotent", place, by: keys });
  }
  return found;
}

const performances = (account: Account): Violation[] =>
  repeats(account).map(({ effect, place, by }) => ({
    promise: "P1",
    what:
      effect === "idempotent"
        ? `two keys: ${place} ${by.join(", ")}`
        : `${effect} twice: ${place} by ${by.join(", ")}`,
  }));

const isHeldUp = ({ at, sentAt }: Act) => at - sentAt > heldUpMs;
/** Less than the claim's grace. */
const heldUpMs = 1_500;

const sagaOf = ({ key }: Asked): SagaId => key.split(".")[0] as SagaId;
/** An undoing is known by its key: an effect that stands again is undone again. */
const placeOf = (one: Asked): string =>
  `${sagaOf(one)} ${one.tool} ${one.undoes === undefined ? one.place : one.key}`;

function grouped<T>(list: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) groups.set(nameOf(item), [...(groups.get(nameOf(item)) ?? []), item]);
  return groups;
}

// P2

function inputs(account: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  const dead = new Set(account.dead.map(({ headers }) => Number(headers[names.origin]?.split("#")[1])));
  const early = account.dead.flatMap(({ headers }): Violation[] =>
    headers[names.reason]?.includes("SAGA_UNKNOWN") === true &&
    readings.has(headers[names.origin]?.split(".")[2] as SagaId)
      ? [
          {
            promise: "P2",
            what: `set aside as unknown, though it was started: ${headers[names.origin] ?? ""}`,
          },
        ]
      : [],
  );
  const lost = account.inputs.flatMap((input): Violation[] =>
    dead.has(input.seq) || isTaken(input, readings)
      ? []
      : [{ promise: "P2", what: `lost: ${input.subject}#${input.seq} ${text(input)}` }],
  );
  return [...lost, ...early, ...[...readings.values()].flatMap(twice)];
}

const text = ({ data }: StoredInput): string => Buffer.from(data).toString().slice(0, 160);

function isTaken(input: StoredInput, readings: ReadonlyMap<SagaId, Reading>): boolean {
  const address = parseInboxSubject(input.subject);
  const reading = readings.get(address.saga);
  if (reading === undefined) return false;
  switch (address.kind) {
    case "start": {
      const { input: wanted } = JSON.parse(Buffer.from(input.data).toString()) as { input: unknown };
      const first = reading.turns[0]?.turn.steps[0]?.event;
      return first?.type === "start" && canonicalJson(first.input) === canonicalJson(wanted);
    }
    case "timer":
    case "task": // See the table.
      return true;
    case "signal": {
      const id = input.headers[names.event] ?? input.msgId ?? `inbox-${input.seq}`;
      return signalsOf(reading).includes(id);
    }
    case "result":
      return isResultTaken(
        reading,
        address.intent,
        JSON.parse(Buffer.from(input.data).toString()) as SaidResult,
      );
  }
}

interface SaidResult {
  readonly outcome: string;
  readonly output?: unknown;
}

/** What a body answers that misbehaves: no output of its tool's. */
const isUnreadable = (output: unknown): boolean =>
  typeof output === "object" && output !== null && "nonsense" in output;

/**
 * A success says something new unless the intent has one already; so does any end of a child. A success that
 * cannot be read puts its intent in doubt, and says nothing new of one that is.
 */
function isResultTaken(reading: Reading, intent: IntentId, { outcome, output }: SaidResult): boolean {
  const results = reading.results.get(intent) ?? [];
  const tool = reading.tools.get(intent)?.intent;
  if (tool === undefined || isUnreadable(output)) return results.length > 0;
  if (outcome !== "succeeded" || tool.name === "look" || tool.name === "peek") return true;
  return (
    results.some(({ result }) => result.outcome === "succeeded") || humanSays(reading, intent) === "happened"
  );
}

const eventsOf = ({ turns }: Reading) => turns.flatMap(({ turn }) => turn.steps.map(({ event }) => event));
const signalsOf = (reading: Reading): string[] =>
  eventsOf(reading).flatMap((event) => (event.type === "signal" ? [event.id] : []));

/** What a person said of an intent in doubt. */
function humanSays(reading: Reading, of: IntentId): "happened" | "did_not_happen" | undefined {
  const tasks = new Set<IntentId>();
  for (const { turn } of reading.turns)
    for (const { intents } of turn.steps)
      for (const intent of intents)
        if (intent.kind === "task" && intent.about === "doubt" && intent.of === of) tasks.add(intent.id);
  for (const event of eventsOf(reading))
    if (event.type === "task" && tasks.has(event.intent))
      return (event.vote.answer as { outcome: "happened" | "did_not_happen" }).outcome;
  return undefined;
}

function twice(reading: Reading): Violation[] {
  const marks = eventsOf(reading).flatMap((event): string[] => {
    if (event.type === "signal") return [`signal ${event.id}`];
    if (event.type === "task") return [`vote ${event.id}`];
    if (event.type === "timer") return [`timer ${event.intent}`];
    return event.type === "result" && event.result.outcome === "succeeded"
      ? [`success of ${event.intent}`]
      : [];
  });
  const again = marks.filter((mark, at) => marks.indexOf(mark) !== at);
  return [...new Set(again)].map((mark) => ({ promise: "P2", what: `twice in ${reading.saga}: ${mark}` }));
}

/** What a deferred call waits for runs out for the attempt that was deferred, not for a later one. */
function untimely({ saga, turns, tools }: Reading): Violation[] {
  const attempts = new Map<IntentId, number>();
  const deferred = new Map<IntentId, number>();
  const violations: Violation[] = [];
  for (const { event, intents } of turns.flatMap(({ turn }) => turn.steps)) {
    if (event.type === "deferred") deferred.set(event.intent, event.attempt);
    if (
      event.type === "timer" &&
      tools.has(event.intent) &&
      deferred.get(event.intent) !== (attempts.get(event.intent) ?? 1)
    )
      violations.push({
        promise: "END",
        what: `${event.intent} of ${saga} ran out of time before it was deferred`,
      });
    for (const intent of intents) if (intent.kind === "retry") attempts.set(intent.id, intent.attempt);
  }
  return violations;
}

// END

function ends({ sagas, rested, open, busy }: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  const stuck = [...new Set([...sagas, ...readings.keys()])].flatMap((saga): Violation[] => {
    const state = readings.get(saga)?.state;
    if (state?.phase.kind === "ended" && Object.keys(state.open).length === 0) return [];
    const left =
      state === undefined
        ? "has no ledger"
        : `${state.phase.kind}, open: ${JSON.stringify(state.open).slice(0, 300)}`;
    return [{ promise: "END", what: `${saga} ${left}` }];
  });
  if (rested || stuck.length > 0) return stuck;
  return [
    {
      promise: "END",
      what: `no rest: ${open.inbox} inputs and ${open.work} work messages open; ${busy.join(", ")}`,
    },
  ];
}

// LIE

/** An effect that was done is recorded as such, or as in doubt. */
function lies({ acts }: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  return acts.flatMap((act): Violation[] => {
    const reading = readings.get(sagaOf(act));
    const id = reading?.byKey.get(act.key);
    if (act.effect === "read" || reading?.state === undefined || id === undefined) return [];
    if (Object.hasOwn(reading.state.doubts, id)) return [];
    const last = (reading.results.get(id) ?? []).at(-1)?.result.outcome;
    const said = humanSays(reading, id) ?? last ?? "nothing";
    if (said === "succeeded" || said === "happened" || said === "in_doubt") return [];
    if (act.effect !== "once" && said === "failed" && (reading.results.get(id) ?? []).length >= 40) return [];
    return [{ promise: "LIE", what: `${act.tool} ${act.key} was done at ${act.at}, recorded is ${said}` }];
  });
}

/** A saga that did not complete leaves nothing that could have been undone; and undoes nothing twice. */
function undoings({ acts, stoodStill }: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  const undone = grouped(
    acts.filter(({ undoes }) => undoes !== undefined),
    ({ undoes }) => undoes ?? "",
  );
  const standing = acts.flatMap((act): Violation[] => {
    const reading = readings.get(sagaOf(act));
    if (
      act.undoes !== undefined ||
      !isUndoable(act.tool) ||
      reading?.end === undefined ||
      reading.end.status === "completed"
    )
      return [];
    const after = (undone.get(act.key) ?? []).filter(({ at }) => at >= act.at);
    const id = reading.byKey.get(act.key);
    const isReported = (reading.results.get(id as IntentId) ?? []).some(
      ({ result }) => result.outcome === "succeeded",
    );
    const isSecond = act.effect === "probe" && stoodStill(act);
    if (after.length > 0 || (undone.has(act.key) && (!isReported || isSecond))) return [];
    if (
      reading.end.standing.some((line) => line.endsWith(act.key)) &&
      Object.values(reading.state?.effects ?? {}).some(({ key, stuck }) => key === act.key && stuck === true)
    )
      return [];
    return [
      {
        promise: "LIE",
        what: `${sagaOf(act)} ended ${reading.end.status}, and ${act.tool} ${act.key} stands`,
      },
    ];
  });
  const doubled = [...undone].flatMap(([key, group]): Violation[] => {
    const reading = readings.get(key.split(".")[0] as SagaId);
    const keys = new Set(group.map((act) => act.key));
    const corrected =
      reading !== undefined && isCorrected(reading, reading.byKey.get(key) as IntentId) ? 1 : 0;
    return keys.size > 1 + corrected
      ? [{ promise: "LIE", what: `${key} was undone ${keys.size} times` }]
      : [];
  });
  return [...standing, ...doubled];
}

/** An effect in doubt was to be undone, and then turned out to stand: it is undone for what it is. */
function isCorrected({ turns }: Reading, id: IntentId): boolean {
  const steps = turns.flatMap(({ turn }) => turn.steps);
  const undoneAt = steps.findIndex(({ intents }) =>
    intents.some((intent) => intent.kind === "tool" && intent.undoes === id),
  );
  return steps
    .slice(undoneAt + 1)
    .some(
      ({ event }) =>
        event.type === "task" ||
        (event.type === "result" && event.intent === id && event.result.outcome === "succeeded"),
    );
}

// HOP

/** Each lease, and each delay, is hundreds of milliseconds at least: more means that it is handed on while another has it. */
const hopsMax = 60;

function hops({ hops: counts }: Account): Violation[] {
  return [...counts].flatMap(([seq, count]): Violation[] =>
    count > hopsMax ? [{ promise: "HOP", what: `input #${seq} was handed on ${count} times` }] : [],
  );
}

/** A turn is decided by a host that serves what the saga was started as, and that is what was asked for. */
function strangers({ pools, inputs: stored }: Account, readings: ReadonlyMap<SagaId, Reading>): Violation[] {
  if (pools === undefined) return [];
  const violations: Violation[] = [];
  for (const { saga, turns } of readings.values()) {
    const event = turns[0]?.turn.steps[0]?.event;
    if (event?.type !== "start") continue;
    const { version } = event.definition;
    const asked = stored.flatMap((input) =>
      input.subject === `saga.${saga}.start` ? [versionIn(input)] : [],
    );
    if (asked.length > 0 && !asked.includes(version) && !asked.includes(undefined))
      violations.push({
        promise: "HOP",
        what: `${saga} was started as version ${version}, and asked for as ${String(asked)}`,
      });
    for (const { turn } of turns) {
      const pool = pools[Number(/^host-(\d+)#/.exec(turn.host)?.[1])];
      if (pool !== "both" && pool !== (version === 1 ? "first" : "second"))
        violations.push({
          promise: "HOP",
          what: `turn ${turn.turn} of ${saga}, version ${version}, is by ${turn.host}`,
        });
    }
  }
  return violations;
}

const versionIn = ({ data, headers }: StoredInput): number | undefined =>
  (decode(data, headers[names.contentType] ?? contentTypes.json) as { version?: number }).version;
