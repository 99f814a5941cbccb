/**
 * Old turns: appends to a ledger as a host did that bounded no value: what came in became an event as it was, whatever its depth.
 */
import type { OpenIntent } from "../../actors/contract/state.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { App } from "../../services/app/app.ts";
import { loadSaga } from "../../services/host/load.ts";
import { encodeTurn, traceIdOf } from "../../services/host/turn-message.ts";
import { silentLog } from "../../services/process/log.ts";
import type { Clock, Ports } from "../../services/wire/ports.ts";

export interface OldHost {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly app: App;
}

/** A value of so many levels. */
export function nested(levels: number): Json {
  let value: Json = 0;
  for (let k = 0; k < levels; k++) value = k % 2 === 0 ? { a: value } : [value];
  return value;
}

/** Decides the events, made of what is open, as one turn and appends it. */
export async function appendOld(
  { ports, clock, app }: OldHost,
  saga: SagaId,
  eventsOf: (open: readonly OpenIntent[]) => readonly Event[],
): Promise<void> {
  const loaded = await loadSaga({ ports, clock, log: silentLog }, app, saga);
  if (loaded === undefined || "type" in loaded) throw new Error("it has begun");
  const { definition, state, head } = loaded;
  const at = clock.now();
  const decided = decideTurn(definition, state, { saga, at, events: eventsOf(Object.values(state.open)) });
  const host = { ports, clock, incarnation: "h-old-1", signal: new AbortController().signal };
  const from = { definition, traceId: traceIdOf(saga) };
  const message = await encodeTurn(host as Parameters<typeof encodeTurn>[0], from, head, decided, at);
  await ports.ledger.append(saga, message);
}

/** A signal as an old host recorded it. */
export const oldSignal = (name: string, data: Json, at: number): Event => ({
  ...{ type: "signal", name, data, id: `old-${at}`, from: "outside", sentAt: at },
});

/** A success as an old host recorded it. */
export const oldSuccess = ({ intent, attempt }: OpenIntent, output: Json): Event => ({
  ...{ type: "result", intent: intent.id, attempt, by: "h-old-1", result: { outcome: "succeeded", output } },
});
