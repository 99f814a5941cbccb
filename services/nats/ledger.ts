/**
 * LedgerPort on the stream LEDGER.
 *
 * NL1 An append is one request with an expectation on the saga's own literal subject. On a wildcard the check
 *     would not see writes that are still on their way through a replicated stream.
 * NL2 An append is never sent twice here. Whether a refused one is stored after all is told by the bytes of the
 *     saga's last turn.
 * NL3 A stream that is not there at all is no fault of how the server is set up: MESH_INCOMPLETE, which passes.
 */
import { MeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import { streams, subjects } from "../../protocol/subjects.ts";
import type { LedgerPort } from "../wire/ports.ts";
import { isWithoutStream, translated } from "./errors.ts";
import { follow, type FollowContext } from "./follow.ts";
import { publish } from "./publish.ts";
import { headOf, newestOfLeader, nextOfLeader, readRange, type ReadContext } from "./read.ts";
import type { Watched } from "./vigil.ts";

export const createLedger = (context: ReadContext & FollowContext & Watched): LedgerPort => {
  const { requests, jsm, vigil } = context;
  const stream = streams.ledger;
  return {
    append: (saga, message) => {
      const append = () => publish(requests, { ...message, subject: subjects.ledger(saga), stream }); // NL1
      return vigil === undefined ? append() : vigil.storing(stream, append);
    },
    last: (saga) => present(() => newestOfLeader(jsm, stream, subjects.ledger(saga))),
    first: (saga) => {
      const all = { stream, subject: subjects.ledger(saga), afterSeq: 0, throughSeq: Infinity };
      return present(() => nextOfLeader(jsm, all));
    },
    read: (saga, afterSeq, throughSeq) =>
      readRange(context, { stream, subject: subjects.ledger(saga), afterSeq, throughSeq }),
    list: async () => {
      const info = await present(() =>
        translated(stream, () => jsm.streams.info(stream, { subjects_filter: subjects.ledgers })),
      );
      return Object.entries(info.state.subjects ?? {}).flatMap(([subject, turns]) => {
        const saga = SagaId.safeParse(subject.split(".")[1]).data; // Whatever else lies there is no saga's ledger.
        return saga === undefined ? [] : [{ saga, turns }];
      });
    },
    purgeBefore: async (saga, seq) => {
      const filter = subjects.ledger(saga);
      await translated(filter, () => jsm.streams.purge(stream, { filter, seq }));
    },
    end: async () => (await headOf(jsm, stream)).lastSeq,
    follow: ({ saga, afterSeq = 0, signal }) => {
      const subject = saga === undefined ? subjects.ledgers : subjects.ledger(saga);
      return follow(context, { stream, subject, afterSeq, signal });
    },
  };
};

/** NL3. */
async function present<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isWithoutStream(error)) throw error;
    throw new MeshError("MESH_INCOMPLETE", `stream ${streams.ledger} is not there`, { cause: error });
  }
}
