/** Streams, buckets and consumers that somebody deletes, while hosts run and while none does. */
import { buckets, streams } from "../../../protocol/subjects.ts";
import { bucketStream } from "../../../services/nats/streams.ts";
import type { Fault, Loss, Stage } from "../fault.ts";

interface Deleted {
  readonly stream: string;
  readonly takes?: readonly Loss[];
  readonly remedy?: Fault["remedy"];
  readonly remedyIs?: string;
}

const nudge = {
  remedyIs: "`nudge --all`",
  remedy: async ({ operate }: Stage) => {
    await operate("nudge", "--all");
  },
};

const deleted: readonly Deleted[] = [
  {
    stream: bucketStream(buckets.claim),
    remedyIs: "`rebuild claims --yes`",
    remedy: async ({ operate }) => {
      await operate("rebuild", "claims", "--yes");
    },
  },
  {
    stream: streams.ledger,
    takes: ["sagas", "inputs"],
    remedyIs: "no copy is left: `rebuild ledger --accept-loss`",
    remedy: async ({ operate }) => {
      await operate("rebuild", "ledger", "--accept-loss");
    },
  },
  { stream: streams.inbox, takes: ["inputs"], ...nudge },
  { stream: streams.work, ...nudge },
  { stream: bucketStream(buckets.snapshot) },
  { stream: bucketStream(buckets.hosts) },
  { stream: bucketStream(buckets.registry) },
  { stream: bucketStream(buckets.suspect) },
  { stream: bucketStream(buckets.throttle) },
  { stream: bucketStream(buckets.listing) },
];

/** Ends hosts and workers with SIGKILL; what it gives lets others come in their places. */
export function everybodyDown({ crew }: Stage): () => void {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  for (const member of crew.members) member.kill(promise);
  return () => resolve(undefined);
}

/** A worker dies with what is deleted, in the middle of what it does: the hardest case for claims and calls. */
const running = ({ stream, ...more }: Deleted): Fault => ({
  ...more,
  name: `${stream}-deleted`,
  does: `${stream} is deleted and a worker killed, while hosts run`,
  strike: async ({ servers, workers }) => {
    workers[0]?.kill(1_000);
    await servers.jsm.streams.delete(stream);
  },
});

const stopped = ({ stream, ...more }: Deleted): Fault => ({
  ...more,
  name: `${stream}-deleted-while-down`,
  does: `hosts and workers are killed, ${stream} is deleted, and they are started`,
  strike: async (stage) => {
    const up = everybodyDown(stage);
    await stage.servers.jsm.streams.delete(stream);
    up();
  },
});

const consumersOf = (stream: string): Fault => ({
  name: `${stream}-consumers-deleted`,
  does: `every consumer of ${stream} is deleted`,
  ...nudge,
  strike: async ({ servers: { jsm } }) => {
    const names: string[] = [];
    for await (const { name } of jsm.consumers.list(stream)) names.push(name);
    for (const name of names) await jsm.consumers.delete(stream, name);
  },
});

export const deletions: readonly Fault[] = [
  ...deleted.flatMap((one) => [running(one), stopped(one)]),
  consumersOf(streams.inbox),
  consumersOf(streams.work),
];
