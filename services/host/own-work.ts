/**
 * Own work: what a saga's host performs itself: model calls, and tools with placement "host".
 */
import { plainRequest } from "../../actors/kernel/issue.ts";
import { isSimulated } from "../../actors/kernel/lineage.ts";
import { usageOf } from "../../actors/kernel/settle.ts";
import { excessOf } from "../../actors/kernel/spending.ts";
import { recallFrom, recallTool } from "../../actors/request/recall.ts";
import { type BuiltRequest, buildRequest } from "../../actors/request/request.ts";
import type { OpenIntent } from "../../actors/contract/state.ts";
import { framed, varied } from "../../actors/request/variant.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { lanes } from "../../protocol/live.ts";
import type { Message } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { CutOff } from "../perform/cut-off.ts";
import type { Throttled } from "../../protocol/throttle.ts";
import { routed } from "../app/fallback.ts";
import { decide } from "../perform/decide.ts";
import { observed } from "../perform/observe.ts";
import { perform, type Performed } from "../perform/perform.ts";
import { enterModel } from "./enter-model.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Loaded } from "./load.ts";
import { simulate } from "./simulate.ts";
import { createTokenTeller } from "./tell-tokens.ts";

export interface OwnWorkContext {
  readonly cutOff: CutOff;
  /** A signal brought this call about: others may follow at once, and one call should see them all. */
  readonly settleFirst: boolean;
  readonly mayBegin: () => boolean;
  /** The saga as it is now; undefined once it is somebody else's. */
  readonly current: () => Pick<Loaded, "definition" | "state"> | undefined;
  readonly messages: () => Promise<readonly Message[]>;
}

/** Performs one attempt. Rejects if it is called off before it began. */
export async function performOwn(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  context: OwnWorkContext,
): Promise<Performed> {
  const waitMs = Math.max(
    (open.notBefore ?? 0) - deps.clock.now(),
    context.settleFirst ? limits.signalSettleMs : 0,
  );
  if (waitMs > 0) await deps.clock.sleep(waitMs, context.cutOff.signal);
  const { intent } = open;
  const loaded = context.current();
  if (loaded !== undefined && isSimulated(loaded.state, intent))
    return inRoom(deps, context, "tool", nameOf(intent), async () =>
      context.mayBegin() ? simulate(deps, loaded, open) : { type: "silent" },
    );
  if (intent.kind === "model") return askModel(deps, saga, open, intent, context);
  if (intent.kind !== "tool") throw new MeshError("INTERNAL", `a host performs no ${intent.kind}`);
  if (intent.name === recallTool.name)
    return inRoom(deps, context, "tool", intent.name, () => recallOwn(open, context));
  const tool = deps.app.tools.get(intent.name);
  const body = deps.app.bodies.get(intent.name);
  if (tool === undefined || body === undefined)
    throw new MeshError("TOOL_UNSERVED", `${intent.name} has no body here`);
  const performDeps = {
    claims: deps.ports.claims,
    clock: deps.clock,
    chance: deps.chance,
    callbackBase: deps.callbackBase,
    callbackUrlOf: deps.callbackUrlOf,
    progress: (_: unknown, note: unknown) =>
      deps.live(saga, lanes.progress, toJson({ intent: intent.id, attempt: open.attempt, note })),
  };
  const attempt = { saga, intent: intent.id, attempt: open.attempt, key: intent.key, input: open.input };
  return inRoom(deps, context, "tool", tool.name, async () =>
    context.mayBegin() ? perform(performDeps, tool, body, attempt, context) : { type: "silent" },
  );
}

/** From the saga's own ledger, which this host has folded or folds now. */
async function recallOwn({ input }: OpenIntent, context: OwnWorkContext): Promise<Performed> {
  const messages = await context.messages();
  return context.mayBegin() ? { type: "result", result: recallFrom(messages, input) } : { type: "silent" };
}

/** What only waits, for a time or for a model's turn, takes no room. */
function inRoom(
  deps: HostDeps,
  { cutOff }: OwnWorkContext,
  kind: "tool" | "model",
  name: string,
  act: () => Promise<Performed>,
): Promise<Performed> {
  const enter = () => observed(deps, kind, name, act, deps.room.leave);
  const wait = deps.room.enter(cutOff);
  return wait === undefined ? enter() : wait.then(enter);
}

const nameOf = (intent: OpenIntent["intent"]): string => ("name" in intent ? intent.name : intent.kind);

async function askModel(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<Performed> {
  const loaded = context.current();
  if (loaded === undefined) return { type: "silent" };
  const { order, route, port, leave } = await enterModel(deps, intent.name, open.ask, context.cutOff.signal);
  const ask = async (): Promise<Performed> => {
    const built = await requestOf(loaded, saga, open, intent, context);
    if (!context.mayBegin()) return { type: "silent" };
    const tokens = createTokenTeller(deps, saga, open);
    const price = context.current()?.state.budget?.prices?.[route.asked] ?? deps.app.priceOf(route.asked);
    const { references } = loaded.definition;
    const options = { digest: intent.request, cutOff: context.cutOff, price, references };
    const result =
      port === undefined
        ? unknownModel(route.asked)
        : await decide({ clock: deps.clock, live: tokens.tell }, port, built, options);
    tokens.ended(result);
    const beyond = excessOf(intent.budget, usageOf(result), price);
    if (beyond !== undefined)
      deps.log.warn(
        { sagaId: saga, intentId: intent.id, model: route.asked, beyond },
        "model cost more than was reserved",
      );
    if (result.outcome === "failed" && result.retryAfterMs !== undefined)
      await slowDown(deps, { kind: "model", name: route.asked }, result.retryAfterMs);
    return {
      type: "result",
      result: order === undefined ? result : routed(order, route, open.attempt, result),
    };
  };
  try {
    return await inRoom(deps, context, "model", intent.name, ask);
  } finally {
    leave();
  }
}

const unknownModel = (name: string): Result => ({
  outcome: "failed",
  code: "MODEL_UNKNOWN",
  reason: `no port is named ${name}`,
  retry: true,
});

/** The provider has asked every host to wait, not only this one. */
async function slowDown(deps: HostDeps, model: Throttled, ms: number): Promise<void> {
  deps.log.warn({ model: model.name, retryAfterMs: ms }, "model slowed down");
  await deps.throttle
    .slow(model, ms)
    .catch((error: unknown) => deps.log.warn({ err: error, model: model.name }, "model not slowed down"));
}

async function requestOf(
  { definition, state }: Pick<Loaded, "definition" | "state">,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<BuiltRequest> {
  // As issue.ts made it.
  const asked = open.input as { step: number; now: number; outputTokensMax?: number };
  const variant = state.fork?.variant;
  const { frame, frameDigest } = framed(definition, variant);
  if (frame !== undefined)
    return buildRequest({ ...definition, frame, frameDigest }, saga, asked, await context.messages());
  // A machine may bind several calls of one model; the digest recorded tells which one this is.
  const requests = definition.modelCalls
    .map((call) => varied(call, variant))
    .filter((call) => call.model === intent.name)
    .map((call) => plainRequest(saga, call, intent.input ?? null, asked));
  const request = requests.find(({ digest }) => digest === intent.request) ?? requests[0];
  if (request === undefined)
    throw new MeshError("INTERNAL", `${definition.name} binds no call of ${intent.name}`);
  return request;
}
