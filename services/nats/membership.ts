/**
 * MembershipPort on the bucket HOSTS, an entry per host with a time to live.
 *
 * NM1 A follower listens to the publishes themselves, without a consumer on the server. So it does not see an entry
 *     run out, and does see a departure, which is a publish as well.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { buckets } from "../../protocol/subjects.ts";
import type { MembershipPort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import { decodeHeaders, natsHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import type { ReadContext } from "./read.ts";
import { entryKey, entrySubject } from "./streams.ts";

/** What hosts say of themselves, only read. */
export const hostEntries = (context: ReadContext): Pick<MembershipPort, "hosts"> => ({
  hosts: async () =>
    (await openBucket(context, buckets.hosts).list()).map(({ key, data }) => ({ host: key, data })),
});

export const createMembership = (context: ReadContext & { readonly nc: NatsConnection }): MembershipPort => {
  const bucket = openBucket(context, buckets.hosts);
  return {
    beat: async (host, data, ttlMs) => {
      await bucket.put(host, data, { ttlMs });
    },
    leave: async (host) => {
      // A mark that is only needed as a message has the server's least time to live.
      const control = { [natsHeaders.kvOperation]: "DEL" };
      await bucket.put(host, new Uint8Array(), { ttlMs: 0, control }); // NM1
    },
    hosts: hostEntries(context).hosts,
    follow: (signal) =>
      listen(context.nc, entrySubject(buckets.hosts, ">"), signal, (message) => ({
        host: entryKey(buckets.hosts, message.subject),
        data: decodeHeaders(message).fields[natsHeaders.kvOperation] === undefined ? message.data : undefined,
      })),
  };
};
