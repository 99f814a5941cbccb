/**
 * MembershipPort on the bucket HOSTS, an entry per host with a time to live.
 *
 * Every beat is a publish with the time to live in its headers. The client's `update` has no such field, and
 * what it writes stays for ever.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { MembershipPort } from "../ports.ts";
import { entriesOf } from "./entries.ts";
import { translated } from "./errors.ts";
import { natsHeaders } from "./headers.ts";
import { publish } from "./publish.ts";
import type { ReadContext } from "./read.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.hosts);

export const createMembership = (context: ReadContext): MembershipPort => {
  const { requests, jsm } = context;
  return {
    beat: async (host, data, ttlMs) => {
      // The server counts in whole seconds, from one up; an entry rather stays a little longer.
      const control = { [natsHeaders.ttl]: `${Math.max(1, Math.ceil(ttlMs / 1000))}s` };
      await publish(requests, { subject: entrySubject(buckets.hosts, host), stream, data, control });
    },
    leave: async (host) => {
      await translated(stream, () =>
        jsm.streams.purge(stream, { filter: entrySubject(buckets.hosts, host) }),
      );
    },
    hosts: async () =>
      (await entriesOf(context, buckets.hosts)).map(({ key, data }) => ({ host: key, data })),
  };
};
