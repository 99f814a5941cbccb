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

/**
 * Publishes until acked. The Msg-Id carries attempt and outcome: a definite result after a doubt is another
 * message, and so is one `insteadOf` another. After a crash in the middle the same result may be published again; the actor knows it.
 */
export async function publishResult(
  deps: { ports: Pick<Ports, "inbox" | "blobs">; clock: Clock; incarnation: string },
  to: { saga: SagaId; intent: IntentId; attempt: number; insteadOf?: string },
  performed: Exclude<Performed, { type: "silent" }>,
  signal?: AbortSignal,
): Promise<void> {
  const { saga, intent, attempt } = to;
  const said =
    performed.type === "result"
      ? performed.result
      : { outcome: "deferred" as const, withinMs: performed.withinMs };
  const { by = deps.incarnation, spent } = performed.type === "result" ? performed : {};
  const body: ResultMessage = { attempt, by, ...(spent === undefined ? {} : { spent }), ...said };
  const id = `${intent}:${attempt}:${said.outcome}${to.insteadOf === undefined ? "" : `:${to.insteadOf}`}`;
  await send({ ...deps, signal }, body, (data, contentType) =>
    deps.ports.inbox.publish({
      subject: subjects.result(saga, intent),
      data,
      headers: makeHeaders({
        [headers.saga]: saga,
        [headers.intent]: intent,
        [headers.attempt]: String(attempt),
        [headers.event]: `result.${said.outcome}`,
        [headers.from]: deps.incarnation,
        [headers.contentType]: contentType,
      }),
      msgId: `${saga}:result:${id}`,
    }),
  );
}
