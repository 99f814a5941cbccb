/** DeadPort on the stream DEAD. */
import { streams } from "../../protocol/subjects.ts";
import type { DeadPort } from "../ports.ts";
import { publish } from "./publish.ts";
import { headOf, type ReadContext, readRange } from "./read.ts";

const stream = streams.dead;

export const createDead = (context: ReadContext): DeadPort => ({
  publish: async (message) => {
    await publish(context.requests, { ...message, stream });
  },
  list: async () => {
    const { lastSeq } = await headOf(context.jsm, stream);
    return readRange(context, { stream, subject: ">", afterSeq: 0, throughSeq: lastSeq });
  },
});
