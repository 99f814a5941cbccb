/**
 * Health: what the server has of the mesh, for people who look. Reads only; nothing is created.
 */
import { type ConsumerInfo, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { consumers, streams } from "../../protocol/subjects.ts";
import { assertEchoed, found } from "./declare.ts";
import { translated } from "./errors.ts";
import { declareStreams, partitionsDefault, partitionsKey } from "./streams.ts";

export interface StreamHealth {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly replicas: number;
  /** What is wrong with it: missing, or a field that is not as it must be. */
  readonly fault: string | undefined;
  readonly remedy: string | undefined;
}

export interface ConsumerHealth {
  readonly name: string;
  /** Stored and not delivered yet. */
  readonly waiting: number;
  /** Delivered and not acked. */
  readonly held: number;
  readonly redelivered: number;
  /** Somebody asks for messages now. */
  readonly pulled: boolean;
  readonly paused: boolean;
}

export interface MeshHealth {
  readonly version: string;
  readonly apiLevel: number;
  readonly streams: readonly StreamHealth[];
  readonly partitions: readonly ConsumerHealth[];
  readonly tools: readonly ConsumerHealth[];
}

/** Asks the server about every stream and consumer. Throws UNAVAILABLE. */
export async function readHealth(nc: NatsConnection): Promise<MeshHealth> {
  const jsm = await translated("JetStream", () => jetstreamManager(nc, { checkAPI: false }));
  const inbox = await found(streams.inbox, () => jsm.streams.info(streams.inbox));
  const partitions = Number(inbox?.config.metadata?.[partitionsKey] ?? partitionsDefault);
  const declared = declareStreams({ partitions });
  return {
    version: nc.info?.version ?? "unknown",
    apiLevel: nc.info?.api_lvl ?? 0,
    streams: await Promise.all(declared.map((stream) => streamHealth(jsm, stream))),
    partitions:
      inbox === undefined ? [] : await consumersOf(jsm, streams.inbox, consumers.inbox(0).replace("0", "")),
    tools: await consumersOf(jsm, streams.work, consumers.work("")),
  };
}

async function streamHealth(
  jsm: JetStreamManager,
  declared: ReturnType<typeof declareStreams>[number],
): Promise<StreamHealth> {
  const { name } = declared;
  const info = await found(name, () => jsm.streams.info(name));
  if (info === undefined)
    return {
      name,
      messages: 0,
      bytes: 0,
      replicas: 0,
      fault: "it is missing",
      remedy: "Start a host; it makes what is missing.",
    };
  const { messages, bytes } = info.state;
  const health = { name, messages, bytes, replicas: info.config.num_replicas };
  try {
    assertEchoed(`stream ${name}`, declared, info.config);
    return { ...health, fault: undefined, remedy: undefined };
  } catch (error) {
    return { ...health, fault: describeError(error), remedy: isMeshError(error) ? error.remedy : undefined };
  }
}

/** The consumers of a stream whose names begin so, by the rest of their names. */
async function consumersOf(jsm: JetStreamManager, stream: string, prefix: string): Promise<ConsumerHealth[]> {
  const all = await found(stream, async () => {
    const infos: ConsumerInfo[] = [];
    for await (const info of jsm.consumers.list(stream)) infos.push(info);
    return infos;
  });
  return (all ?? [])
    .filter((info) => info.name.startsWith(prefix))
    .map((info) => ({
      name: info.name.slice(prefix.length),
      waiting: info.num_pending,
      held: info.num_ack_pending,
      redelivered: info.num_redelivered,
      pulled: info.num_waiting > 0,
      paused: info.paused === true,
    }));
}
