/**
 * Ask model: ⑤ one attempt of a model call by the saga's host: a place in the model's line, the request as it was
 * recorded, and what the reply costs.
 */
import { isAgent } from "../../actors/agent/kind.ts";
import type { BuiltRequest } from "../../actors/contract/definition.ts";
import { usageOf } from "../../actors/kernel/settle.ts";
import { excessOf } from "../../actors/kernel/spending.ts";
import { type OpenIntent, isOpen } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Result } from "../../protocol/result.ts";
import type { Throttled } from "../../protocol/throttle.ts";
import { routed } from "../app/fallback.ts";
import { decide } from "../perform/decide.ts";
import type { Performed } from "../perform/outcome.ts";
import { keyOf } from "../suspects/saga-key.ts";
import { enterModel } from "./enter-model.ts";
import type { HostDeps } from "./host-deps.ts";
import { inRoom, type OwnWorkContext } from "./in-room.ts";
import type { Loaded } from "./load.ts";
import { createTokenTeller } from "./tell-tokens.ts";

/** Asks once. Silent if the saga is gone, or may begin nothing more. Rejects if it is called off before it was asked. */
export async function askModel(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<Performed> {
  const loaded = context.current();
  if (loaded === undefined) return { type: "silent" };
  const { order, route, port, leave } = await enterModel(
    deps,
    intent.name,
    isOpen(open, "model") ? open.ask : undefined,
    context.cutOff.signal,
  );
  const ask = async (): Promise<Performed> => {
    const built = await requestOf(deps, loaded, saga, open, intent, context);
    if (!context.mayBegin()) return { type: "silent" };
    const tokens = createTokenTeller(deps, saga, open);
    const price = context.current()?.state.budget?.prices?.[route.asked] ?? deps.app.priceOf(route.asked);
    const references = isAgent(loaded.definition) && loaded.definition.own.references;
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
  { holding }: Pick<HostDeps, "holding">,
  { definition, state }: Pick<Loaded, "definition" | "state">,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<BuiltRequest> {
  const said = definition.kind.decision === undefined ? [] : context.messages();
  // What is in memory grows with the saga's next turn: the request is built before that can be.
  const messages = said instanceof Promise ? await said : said;
  const recorded = { saga, variant: state.fork?.variant, intent, open: open.input };
  const build = () => definition.kind.requestOf(definition, recorded, messages);
  const request = holding.during(keyOf(saga), `the request of ${intent.id}`, build);
  if (request === undefined)
    throw new MeshError("INTERNAL", `${definition.name} binds no call of ${intent.name}`);
  return request;
}
