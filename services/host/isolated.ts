/**
 * Isolated: a host that joins no roster and consumes nothing. Its parent hands it the inputs of suspects and keeps
 * their leases; what becomes of them is an activation's, as everywhere.
 *
 * HI1 Its lease is its parent's beat. When that is missed, because either stood still, everything is released.
 * HI2 What has gone quiet is released at once, so that its parent hears it.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import { type App, assertServable } from "../app/app.ts";
import { every } from "../process/every.ts";
import type { Delivery } from "../wire/ports.ts";
import type { Isolated } from "../suspects/isolated.ts";
import { type Activation, createActivation } from "./activation.ts";
import { depsOf, type HostOptions } from "./host.ts";
import type { HostDeps } from "./host-deps.ts";
import { createRows } from "../listing/rows.ts";
import { routingAlone } from "./routing.ts";
import { setAside } from "./set-aside.ts";
import { keyOf, sagaOf } from "../suspects/saga-key.ts";

const lookMs = 100;

/** Serves suspects until the process ends. Throws APP_INVALID. */
export function serveIsolated(options: HostOptions, app: App, quiet: (key: string) => void): Isolated {
  assertServable(app, "host");
  const { clock, log } = options;
  const residents = new Map<SagaId, Activation>();
  let beatAt = clock.elapsed();
  const hasLapsed = () => clock.elapsed() - beatAt > limits.inboxAckWaitMs;
  const shared = depsOf(options, app, new AbortController().signal);
  const deps: HostDeps = {
    ...shared,
    movesOf: () => Promise.resolve("pinned"),
    routing: routingAlone(app),
    hasLapsed,
    rows: createRows({ ...shared, hasLapsed, saysWhatItOwes: false }),
  };
  const activationOf = (saga: SagaId): Activation => {
    const present = residents.get(saga);
    if (present !== undefined) return present;
    const activation = createActivation(deps, saga, () => {
      residents.delete(saga);
      quiet(keyOf(saga));
    });
    residents.set(saga, activation);
    return activation;
  };
  const letGo = (activations: Iterable<Activation>, ifIdle: boolean) => {
    for (const activation of activations)
      activation
        .release({ ifIdle })
        .catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
  };
  void every({ clock, log, signal: deps.signal }, lookMs, "letting go of quiet suspects", () =>
    letGo(
      [...residents.values()].filter((one) => one.idleSince() !== undefined),
      true,
    ),
  ); // HI2
  return {
    offer: (key, delivery: Delivery) =>
      activationOf(sagaOf(key)).offer(delivery, parseInboxSubject(delivery.subject)),
    leave: (key) => {
      residents
        .get(sagaOf(key))
        ?.leave()
        .catch((error: unknown) => log.warn({ err: error, sagaId: sagaOf(key) }, "saga not handed over"));
    },
    setAside: (key, deliveries) => setAside(deps, sagaOf(key), deliveries),
    beat: () => {
      if (deps.hasLapsed()) letGo([...residents.values()], false); // HI1
      beatAt = clock.elapsed();
    },
  };
}
