/** DeadPort on the stream DEAD. */
import { streams } from "../../protocol/subjects.ts";
import type { DeadPort } from "../wire/ports.ts";
import { publish } from "./publish.ts";
import { translated } from "./errors.ts";
import { headOf, nextOfLeader, type ReadContext, readRange } from "./read.ts";
import { type Remaking, withStream } from "./remake.ts";

const stream = streams.dead;

export const createDead = (context: ReadContext & Remaking): DeadPort => ({
  publish: async (message) => {
    await withStream(context, stream, () => publish(context.requests, { ...message, stream }));
  },
  list: async () => {
    const { lastSeq } = await withStream(context, stream, () => headOf(context.jsm, stream));
    return readRange(context, { stream, subject: ">", afterSeq: 0, throughSeq: lastSeq });
  },
  get: async (seq) => {
    const letter = await nextOfLeader(context.jsm, {
      stream,
      subject: ">",
      afterSeq: seq - 1,
      throughSeq: seq,
    });
    return letter?.seq === seq ? letter : undefined;
  },
  remove: async (seq) => {
    try {
      await translated(stream, () => context.jsm.streams.deleteMessage(stream, seq, false));
    } catch (error) {
      if ((await createDead(context).get(seq)) !== undefined) throw error;
    }
  },
});
