/**
 * MembershipPort on the bucket HOSTS, an entry per host with a time to live.
 *
 * Every beat is a publish with the time to live in its headers. The client's `update` has no such field, and
 * what it writes stays for ever.
 *
 * NM1 A follower listens to the publishes themselves, without a consumer on the server. So it does not see an entry
 *     run out, and does see a departure, which is a publish as well.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { buckets, type Headers } from "../../protocol/subjects.ts";
import type { MembershipPort } from "../wire/ports.ts";
import { entriesOf } from "./entries.ts";
import { decodeHeaders, natsHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { publish } from "./publish.ts";
import type { ReadContext } from "./read.ts";
import { bucketStream, entryKey, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.hosts);
/** The server's least time to live, for a mark that is only needed as a message. */
const shortest = { [natsHeaders.ttl]: "1s" };

export const createMembership = (context: ReadContext & { readonly nc: NatsConnection }): MembershipPort => {
  const { nc, requests } = context;
  const write = (host: string, data: Uint8Array, control: Headers) =>
    publish(requests, { subject: entrySubject(buckets.hosts, host), stream, data, control });
  return {
    beat: async (host, data, ttlMs) => {
      // The server counts in whole seconds, from one up; an entry rather stays a little longer.
      await write(host, data, { [natsHeaders.ttl]: `${Math.max(1, Math.ceil(ttlMs / 1000))}s` });
    },
    leave: async (host) => {
      await write(host, new Uint8Array(), { ...shortest, [natsHeaders.kvOperation]: "DEL" }); // NM1
    },
    hosts: async () =>
      (await entriesOf(context, buckets.hosts)).map(({ key, data }) => ({ host: key, data })),
    follow: (signal) =>
      listen(nc, entrySubject(buckets.hosts, ">"), signal, (message) => ({
        host: entryKey(buckets.hosts, message.subject),
        data: decodeHeaders(message).fields[natsHeaders.kvOperation] === undefined ? message.data : undefined,
      })),
  };
};
