/**
 * Outstanding: what was delivered of partitions and is not settled, given back in the name of a host that died.
 *
 * The server tells nobody which messages a consumer has handed out, but a queue holds only what is not acked, and a consumer
 * has handed out all that lies before its last delivery. Who has it is not known to the server either.
 *
 * OD1 It is given back one by one, so that each keeps its count of deliveries: by that the next host knows that another had it
 *     (services/suspects/quarantine.ts). A reset of the consumer would count from one again.
 * OD2 What was delivered for the first time after the question is not touched: those who take the partitions up meanwhile
 *     keep what they are handed.
 */
import type { ConsumerInfo, JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { consumers, streams, subjects } from "../../protocol/subjects.ts";
import type { Outstanding } from "../wire/ports.ts";
import { translated } from "./errors.ts";
import { nextOfLeader } from "./read.ts";

const stream = streams.inbox;

interface Context {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
}

/** Asks each consumer of the partitions where it stands. Throws UNAVAILABLE. */
export async function outstandingOf(context: Context, partitions: readonly number[]): Promise<Outstanding> {
  const all = await Promise.all(
    partitions.flatMap((partition) => [
      standOf(context, consumers.starts(partition), subjects.inboxStarts(partition)),
      standOf(context, consumers.inbox(partition), subjects.inboxOthers(partition)),
    ]),
  );
  return {
    giveBack: async () => {
      await Promise.all(all.map((stand) => giveBack(context, stand)));
    },
  };
}

/** Where a consumer stood, what it is of, and how far it was given back. */
interface Stand {
  readonly subject: string;
  readonly info: ConsumerInfo;
  afterSeq: number;
  left: number;
}

async function standOf({ jsm }: Context, name: string, subject: string): Promise<Stand> {
  const info = await translated(name, () => jsm.consumers.info(stream, name));
  return { subject, info, afterSeq: info.ack_floor.stream_seq, left: info.num_ack_pending };
}

/** One after the other, as the leader has them: a queue's messages are read in no other way. */
async function giveBack({ nc, jsm }: Context, stand: Stand): Promise<void> {
  const { subject, info } = stand;
  const throughSeq = info.delivered.stream_seq;
  while (stand.left > 0) {
    const next = await nextOfLeader(jsm, { stream, subject, afterSeq: stand.afterSeq, throughSeq });
    if (next === undefined || next.seq > throughSeq || nc.isClosed())
      stand.left = 0; // OD2
    else {
      nc.publish(ackSubject(info.name, next.seq, info.delivered.consumer_seq), "-NAK"); // OD1
      stand.left -= 1;
      stand.afterSeq = next.seq; // Asked again, it goes on from here: what came to its next owner stays there.
    }
  }
}

/** As of any delivery of the message: the server goes by its sequence, and asks of the other only that it was. */
const ackSubject = (consumer: string, seq: number, delivery: number): string =>
  `$JS.ACK.${stream}.${consumer}.1.${seq}.${delivery}.0.0`;
