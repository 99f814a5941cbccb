/**
 * MembershipPort on the bucket HOSTS, an entry per host with a time to live.
 *
 * NM1 A follower listens to the publishes themselves, without a consumer on the server. So it does not see an entry
 *     run out, and does see a departure, which is a publish as well.
 */
import { createInbox, type NatsConnection } from "@nats-io/nats-core";
import { isMeshError } from "../../protocol/errors.ts";
import { buckets } from "../../protocol/subjects.ts";
import type { MembershipPort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import { decodeHeaders, natsHeaders } from "./headers.ts";
import { isUnheard } from "./hop.ts";
import { listen } from "./listen.ts";
import type { ReadContext } from "./read.ts";
import { entryKey, entrySubject } from "./streams.ts";

/** What hosts say of themselves, only read. */
export const hostEntries = (context: ReadContext): Pick<MembershipPort, "hosts"> => ({
  hosts: async () =>
    (await openBucket(context, buckets.hosts).list()).map(({ key, data, revision }) => ({
      ...{ host: key, data, revision },
    })),
});

// A mark that is only needed as a message has the server's least time to live.
const departure = { ttlMs: 0, control: { [natsHeaders.kvOperation]: "DEL" } } as const;

export const createMembership = (context: ReadContext & { readonly nc: NatsConnection }): MembershipPort => {
  const bucket = openBucket(context, buckets.hosts);
  const own = createInbox(); // A name that nobody else has.
  return {
    beat: async (host, data, ttlMs) => {
      await bucket.put(host, data, { ttlMs });
    },
    leave: async (host) => {
      await bucket.put(host, new Uint8Array(), departure); // NM1
    },
    remove: async (host, revision) => {
      try {
        await bucket.put(host, new Uint8Array(), {
          ...{ ...departure, expectedSeq: revision },
          msgId: `${own}.${host}.${revision}`, // Asked again because its answer was lost it is ours.
        });
        return true;
      } catch (error) {
        if (isMeshError(error, "WRONG_SEQUENCE")) return false;
        throw error;
      }
    },
    server: () => (context.nc.isClosed() ? undefined : context.nc.info?.server_id),
    connection: () => {
      const { server_id: server, client_id: client } = context.nc.info ?? {};
      return context.nc.isClosed() || server === undefined ? undefined : `${server}.${client}`;
    },
    isUnheard: (host) => isUnheard(context.nc, host),
    hosts: hostEntries(context).hosts,
    follow: (signal) =>
      listen(context.nc, entrySubject(buckets.hosts, ">"), signal, (message) => ({
        host: entryKey(buckets.hosts, message.subject),
        data: decodeHeaders(message).fields[natsHeaders.kvOperation] === undefined ? message.data : undefined,
      })),
  };
};
