/**
 * Own work: what a saga's host performs itself: model calls, and tools with placement "host".
 */
import type { Definition } from "../../actors/definition.ts";
import { digestOfRequest } from "../../actors/conversation.ts";
import { modelCallRequest } from "../../actors/issue.ts";
import type { OpenIntent } from "../../actors/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Message, ModelRequest } from "../../protocol/model.ts";
import type { CutOff } from "../perform/cut-off.ts";
import { decide } from "../perform/decide.ts";
import { perform, type Performed } from "../perform/perform.ts";
import type { HostDeps } from "./host-deps.ts";

export interface OwnWorkContext {
  readonly cutOff: CutOff;
  /** A signal brought this call about: others may follow at once, and one call should see them all. */
  readonly settleFirst: boolean;
  readonly mayBegin: () => boolean;
  readonly definition: () => Definition | undefined;
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
  if (intent.kind === "model") return askModel(deps, saga, open, intent, context);
  if (intent.kind !== "tool") throw new MeshError("INTERNAL", `a host performs no ${intent.kind}`);
  const tool = deps.app.tools.get(intent.name);
  const body = deps.app.bodies.get(intent.name);
  if (tool === undefined || body === undefined)
    throw new MeshError("TOOL_UNSERVED", `${intent.name} has no body here`);
  const performDeps = {
    claims: deps.ports.claims,
    clock: deps.clock,
    chance: deps.chance,
    callbackBase: deps.callbackBase,
    progress: (_: unknown, note: unknown) => deps.live(saga, "progress", toJson({ intent: intent.id, note })),
  };
  const attempt = { saga, intent: intent.id, attempt: open.attempt, key: intent.key, input: open.input };
  return perform(performDeps, tool, body, attempt, context);
}

async function askModel(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<Performed> {
  const port = deps.app.models.get(intent.name);
  const definition = context.definition();
  if (definition === undefined) return { type: "silent" };
  if (port === undefined)
    return {
      type: "result",
      result: {
        outcome: "failed",
        code: "MODEL_UNKNOWN",
        reason: `no port is named ${intent.name}`,
        retry: true,
      },
    };
  const request = await requestOf(definition, saga, open, intent, context);
  if (!context.mayBegin()) return { type: "silent" };
  const live = (token: object) =>
    deps.live(saga, "tokens", toJson({ intent: intent.id, attempt: open.attempt, ...token }));
  const options = { digest: intent.request, cutOff: context.cutOff };
  return { type: "result", result: await decide({ clock: deps.clock, live }, port, request, options) };
}

async function requestOf(
  definition: Definition,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"model">,
  context: OwnWorkContext,
): Promise<ModelRequest> {
  const asked = open.input as { step: number; now: number };
  if (definition.frame !== undefined)
    return { saga, ...asked, ...definition.frame, messages: await context.messages() };
  // A machine may bind several calls of one model; the digest recorded tells which one this is.
  const requests = definition.modelCalls
    .filter((call) => call.model === intent.name)
    .map((call) => modelCallRequest(saga, call, intent.input ?? null, asked.now));
  const request = requests.find((one) => digestOfRequest(one) === intent.request) ?? requests[0];
  if (request === undefined)
    throw new MeshError("INTERNAL", `${definition.name} binds no call of ${intent.name}`);
  return request;
}
