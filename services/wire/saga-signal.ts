/** Saga signal: what one saga tells another, under an id of its own by which the other knows a repeat. */
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { makeHeaders } from "./messages.ts";
import type { Clock, Ports } from "./ports.ts";
import { send } from "./send.ts";

export interface SagaSignalDeps {
  readonly ports: Pick<Ports, "inbox" | "blobs">;
  readonly clock: Clock;
  /** Ends it: it may be stored or not then. */
  readonly signal?: AbortSignal | undefined;
}

/** Its id, whoever tells it and how often. */
export const signalIdOf = (from: SagaId, { id, key }: Pick<IntentOf<"signal">, "id" | "key">): string =>
  key ?? `${from}:${id}`;

/** Stores it. `marks` tell it from what was stored under its id before, for which the server would take it. */
export function publishSagaSignal(
  deps: SagaSignalDeps,
  from: SagaId,
  intent: Pick<IntentOf<"signal">, "saga" | "id" | "key" | "name" | "to">,
  body: unknown,
  marks: readonly string[],
): Promise<void> {
  const { saga, name, to } = intent;
  const id = signalIdOf(from, intent);
  const msgId = [saga, "signal", id, ...marks].join(":");
  return send(deps, body, (data, contentType) =>
    deps.ports.inbox.publish({
      subject: subjects.signal(saga, name),
      data,
      headers: makeHeaders({
        [headers.saga]: saga,
        [headers.agent]: to,
        [headers.event]: id,
        [headers.from]: from,
        [headers.contentType]: contentType,
      }),
      msgId,
    }),
  );
}
