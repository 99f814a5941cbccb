/**
 * Forking: a start that names another saga's turn. The client only asks; the host that takes the start copies the
 * turns (services/host/fork.ts).
 */
import { presentDefinition } from "../../actors/kernel/replay.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { EventOf, StartMessage } from "../../protocol/event.ts";
import { minOf } from "../../protocol/extremes.ts";
import { z } from "zod";
import { type Effects, ForkOrder } from "../../protocol/fork.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId, turnOf } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { replyLimits, toValue } from "../../protocol/value.ts";
import { type ModelAnswer, ModelReply } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { StoredTurn } from "../ledger/reader.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { notOpen, openSpan } from "../ledger/open-span.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { readLedger } from "../views/view.ts";

interface ForkDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs">;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** Where a fork leaves its origin, and how it goes on. */
export interface ForkOptions {
  /**
   * The last turn that both share. May be left out where `toolResults` or `modelOutputs` say it: the last turn after
   * which all of them were open.
   */
  readonly from?: number;
  /** The fork's id; `<origin>-fork-<time and chance>` unless given. */
  readonly id?: string;
  /** A model of the application's, asked from then on in place of the definition's. */
  readonly model?: string;
  /** In place of an agent's instructions. What every model is told besides stays. */
  readonly instructions?: string;
  /** What calls of tools and of sub-agents that are open at that turn came to, in place of what was recorded. */
  readonly toolResults?: Readonly<Record<string, { succeeded: unknown } | { failed: string }>>;
  /**
   * What the model says in place of what was recorded, by turn: the turn that asked it or the one that recorded its
   * reply. `model` may be left out.
   */
  readonly modelOutputs?: Readonly<Record<number, Omit<ModelAnswer, "model"> & { readonly model?: string }>>;
  /** Signals that the fork hears first. */
  readonly signals?: readonly { readonly name: string; readonly data?: unknown }[];
  /**
   * `simulated` (default): nothing outside is touched; a call that recurs is answered as recorded, any other by a value
   * that its schema accepts. `live`: performed, under keys of the fork's own. `forbidden`: refused.
   */
  readonly effects?: Effects;
}

/** A fork that was asked for. */
export interface Forked {
  readonly id: SagaId;
  readonly name: string;
  readonly turn: number;
}

/**
 * Stores the start of a fork. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, TURN_UNKNOWN, INTENT_UNKNOWN, NOT_OPEN_THEN, SAGA_ENDED,
 * INPUT_INVALID, and SAGA_ID_TAKEN for an id that is another saga's.
 */
export async function forkSaga(
  deps: ForkDeps,
  origin: SagaId,
  options: ForkOptions,
  send: (start: ForkStart) => Promise<void>,
): Promise<Forked> {
  const stored = await readLedger(deps.ports, origin);
  const turns = stored.map(({ turn }) => turn);
  const order = orderOf(origin, stored, options);
  const start = startOf(turns);
  assertNotEnded(origin, turns, order.turn);
  const id = options.id === undefined ? mintForkId(origin, deps.clock, deps.chance) : parseSagaId(options.id);
  // The one that decided the last shared turn.
  const { name, version, hash } = presentDefinition(turns.slice(0, order.turn));
  await send({
    saga: id,
    body: { name, version, hash, input: start.input, fork: order },
  });
  return { id, name, turn: order.turn };
}

export interface ForkStart {
  readonly saga: SagaId;
  readonly body: StartMessage;
}

/** An id that sorts by age among the forks of one saga. */
function mintForkId(origin: SagaId, clock: Clock, chance: Chance): SagaId {
  const suffix = `-fork-${clock.now().toString(36)}${Math.floor(chance.random() * 36 ** 3)
    .toString(36)
    .padStart(3, "0")}`;
  return parseSagaId(`${origin.slice(0, 64 - suffix.length)}${suffix}`);
}

const startOf = (turns: readonly Turn[]): EventOf<"start"> => {
  const start = turns[0]?.steps[0]?.event;
  if (start?.type !== "start") throw new MeshError("LEDGER_BROKEN", "a ledger begins with a start");
  return start;
};

