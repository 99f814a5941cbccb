/**
 * Own work: ⑤ what comes of an attempt of the saga's own host: a tool's body, a model's call, its record, a simulated answer.
 */
import { isSimulated } from "../../actors/kernel/lineage.ts";
import { recallFrom, recallTool } from "../../actors/request/recall.ts";
import { type OpenIntent, notBeforeOf } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { lanes } from "../../protocol/live.ts";
import { traceparentOfIntent } from "../../protocol/trace.ts";
import { claimsOf } from "../perform/asked.ts";
import type { Performed } from "../perform/outcome.ts";
import { withFailure } from "../perform/failure.ts";
import { perform } from "../perform/perform.ts";
import { askModel } from "./ask-model.ts";
import type { HostDeps } from "./host-deps.ts";
import { inRoom, type OwnWorkContext } from "./in-room.ts";
import { simulate } from "./simulate.ts";

/** Performs one attempt. Rejects if it is called off before it began. */
export async function performOwn(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  context: OwnWorkContext,
): Promise<Performed> {
  const backoffMs = (notBeforeOf(open) ?? 0) - deps.clock.now();
  const waitMs = Math.max(backoffMs, context.settleFirst ? limits.signalSettleMs : 0);
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
  return performTool(deps, saga, open, intent, context);
}

function performTool(
  deps: HostDeps,
  saga: SagaId,
  open: OpenIntent,
  intent: IntentOf<"tool">,
  context: OwnWorkContext,
): Promise<Performed> {
  const tool = deps.app.tools.get(intent.contract);
  const body = deps.app.bodies.get(intent.contract);
  if (tool === undefined || body === undefined)
    throw new MeshError("TOOL_UNSERVED", `${intent.name} has no body here`);
  const performDeps = {
    claims: claimsOf(deps.ports),
    clock: deps.clock,
    chance: deps.chance,
    callbackBase: deps.callbackBase,
    callbackUrlOf: deps.callbackUrlOf,
    progress: (_: unknown, note: unknown) =>
      deps.live(saga, lanes.progress, toJson({ intent: intent.id, attempt: open.attempt, note })),
  };
  const { attempt: of, input } = open;
  const traceparent = () => traceparentOfIntent({ saga, ...context.current()?.state }, intent.id);
  const attempt = { saga, intent: intent.id, attempt: of, key: intent.key, input, traceparent };
  return inRoom(deps, context, "tool", tool.name, async () =>
    context.mayBegin()
      ? withFailure(deps, tool, attempt, await perform(performDeps, tool, body, attempt, context))
      : { type: "silent" },
  );
}

/** From the saga's own ledger, which this host has folded or folds now. */
async function recallOwn({ input }: OpenIntent, context: OwnWorkContext): Promise<Performed> {
  const messages = await context.messages();
  return context.mayBegin() ? { type: "result", result: recallFrom(messages, input) } : { type: "silent" };
}

const nameOf = (intent: OpenIntent["intent"]): string => ("name" in intent ? intent.name : intent.kind);
