/**
 * Fallback: models that stand in for one another under one name, in their order. What is decided here is pure.
 *
 * FB1 The model that is asked next is recorded with the failure, and asking it is an attempt of the ledger like any
 *     other. So the fold does not depend on the configuration, and hosts with another one fold alike.
 * FB2 Every decision begins with the first model. One that is paused or slowed down is passed over, which is recorded
 *     with the result; if all are, the host waits for the one that opens soonest.
 * FB3 After an overload the next model is asked at once; after another failure only when a second try with the first
 *     has failed too, so that one broken connection does not change which model decides. A request that the first
 *     model rejects is at fault and ends the decision; one that a stand-in rejects only rules that stand-in out.
 */
import type { Result, Route } from "../../protocol/result.ts";
import { limits } from "../../protocol/limits.ts";
import { isAnthropicName } from "./provider-models.ts";

/** What stands under `models` instead of a port. */
export interface ModelFallback {
  readonly type: "sagamesh.fallback";
  readonly order: readonly string[];
}

/** One try more with the first than there are names fits into a decision's attempts. */
export const fallbackMax = limits.retryAttemptsMax - 1;

/**
 * Names models of the same application, under `models`, that stand in for one another: the first is asked; when it is
 * overloaded, the second, at once; and so on, and after the last the first again, after the usual wait. Each keeps
 * its own `modelLimits`, its own `pause` and its own slow-down. At most 4; faults are told when the application is
 * loaded. After a crash the attempt that was recorded goes on, with the model that it names.
 */
export const modelFallback = (...order: readonly string[]): ModelFallback => ({
  type: "sagamesh.fallback",
  order,
});

export const isFallback = (value: object): value is ModelFallback =>
  "type" in value && value.type === "sagamesh.fallback";

/** What is wrong with a fallback named `name`, given the names of the ports. */
export function fallbackFaults(
  name: string,
  { order }: ModelFallback,
  isPort: (model: string) => boolean,
): string[] {
  const where = `models: fallback "${name}"`;
  const faults = order
    .filter((model) => !isPort(model))
    .map(
      (model) =>
        `${where} names "${model}", which is no model port under models${isAnthropicName(model) ? ", and ANTHROPIC_API_KEY is not set" : ""}`,
    );
  if (order.length === 0) faults.push(`${where} names no model`);
  if (order.length > fallbackMax)
    faults.push(`${where} names ${order.length} models; at most ${fallbackMax} can be asked in one decision`);
  if (new Set(order).size < order.length) faults.push(`${where} names a model twice`);
  return faults;
}

/** For how long a model takes nothing, as far as is known: 0 if it does, Infinity while it is paused. */
export type ClosedFor = (model: string) => Promise<number>;

/** The model that this attempt asks. `from` is the one that the ledger names; any that is not in the order counts as the first. */
export async function chooseModel(
  order: readonly string[],
  from: string | undefined,
  closedFor: ClosedFor,
): Promise<Route> {
  const first = Math.max(0, order.indexOf(from ?? ""));
  const closed: { model: string; ms: number }[] = [];
  for (const model of [...order.slice(first), ...order.slice(0, first)]) {
    const ms = await closedFor(model);
    if (ms === 0) return { asked: model, ...passedOver(closed) };
    closed.push({ model, ms });
  }
  const soonest = closed.reduce((best, one) => (one.ms < best.ms ? one : best));
  return { asked: soonest.model, ...passedOver(closed.filter((one) => one !== soonest)) };
}

const passedOver = (closed: readonly { model: string; ms: number }[]): Pick<Route, "passed"> =>
  closed.length === 0
    ? {}
    : {
        passed: Object.fromEntries(
          closed.map(({ model, ms }) => [
            model,
            ms === Number.POSITIVE_INFINITY ? "paused" : `slowed down for ${Math.ceil(ms)} ms`,
          ]),
        ),
      };

/** The result of an attempt that asked `route.asked`, with the model that the next attempt asks. See FB3. */
export function routed(order: readonly string[], route: Route, attempt: number, result: Result): Result {
  if (result.outcome === "succeeded") return { ...result, output: { ...(result.output as object), route } };
  if (result.outcome !== "failed") return result;
  const place = order.indexOf(route.asked);
  const isRejected = result.retry === false;
  if (isRejected && place === 0) return { ...result, route };
  const isOverload = result.code === "MODEL_OVERLOADED";
  const next = isOverload || isRejected || attempt > 1 ? order[place + 1] : undefined;
  return { ...result, retry: true, route: { ...route, ...(next === undefined ? {} : { next }) } };
}
