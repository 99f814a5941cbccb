/**
 * State view: one of the three dimensions of a saga's state, from the first turns of its ledger.
 *
 * KV1 No turn is kept: of a call what its dimension shows. When a workflow's nodes committed is found in a reading of its own, for the
 *     definition by which they did is known at the end alone.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { applicationOf, committedRuns, dependencyOf, recoveryOf } from "../../actors/workflow/dimensions.ts";
import { nodeOfCall } from "../../actors/workflow/context.ts";
import { isWorkflow } from "../../actors/workflow/kind.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type {
  ApplicationState,
  Dimension,
  OperationState,
  StateDocument,
} from "../../protocol/documents/state.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { readFolded } from "./folded.ts";
import type { Account, ToldIntent } from "../ledger/account.ts";
import { type Keeping, keepingUp, type Made } from "../ledger/kept-up.ts";
import type { ReadUpTo, TurnTaker } from "./up-to.ts";
import { type IntentView, intentView } from "./view.ts";

/** Of a ledger that is read. Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN, and as `read`. */
export async function readState(app: App, read: ReadUpTo, dimension: Dimension): Promise<StateDocument> {
  const { taker, last, of, definition, state } = await readFolded(app, read, () => gathering(dimension));
  if (last === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  const { account, calls, words } = taker.gathered();
  const common = { saga: account.saga, turn: last.turn, at: last.at, of };
  const isGraph = isWorkflow(definition);
  const undone = undoneCalls(account, calls);
  if (dimension === "dependency")
    return { ...common, dimension, ...dependencyOf({ definition, state }, undone) };
  const effects = new Map(state.effects.map((effect) => [effect.intent, effect]));
  if (dimension === "application") {
    const said = applicationOf({ definition, state }, undone);
    const others = isGraph ? {} : standingOutputs(calls.values(), new Set(effects.keys()));
    const commits = isGraph
      ? (await read(() => committing(definition), last.turn)).taker.commits
      : checkpointsOf(calls.values());
    return {
      ...{ ...common, dimension, ...said, input: account.start.input, standing: standingIn(state, isGraph) },
      entities: { ...others, ...said.entities },
      checkpoints: commits,
    };
  }
  const transactions = [...calls.values()].flatMap((one): OperationState["transactions"] => {
    if (one.isServing) return [];
    const { id, kind, name, call, undoes, outcome, output, reason } = one;
    const input = one.input ?? state.open[id]?.input;
    const isNode = isGraph && call !== undefined;
    const reasoning = call === undefined || isNode ? undefined : words.get(call.slice(0, call.indexOf(".")));
    return [
      {
        ...{ transaction: id, agent: account.definition.name, kind, name },
        ...(call === undefined ? {} : { call }),
        ...(isNode ? { node: nodeOfCall(call) } : {}),
        ...(input === undefined ? {} : { input }),
        ...(output === undefined ? {} : { output }),
        ...{ attempts: one.attempt, outcome: outcome ?? "open", startedAt: one.startedAt },
        ...(reason === undefined ? {} : { reason }),
        ...(one.settled === undefined ? {} : { settledAt: one.settled.at }),
        ...(reasoning === undefined ? {} : { reasoning }),
        ...(undoes === undefined ? {} : { undoes }),
        ...recoveryOf(effects.get(id), account.undone.has(id)),
      },
    ];
  });
  return { ...common, dimension, transactions };
}

/** A call of a tool or a saga, as far as it is shown. */
interface Call extends Pick<IntentView, "attempt" | "outcome" | "output" | "reason"> {
  readonly id: IntentId;
  readonly kind: "tool" | "saga";
  readonly name: string;
  readonly call: string | undefined;
  readonly undoes: IntentId | undefined;
  /** It serves another intent: no transaction of its own. */
  readonly isServing: boolean;
  readonly input: Json | undefined;
  readonly startedAt: number;
  readonly settled: { readonly turn: number; readonly at: number } | undefined;
}

/** What a ledger adds up to beside its fold. */
interface Gathered {
  readonly account: Account;
  /** In the order in which they were decided. */
  readonly calls: ReadonlyMap<IntentId, Call>;
  /** What an agent's model said in each of its decisions, by their numbers. */
  readonly words: ReadonlyMap<string, string>;
}

function gathering(dimension: Dimension): TurnTaker & { gathered(): Gathered } {
  const calls = new Map<IntentId, Made<Call | undefined>>();
  const words = new Map<string, string>();
  const hear = ({ intent, ended }: ToldIntent) => {
    const number = intent.kind === "model" ? keeping.account.numbers.get(intent.id) : undefined;
    if (number === undefined || ended?.output === undefined || dimension !== "operation") return;
    const text = ModelReply.safeParse(ended.output).data?.text;
    if (text !== undefined) words.set(`${number}`, text);
  };
  const keeping: Keeping<Call | undefined> = keepingUp((told) => {
    hear(told);
    return callOf(keeping.account, told, dimension);
  });
  return {
    take: (turn) =>
      keeping.take(turn, ({ intent }, call) => {
        if (call.of !== undefined) calls.set(intent.id, call);
      }),
    gathered: () => ({
      ...{ account: keeping.account, words },
      calls: new Map([...calls].flatMap(([id, { of }]) => (of === undefined ? [] : [[id, of] as const]))),
    }),
  };
}

/** Undefined of what is no call. */
function callOf(account: Account, told: ToldIntent, dimension: Dimension): Call | undefined {
  const { intent, input, place, ended } = told;
  if (intent.kind !== "tool" && intent.kind !== "saga") return undefined;
  const { attempt, outcome, output, reason } = intentView(account, told);
  const { id, kind, name, call, undoes } = intent;
  return {
    ...{ id, kind, name, call, undoes, attempt, outcome, isServing: intent.for !== undefined },
    ...{ output: dimension === "dependency" ? undefined : output, startedAt: place.at },
    ...(dimension === "operation" ? { input, reason } : { input: undefined, reason: undefined }),
    settled: ended && { turn: ended.turn, at: ended.at },
  };
}

const undoneCalls = ({ undone }: Account, calls: Gathered["calls"]): Set<string> =>
  new Set([...undone.keys()].flatMap((id) => calls.get(id)?.call ?? []));

/** All effects that stand, each with what becomes of it and who is asked. */
export function standingIn(
  { effects, plans, open }: SagaState,
  isGraph: boolean,
): ApplicationState["standing"] {
  const about = Object.values(open).flatMap(({ intent }) =>
    intent.kind === "task" && intent.of !== undefined ? [[intent.of, intent] as const] : [],
  );
  const tasks = new Map(about.toReversed()); // Of several the oldest.
  const named = new Set(plans.flatMap(({ only = [] }) => only));
  const isOfAll = plans.some(({ only }) => only === undefined);
  return effects.map(({ intent, tool, key, call, outcome, undo, undoing, stuck }) => {
    const isPlanned = undo !== undefined && (isOfAll || named.has(intent));
    const doubt = outcome === "in_doubt" ? "in doubt" : "stands";
    const task = tasks.get(intent) ?? (undoing && tasks.get(undoing));
    return {
      ...{ intent, name: tool, key },
      ...(call === undefined ? {} : { call }),
      ...(call === undefined || !isGraph ? {} : { node: nodeOfCall(call) }),
      how: stuck === true ? "stuck" : undoing !== undefined || isPlanned ? "undoing" : doubt,
      ...(task === undefined ? {} : { task: { intent: task.id, to: task.to, dueAt: task.dueAt } }),
    };
  });
}

/** What stands of a saga that is no workflow, by intent. */
function standingOutputs(
  calls: Iterable<Call>,
  standing: ReadonlySet<IntentId>,
): ApplicationState["entities"] {
  const entities: Record<string, Json> = {};
  for (const { id, name, output } of calls)
    if (standing.has(id) && output !== undefined) entities[`${id} ${name}`] = output;
  return entities;
}

/** Finds the turns in which runs of a workflow's nodes committed: after all who judge them, not when they succeeded. */
function committing(
  definition: Definition,
): TurnTaker & { readonly commits: ApplicationState["checkpoints"][number][] } {
  const growing: Growing = new WeakSet();
  const known = new Set<string>();
  const commits: ApplicationState["checkpoints"][number][] = [];
  let state: SagaState | undefined;
  return {
    commits,
    take: ({ saga, turn, at, steps }: Turn) => {
      const events = steps.map(({ event }) => event);
      // Not compared with the record: the whole ledger was, before.
      ({ state } = decideTurn(definition, state, { saga, at, events }, growing));
      const committed = committedRuns({ state }).filter((call) => !known.has(call));
      for (const call of committed) known.add(call);
      if (committed.length > 0) commits.push({ turn, at, committed });
    },
  };
}

/** The turns after which something had succeeded, of a saga that is no workflow. */
function checkpointsOf(calls: Iterable<Call>): ApplicationState["checkpoints"] {
  const committed = new Map<number, ApplicationState["checkpoints"][number]>();
  for (const { id, call, undoes, isServing, outcome, settled } of calls) {
    if (undoes !== undefined || isServing || outcome !== "succeeded" || settled === undefined) continue;
    const one = committed.get(settled.turn) ?? { ...settled, committed: [] };
    one.committed.push(call ?? id);
    committed.set(settled.turn, one);
  }
  return [...committed.values()].sort((one, other) => one.turn - other.turn);
}