function orderOf(saga: SagaId, stored: readonly StoredTurn[], options: ForkOptions): ForkOrder {
  const turns = stored.map(({ turn }) => turn);
  const { effects, model, instructions, signals = [] } = options;
  const results = [...toolResultsOf(options), ...modelResultsOf(saga, turns, options)];
  const turn = options.from ?? impliedTurn(saga, turns, results);
  const head = stored[turn - 1]?.head.hash;
  if (head === undefined)
    throw new MeshError("TURN_UNKNOWN", `${saga} has turns 1 to ${turns.length}, and no turn ${turn}`);
  const account = accountOf(turns);
  for (const { intent } of results) {
    const span = openSpan(account, intent);
    const isOpen = span !== undefined && span.from <= turn && turn <= span.through;
    if (!isOpen) throw notOpen(intent, { saga, turn }, span);
  }
  const asked = {
    ...{ saga, turn, head, effects, model, instructions },
    ...(results.length === 0 ? {} : { results }),
    ...(signals.length === 0 ? {} : { signals: signals.map(({ name, data = null }) => ({ name, data })) }),
  };
  const read = ForkOrder.safeParse(toJson(asked));
  if (read.success) return read.data;
  throw new MeshError("INPUT_INVALID", `the fork of ${saga}: ${z.prettifyError(read.error)}`);
}

type Given = { readonly intent: IntentId; readonly result: Result };

const toolResultsOf = ({ toolResults = {} }: ForkOptions): Given[] =>
  Object.entries(toolResults).map(([intent, said]) => ({
    intent: parseIntentId(intent),
    result:
      "succeeded" in said
        ? { outcome: "succeeded", output: toValue(said.succeeded) }
        : { outcome: "failed", code: "TOOL_FAILED", reason: said.failed, retry: false },
  }));

function modelResultsOf(saga: SagaId, turns: readonly Turn[], { modelOutputs = {} }: ForkOptions): Given[] {
  return Object.entries(modelOutputs).map(([turn, said]) => {
    const intent = decisionOf(saga, turns, Number(turn));
    const reply = ModelReply.safeParse(toValue({ model: "given", ...said }, replyLimits));
    if (!reply.success)
      throw new MeshError(
        "INPUT_INVALID",
        `the model's output for turn ${turn}: ${z.prettifyError(reply.error)}`,
      );
    return { intent, result: { outcome: "succeeded", output: toJson(reply.data) } };
  });
}

/** The decision whose reply a turn recorded, else the one it asked for. */
function decisionOf(saga: SagaId, turns: readonly Turn[], turn: number): IntentId {
  const steps = turns[turn - 1]?.steps;
  if (steps === undefined)
    throw new MeshError("TURN_UNKNOWN", `${saga} has turns 1 to ${turns.length}, and no turn ${turn}`);
  const models = new Set(
    turns.flatMap((one) =>
      one.steps.flatMap(({ intents }) => intents.flatMap(({ kind, id }) => (kind === "model" ? [id] : []))),
    ),
  );
  const replied = steps.flatMap(({ event }) =>
    event.type === "result" && event.result.outcome === "succeeded" && models.has(event.intent)
      ? [event.intent]
      : [],
  );
  const asked = [...models].filter((id) => turnOf(id) === turn);
  const found = replied[0] ?? asked.at(-1);
  if (found !== undefined) return found;
  throw new MeshError("INTENT_UNKNOWN", `turn ${turn} of ${saga} asks no model and records no reply of one`, {
    remedy: "`sagamesh inspect SAGA` lists the decisions with their turns.",
  });
}

/** The last turn after which everything that is given was open. */
function impliedTurn(saga: SagaId, turns: readonly Turn[], results: readonly Given[]): number {
  if (results.length === 0)
    throw new MeshError("INPUT_INVALID", `the turn of ${saga} to fork from is missing`, {
      remedy: "Name it with --from TURN (`from`), or give a result of what was open at it.",
    });
  const account = accountOf(turns);
  return minOf(results.map(({ intent }) => openSpan(account, intent)?.through ?? turns.length));
}

/** What an end decided later wakes up again is too rare to be told from here: the host judges by its fold. */
function assertNotEnded(saga: SagaId, turns: readonly Turn[], at: number): void {
  const end = turns.find(({ steps }) =>
    steps.some(({ intents }) => intents.some(({ kind }) => kind === "end")),
  );
  if (end === undefined || end.turn > at) return;
  if (turns.slice(end.turn, at).length > 0) return;
  throw new MeshError("SAGA_ENDED", `${saga} ended in turn ${end.turn}, so there is nothing to go on with`, {
    remedy: `Fork from turn ${end.turn - 1} or an earlier one.`,
  });
}
