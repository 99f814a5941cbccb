/** The bucket of the listing, where it stays and what it holds is not what hosts wrote. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseRowKey, rowKey } from "../../../protocol/documents/listing.ts";
import { buckets } from "../../../protocol/subjects.ts";
import { bucketStream, entryKey, entrySubject } from "../../../services/nats/streams.ts";
import type { Fault, Stage } from "../fault.ts";
import { natsMissing } from "./stores.ts";

const stream = bucketStream(buckets.listing);

const emptied: Fault = {
  name: `${stream}-emptied`,
  does: `\`nats stream purge\` of ${stream}, while hosts run`,
  strike: async ({ servers }) => {
    await servers.jsm.streams.purge(stream);
  },
};

const setBack: Fault = {
  name: `${stream}-older-restored`,
  does: `\`nats stream restore\` of a backup of ${stream} some seconds old, hosts run on`,
  lacks: natsMissing,
  prepare: async ({ nats, folder }) => {
    await nats("stream", "backup", stream, join(folder, "backup"), "--no-progress");
  },
  strike: async ({ nats, servers, folder }) => {
    await servers.jsm.streams.delete(stream);
    await nats("stream", "restore", join(folder, "backup"), "--no-progress");
  },
};

/** Somebody who may publish on every subject: of each row another one that cannot be read, and one that says something else. */
const junk: Fault = {
  name: `${stream}-junk`,
  does: `every row is written over by bytes that are none, and each saga gets another that says it failed and asks`,
  strike: async ({ servers: { jsm, nc } }) => {
    const { state } = await jsm.streams.info(stream, { subjects_filter: ">" });
    for (const subject of Object.keys(state.subjects ?? {})) {
      const key = parseRowKey(entryKey(buckets.listing, subject));
      if (key === undefined) continue;
      nc.publish(subject, "no row");
      nc.publish(entrySubject(buckets.listing, rowKey({ ...key, status: "failed", asks: true })), "{}");
    }
    await nc.flush();
  },
};

const limitTo = async ({ servers: { jsm } }: Stage, messages: number) => {
  await jsm.streams.update(stream, { max_msgs: messages });
};

const full: Fault = {
  name: `${stream}-full`,
  does: `${stream} is limited to the messages that it has, so that it takes no new row`,
  remedyIs: "the limit is taken away again",
  strike: async (stage) => {
    const { state } = await stage.servers.jsm.streams.info(stream);
    await limitTo(stage, Math.max(1, state.messages));
  },
  remedy: async (stage) => {
    await delay(2_000); // Rows are owed by then.
    await limitTo(stage, -1);
  },
};

export const listing: readonly Fault[] = [emptied, setBack, junk, full];
