/**
 * The plain loop: the same messages as the bare loop's, written as anybody would write them who uses the NATS
 * client: its `publish` with an expectation and a Msg-Id, its `consume`, its `ack`, promises, one loop a saga.
 *
 * It is what a step costs with nothing of sagamesh in it, where the bare loop is the least it can cost at all.
 * It leaves out what the bare loop leaves out, but for Msg-Ids and timeouts, which the client brings along.
 */
import { jetstream, type JsMsg } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { sha256 } from "../../protocol/digest.ts";
import { bare, type BareRun, intentBody, turnBody } from "./bare-loop.ts";

const newId = (index: number): string => `plain-${Math.random().toString(36).slice(2, 12)}-${index}`;

/** Runs so many sagas of so many steps with the effect in the host. Resolves with the milliseconds it took. */
export async function runPlainHost(nc: NatsConnection, { sagas, steps }: BareRun): Promise<number> {
  const js = jetstream(nc);
  const startedAt = performance.now();
  const loop = async (index: number) => {
    const id = newId(index);
    let seq = 0;
    for (let turn = 0; turn < steps; turn++) seq = await append(js, id, turn, seq);
  };
  await Promise.all(Array.from({ length: sagas }, (_, index) => loop(index)));
  return performance.now() - startedAt;
}

/** The same through WORK and an inbox, the worker in this process. */
export async function runPlainWorker(nc: NatsConnection, { sagas, steps }: BareRun): Promise<number> {
  const js = jetstream(nc);
  const heard = new Map<string, (message: JsMsg) => void>();
  const perform = async (message: JsMsg) => {
    const { saga, intent } = message.json<{ saga: string; intent: string }>();
    const data = JSON.stringify({ attempt: 1, by: "worker", outcome: "succeeded", output: {} });
    await js.publish(`bare.${saga}.result.${intent}`, data, { msgID: `${saga}:${intent}:result` });
    message.ack();
  };
  const work = await consume(nc, bare.work, "w", (message) => void perform(message));
  const inboxes = await Promise.all(
    Array.from({ length: bare.partitions }, (_, partition) =>
      consume(nc, bare.inbox, `p${partition}`, (message) =>
        heard.get(message.subject.split(".")[2]!)?.(message),
      ),
    ),
  );
  const startedAt = performance.now();
  const loop = async (index: number) => {
    const id = newId(index);
    let seq = await append(js, id, 0, 0);
    let input: JsMsg | undefined;
    for (let turn = 1; turn <= steps; turn++) {
      const result = new Promise<JsMsg>((resolve) => heard.set(id, resolve));
      await js.publish("barework", intentBody(id, turn, index), { msgID: `${id}:${turn}` });
      input?.ack();
      input = await result;
      seq = await append(js, id, turn, seq);
    }
    input?.ack();
  };
  await Promise.all(Array.from({ length: sagas }, (_, index) => loop(index)));
  const tookMs = performance.now() - startedAt;
  await Promise.all([work, ...inboxes].map((messages) => messages.close()));
  return tookMs;
}

async function append(
  js: ReturnType<typeof jetstream>,
  id: string,
  turn: number,
  seq: number,
): Promise<number> {
  const body = turnBody(id, turn);
  const msgID = `${id}:${turn}:${sha256(body)}`;
  const ack = await js.publish(`bare.${id}.ledger`, body, { msgID, expect: { lastSubjectSequence: seq } });
  return ack.seq;
}

async function consume(nc: NatsConnection, stream: string, name: string, take: (message: JsMsg) => void) {
  const consumer = await jetstream(nc).consumers.get(stream, name);
  return consumer.consume({ callback: take, max_messages: 512 });
}
