/**
 * Publish result: ⑥ how an attempt ended, as an input of its saga. By workers always, by a host for what it
 * began before it lost the saga.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { ResultMessage } from "../../protocol/result.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { makeHeaders } from "../wire/messages.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { send } from "../wire/send.ts";
import type { Performed } from "./outcome.ts";

/** Whose result it is. */
export interface ResultOf {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly attempt: number;
  /** What the call is called under. */
  readonly key?: string | undefined;
  /**
   * What asked for it, by the sequence of its message, or by when the attempt was decided: asked for once more, or decided
   * anew from an older copy of the ledger, its result is another message.
   */
  readonly call?: number | undefined;
  /** The outcome that it stands in place of. */
  readonly insteadOf?: string;
}

/**
 * Publishes until acked. The Msg-Id carries all of that and the outcome: a definite result after a doubt is another message.
 * After a crash in the middle the same result may be published again; the actor knows it.
 */
export async function publishResult(
  deps: { ports: Pick<Ports, "inbox" | "blobs">; clock: Clock; incarnation: string },
  to: ResultOf,
  performed: Exclude<Performed, { type: "silent" }>,
  signal?: AbortSignal,
): Promise<void> {
  const { saga, intent, attempt, key, call } = to;
  const said =
    performed.type === "result"
      ? performed.result
      : { outcome: "deferred" as const, withinMs: performed.withinMs };
  const { by = deps.incarnation, spent } = performed.type === "result" ? performed : {};
  const body: ResultMessage = { attempt, by, ...(spent === undefined ? {} : { spent }), ...said };
  const id = `${intent}:${attempt}:${said.outcome}${to.insteadOf === undefined ? "" : `:${to.insteadOf}`}${key === undefined ? "" : `:${key.slice(-12)}`}${call === undefined ? "" : `:${call}`}`;
  await send({ ...deps, signal }, body, (data, contentType) =>
    deps.ports.inbox.publish({
      subject: subjects.result(saga, intent),
      data,
      headers: makeHeaders({
        [headers.saga]: saga,
        [headers.intent]: intent,
        [headers.attempt]: String(attempt),
        ...(key === undefined ? {} : { [headers.key]: key }),
        [headers.event]: `result.${said.outcome}`,
        [headers.from]: deps.incarnation,
        [headers.contentType]: contentType,
      }),
      msgId: `${saga}:result:${id}`,
    }),
  );
}
