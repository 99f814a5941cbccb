/**
 * State, of turns at hand: the three dimensions where all of a ledger is held. The reference of what is shown as it is read.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { applicationOf, committedRuns, dependencyOf, recoveryOf } from "../../actors/workflow/dimensions.ts";
import { nodeOfCall } from "../../actors/workflow/context.ts";
import { isWorkflow } from "../../actors/workflow/kind.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type {
  ApplicationState,
  Dimension,
  OperationState,
  StateDocument,
} from "../../protocol/documents/state.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { servedDefinition, viewingByFold } from "../../services/views/folded.ts";
import type { Account } from "../../services/ledger/account.ts";
import { accounting } from "../../services/ledger/account-reader.ts";
import { standingIn } from "../../services/views/state-view.ts";
import { type IntentView, viewOfAccount } from "../../services/views/view.ts";

/** In pieces. `of` is how many turns the whole ledger has. Throws as `viewingByFold` does. */
export function* stateOf(
  app: App,
  turns: readonly Turn[],
  dimension: Dimension,
  of = turns.length,
): Generator<undefined, StateDocument> {
  const last = turns.at(-1);
  if (last === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  const definition = servedDefinition(app, turns);
  const viewing = yield* viewingByFold(app, turns);
  const { state } = viewing;
  const common = { saga: last.saga, turn: last.turn, at: last.at, of };
  const isGraph = isWorkflow(definition);
  const account = yield* accounting(turns);
  const undone = undoneCalls(account);
  if (dimension === "dependency")
    return { ...common, dimension, ...dependencyOf({ definition, state }, undone) };
  const view = viewOfAccount(account, viewing);
  const effects = new Map(state.effects.map((effect) => [effect.intent, effect]));
  const timeOf = new Map(turns.map(({ turn, at }) => [turn, at]));
  if (dimension === "application") {
    const said = applicationOf({ definition, state }, undone);
    const others = isGraph ? {} : standingOutputs(view.intents, new Set(effects.keys()));
    return {
      ...{ ...common, dimension, ...said, input: view.input, standing: standingIn(state, isGraph) },
      entities: { ...others, ...said.entities },
      checkpoints: isGraph ? yield* commitsOf(definition, turns) : checkpointsOf(view.intents, timeOf),
    };
  }
  const words = reasoningOf(account);
  const transactions = view.intents.flatMap((one): OperationState["transactions"] => {
    const { intent } = one;
    if ((intent.kind !== "tool" && intent.kind !== "saga") || intent.for !== undefined) return [];
    const { call, undoes } = intent;
    const isNode = isGraph && call !== undefined;
    const reasoning = call === undefined || isNode ? undefined : words.get(call.slice(0, call.indexOf(".")));
    const settledAt = one.settledTurn === undefined ? undefined : timeOf.get(one.settledTurn);
    return [
      {
        ...{ transaction: intent.id, agent: view.definition.name, kind: intent.kind, name: intent.name },
        ...(call === undefined ? {} : { call }),
        ...(isNode ? { node: nodeOfCall(call) } : {}),
        ...(one.input === undefined ? {} : { input: one.input }),
        ...(one.output === undefined ? {} : { output: one.output }),
        ...{ attempts: one.attempt, outcome: one.outcome ?? "open", startedAt: timeOf.get(one.turn) ?? 0 },
        ...(one.reason === undefined ? {} : { reason: one.reason }),
        ...(settledAt === undefined ? {} : { settledAt }),
        ...(reasoning === undefined ? {} : { reasoning }),
        ...(undoes === undefined ? {} : { undoes }),
        ...recoveryOf(effects.get(intent.id), account.undone.has(intent.id)),
      },
    ];
  });
  return { ...common, dimension, transactions };
}

const undoneCalls = ({ undone, intents }: Account): Set<string> =>
  new Set(
    [...undone.keys()].flatMap((id) => {
      const intent = intents.get(id)?.intent;
      return intent !== undefined && "call" in intent ? (intent.call ?? []) : [];
    }),
  );

/** What stands of a saga that is no workflow, by intent. */
const standingOutputs = (
  intents: readonly IntentView[],
  standing: ReadonlySet<IntentId>,
): ApplicationState["entities"] =>
  Object.fromEntries(
    intents.flatMap(({ intent, output }) =>
      standing.has(intent.id) && output !== undefined && "name" in intent
        ? [[`${intent.id} ${intent.name}`, output]]
        : [],
    ),
  );

/** The turns in which runs of a workflow's nodes committed: after all who judge them, not when they succeeded. */
function* commitsOf(
  definition: Definition,
  turns: readonly Turn[],
): Generator<undefined, ApplicationState["checkpoints"]> {
  const known = new Set<string>();
  const commits: ApplicationState["checkpoints"][number][] = [];
  let state: SagaState | undefined;
  for (const { saga, turn, at, steps } of turns) {
    // Not compared with the record: the whole ledger was, before.
    ({ state } = decideTurn(definition, state, { saga, at, events: steps.map(({ event }) => event) }));
    const committed = committedRuns({ state }).filter((call) => !known.has(call));
    for (const call of committed) known.add(call);
    if (committed.length > 0) commits.push({ turn, at, committed });
    yield;
  }
  return commits;
}

/** The turns after which something had succeeded, of a saga that is no workflow. */
function checkpointsOf(
  intents: readonly IntentView[],
  timeOf: ReadonlyMap<number, number>,
): ApplicationState["checkpoints"] {
  const committed = new Map<number, string[]>();
  for (const { intent, outcome, settledTurn } of intents) {
    const isDone = (intent.kind === "tool" || intent.kind === "saga") && intent.undoes === undefined;
    if (!isDone || intent.for !== undefined || outcome !== "succeeded" || settledTurn === undefined) continue;
    const known = committed.get(settledTurn) ?? [];
    committed.set(settledTurn, [...known, intent.call ?? intent.id]);
  }
  return [...committed]
    .sort(([one], [other]) => one - other)
    .map(([turn, calls]) => ({ turn, at: timeOf.get(turn) ?? 0, committed: calls }));
}

/** What an agent's model said in each of its decisions, by their numbers. */
function reasoningOf({ numbers, intents }: Account): Map<string, string> {
  const words = new Map<string, string>();
  for (const [id, number] of numbers) {
    const text = ModelReply.safeParse(intents.get(id)?.ended?.output).data?.text;
    if (text !== undefined) words.set(`${number}`, text);
  }
  return words;
}
