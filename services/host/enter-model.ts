/**
 * Enter a model: which model answers to a name now, and a place in its line.
 *
 * EN1 A name's own pause and bounds hold for all models that stand in under it; those of each, and the slow-down that its
 *    provider asked for, hold for that one alone.
 */
import type { ModelPort } from "../../protocol/model.ts";
import type { Route } from "../../protocol/result.ts";
import { chooseModel } from "../app/fallback.ts";
import type { HostDeps } from "./host-deps.ts";

/** Which model answers, and the place in its line that this call has taken. */
export interface EnteredModel {
  /** Undefined: no model stands in for this one. */
  readonly order: readonly string[] | undefined;
  readonly route: Route;
  /** Undefined: this host's application has none of this name; another's may. */
  readonly port: ModelPort | undefined;
  /** Must be called when the call has ended. */
  readonly leave: () => void;
}

/** Waits until the model of this name, or `ask` in its place, may be asked. Rejects when aborted before. */
export async function enterModel(
  deps: Pick<HostDeps, "app" | "throttle" | "log">,
  name: string,
  ask: string | undefined,
  signal: AbortSignal,
): Promise<EnteredModel> {
  const order = deps.app.fallbacks.get(name);
  const enter = (model: string) =>
    deps.throttle.enter({ kind: "model", name: model }, deps.app.config.modelLimits?.[model] ?? {}, signal);
  const leaveName = await enter(name);
  const { models } = deps.app;
  if (order === undefined) return { order, route: { asked: name }, port: models.get(name), leave: leaveName };
  try {
    const closedFor = (model: string) => deps.throttle.closedFor({ kind: "model", name: model });
    const route = await chooseModel(order, ask, closedFor);
    const { asked, passed } = route;
    if (asked !== order[0]) deps.log.warn({ model: name, asked, passed }, "model stood in for");
    const leave = await enter(asked);
    return {
      order,
      route,
      port: models.get(asked),
      leave: () => [leave, leaveName].forEach((end) => end()),
    };
  } catch (error) {
    leaveName();
    throw error;
  }
}
