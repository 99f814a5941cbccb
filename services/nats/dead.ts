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
  remove: (seq) => takeAway(context, stream, seq),
});

/** Takes a message away; that it is gone already is as good. */
export async function takeAway(context: ReadContext, stream: string, seq: number): Promise<void> {
  const { jsm } = context;
  try {
    await translated(stream, () => jsm.streams.deleteMessage(stream, seq, false));
  } catch (error) {
    const range = { stream, subject: ">", afterSeq: seq - 1, throughSeq: seq };
    if ((await nextOfLeader(jsm, range))?.seq === seq) throw error;
  }
}
