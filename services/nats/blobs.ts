/**
 * BlobPort on the object store BLOB, named by digest.
 *
 * BL1 A blob is written once. A second writer finds it there, or loses the write of its directory entry and takes
 *     its own chunks back, so the first writer's chunks are never pulled away from under a reader.
 * BL2 Chunks are read as a range up to the directory entry. The client's own reader waits without end for
 *     chunks that do not come.
 * BL3 A leader that was deposed and does not know it yet may lack a blob that is there. So on a replicated store
 *     the question is asked again until no such leader can be left: believing it would park a saga or refuse an input.
 */
import type { JetStreamClient } from "@nats-io/jetstream";
import { type ObjectStore, Objm } from "@nats-io/obj";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { buckets } from "../../protocol/subjects.ts";
import type { BlobPort } from "../wire/ports.ts";
import { toMeshError, translated } from "./errors.ts";
import { type ReadContext, readRange } from "./read.ts";
import { type Remaking, withStream } from "./remake.ts";
import { sleep } from "./sleep.ts";
import { blobStream, chunkSubject } from "./streams.ts";

const chunkBytes = 256 * 1024;
const inFlightTriesMax = 20;
const inFlightDelayMs = 50;
const askAgainMs = 1_000;

export const createBlobs = async (
  context: ReadContext & Remaking & { js: JetStreamClient },
): Promise<BlobPort> => {
  const store = await translated(blobStream, () => new Objm(context.js).open(buckets.blob, false));
  const { replicas } = await translated(blobStream, () => store.status());
  return {
    put: (digest, bytes) => withStream(context, blobStream, () => putBlob(store, digest, bytes)),
    get: async (digest) => {
      const believeAt = performance.now() + (replicas > 1 ? limits.deposedMsMax : 0);
      for (;;)
        try {
          return await getBlob(context, store, digest);
        } catch (error) {
          if (!isMeshError(error, "LEDGER_BROKEN") || performance.now() >= believeAt) throw error;
          await sleep(askAgainMs); // BL3
        }
    },
  };
};

async function getBlob(context: ReadContext, store: ObjectStore, digest: string): Promise<Uint8Array> {
  const entry = await entryOf(store, digest);
  if (entry === undefined) throw new MeshError("LEDGER_BROKEN", `blob ${digest} is not stored`);
  const range = {
    stream: blobStream,
    subject: chunkSubject(entry.nuid),
    afterSeq: 0,
    throughSeq: entry.revision,
  };
  const bytes = Buffer.concat((await readRange(context, range)).map((chunk) => chunk.data)); // BL2
  if (bytes.length !== entry.size)
    throw new MeshError("LEDGER_BROKEN", `blob ${digest}: expected ${entry.size} bytes, got ${bytes.length}`);
  return bytes;
}

async function putBlob(store: ObjectStore, digest: string, bytes: Uint8Array): Promise<void> {
  for (let triesLeft = inFlightTriesMax; (await entryOf(store, digest)) === undefined; triesLeft--)
    try {
      const meta = { name: digest, options: { max_chunk_size: chunkBytes } };
      await store.put(meta, streamOf(bytes), { previousRevision: 0 }); // BL1
      return;
    } catch (error) {
      const failure = toMeshError(error, `blob ${digest}`);
      if (failure.code === "WRONG_SEQUENCE") return;
      // On a replicated stream the other's entry may still be on its way, and may yet fail.
      if (failure.code !== "WRITE_IN_FLIGHT" || triesLeft <= 0) throw failure;
      await sleep(inFlightDelayMs);
    }
}

const entryOf = async (store: ObjectStore, digest: string) => {
  const info = await translated(`blob ${digest}`, () => store.info(digest));
  return info === null || info.deleted ? undefined : info;
};

const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
