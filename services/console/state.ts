/**
 * State: what of a saga its ledger tells only together with its definition: the three sides of its state, a workflow's plan with
 * its verdicts, and what a model was sent. Each is made of the ledger anew, by the application that the console was given.
 */
import { parseIntentId, type SagaId } from "../../protocol/ids.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { PromptDocument } from "../../protocol/documents/prompt.ts";
import {
  type ApplicationState,
  type Dimension,
  dimensions,
  type OperationState,
  type StateDocument,
} from "../../protocol/documents/state.ts";
import type { App } from "../app/app.ts";
import { type ReadUpTo, turnsUpTo } from "../views/up-to.ts";
import type { LoopPort } from "../wire/ports.ts";
import type { MemoryDocument, PlanPicture, SideDocument } from "./documents.ts";
import { folded } from "./folding.ts";
import { planPictureOf } from "./plan-picture.ts";
import type { SagaTeller } from "./saga.ts";

/** Each throws what `SagaTeller` does, VERSION_UNSERVED and FOLD_DIVERGED. */
export interface StateTeller {
  /** As it stands, or as it stood after the turn. Throws USAGE for a dimension that there is not. */
  side(saga: SagaId, dimension: string, turn?: number): Promise<SideDocument>;
  /** Of a workflow; of any other saga a plan of no nodes. */
  plan(saga: SagaId, turn?: number): Promise<PlanPicture>;
  /** What an agent remembers now; undefined where this console has no definition by which its ledger folds. */
  memory(saga: SagaId): Promise<MemoryDocument | undefined>;
  /** The request of one call of a model, and whether it is the one whose digest was recorded. Throws INTENT_UNKNOWN, BAD_ID. */
  prompt(saga: SagaId, intent: string, isWhole: boolean): Promise<PromptDocument>;
}

/** A long ledger's latest; a person who reads more has the command line. */
const rowsMax = 500;

/** `app`: whose definitions these are; undefined: what asks for one is told how the console gets it. */
export function createStateTeller(
  teller: Pick<SagaTeller, "turns">,
  app: App | undefined,
  loop: LoopPort | undefined,
): StateTeller {
  const own = (): App => {
    if (app !== undefined) return app;
    throw new MeshError("VERSION_UNSERVED", "this follows from definitions, and this console has none", {
      remedy:
        "Start it with the application file: `sagamesh console --app FILE`. The console of `sagamesh up` has its own.",
    });
  };
  const reading = async (saga: SagaId, turn: number | undefined): Promise<ReadUpTo> => {
    const { turns, of } = await teller.turns(saga, turn);
    const read = turnsUpTo(turns, loop);
    return async (begin, through) => ({ ...(await read(begin, through)), of });
  };
  const stateOf = async (saga: SagaId, dimension: Dimension, turn: number | undefined) => {
    const { readState } = await import("../views/state-view.ts");
    return readState(own(), await reading(saga, turn), dimension);
  };
  return {
    side: async (saga, word, turn) => {
      const dimension = dimensions.find((one) => one === word);
      if (dimension === undefined)
        throw new MeshError("USAGE", `a state has the sides ${dimensions.join(", ")}, and no "${word}"`);
      return shown(await stateOf(saga, dimension, turn));
    },
    plan: async (saga, turn) => {
      const dependency = await stateOf(saga, "dependency", turn);
      // Of the same turns: the ledger may have grown meanwhile.
      const operation = await stateOf(saga, "operation", dependency.turn);
      if (dependency.dimension !== "dependency" || operation.dimension !== "operation")
        throw new MeshError("INTERNAL", "a side of a state is the one that was asked for");
      return planPictureOf(dependency, operation);
    },
    memory: async (saga) => {
      if (app === undefined) return undefined;
      const state = await stateOf(saga, "application", undefined).catch(noneIfOthers);
      if (state?.dimension !== "application") return undefined;
      const { turn, memory } = state;
      if (memory === undefined) return { of: turn, why: "it has no memory" };
      return { of: turn, turn, memory: folded(memory) };
    },
    prompt: async (saga, word, isWhole) => {
      const intent = parseIntentId(word);
      const { readPrompt } = await import("../views/prompt.ts");
      const document = await readPrompt(own(), await reading(saga, undefined), intent);
      return isWhole ? document : { ...document, request: folded(document.request) };
    },
  };
}

/** The application has other code, or none of it. */
function noneIfOthers(error: unknown): undefined {
  if (isMeshError(error, "VERSION_UNSERVED") || isMeshError(error, "FOLD_DIVERGED")) return undefined;
  throw error;
}

/** With long values folded, and the latest of what grows. */
function shown(state: StateDocument): SideDocument {
  if (state.dimension === "dependency") return { state, leftOut: 0 };
  return state.dimension === "application" ? application(state) : operation(state);
}

function application(state: ApplicationState): SideDocument {
  const { input, entities, memory, signals, changes, checkpoints, standing } = state;
  return {
    leftOut: leftOf(checkpoints) + leftOf(standing),
    state: {
      ...state,
      input: folded(input),
      entities: each(entities),
      ...(memory === undefined ? {} : { memory: folded(memory) }),
      ...{ signals: each(signals), changes: each(changes) },
      ...{ checkpoints: checkpoints.slice(-rowsMax), standing: standing.slice(-rowsMax) },
    },
  };
}

function operation(state: OperationState): SideDocument {
  const transactions = state.transactions.slice(-rowsMax).map(({ input, output, ...one }) => ({
    ...one,
    ...(input === undefined ? {} : { input: folded(input) }),
    ...(output === undefined ? {} : { output: folded(output) }),
  }));
  return { leftOut: leftOf(state.transactions), state: { ...state, transactions } };
}

const leftOf = (rows: readonly unknown[]): number => Math.max(0, rows.length - rowsMax);
const each = (values: Readonly<Record<string, Json>>): Record<string, Json> =>
  folded(values) as Record<string, Json>; // It keeps what is an object one.
