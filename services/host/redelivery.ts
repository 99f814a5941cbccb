/**
 * Redelivery: when a batch that cannot be taken is offered again, here or elsewhere, and how loud that is said. Both
 * follow from the error.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Delivery } from "../wire/ports.ts";
import type { HostDeps } from "./host-deps.ts";
import { noteParked, standsFor } from "./parked.ts";

/** Logs why, and returns after how many milliseconds the batch, what is held of it, may be offered again. */
export function redeliveryDelay(
  { log, signal, tries }: Pick<HostDeps, "log" | "signal" | "tries">,
  saga: SagaId,
  held: Iterable<Delivery>,
  error: unknown,
): number {
  const parked = isMeshError(error) && !error.retriable;
  // A host that stops fails whatever it is about.
  const level = signal.aborted ? "debug" : parked ? "error" : "warn";
  log[level](
    { err: error, sagaId: saga, code: isMeshError(error) ? error.code : "INTERNAL" },
    "saga not taken",
  );
  return tryAgainMs({ signal, tries }, saga, held, error);
}

/** The same where the saga was taken and an intent of it could not be performed here, which its host has said: who looks is told why. */
export function standing(
  deps: Pick<HostDeps, "clock" | "ports" | "rows" | "signal" | "tries">,
  saga: SagaId,
  held: Iterable<Delivery>,
  error: unknown,
): { readonly delayMs?: number } {
  if (error === undefined) return {};
  if (!deps.signal.aborted) void noteParked(deps, saga, error);
  return { delayMs: tryAgainMs(deps, saga, held, error) };
}

const tryAgainMs = (
  { signal, tries }: Pick<HostDeps, "signal" | "tries">,
  saga: SagaId,
  held: Iterable<Delivery>,
  error: unknown,
): number => (standsFor(error) && !signal.aborted ? tries.failed(saga, held) : limits.earlyInputDelayMs);
