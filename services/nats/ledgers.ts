/**
 * Ledgers of a mesh that is only looked at: reading them, and what the queues hold, on any connection, without making anything.
 *
 * LX1 Who comes because something is lost must get in: a stream that is gone is missed by what needs it, and no sooner.
 */
import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import type { BlobPort, InboxPort, LedgerPort, ListingPort, RegistryPort, WorkPort } from "../wire/ports.ts";
import { createBlobs } from "./blobs.ts";
import { isWithoutStream } from "./errors.ts";
import { inboxStock } from "./inbox.ts";
import { createHomes } from "./homes.ts";
import { createLedger } from "./ledger.ts";
import { createListing } from "./listing.ts";
import type { ReadContext } from "./read.ts";
import { createRegistry } from "./registry.ts";
import { createRequests } from "./requests.ts";
import { workStock } from "./work.ts";
import { managerOf } from "./manager.ts";

/** What is read of ledgers and queues. */
export interface Ledgers {
  readonly ledger: Pick<LedgerPort, "last" | "first" | "read" | "list" | "end">;
  readonly blobs: Pick<BlobPort, "get">;
  readonly registry: Pick<RegistryPort, "read">;
  /** Of which nothing is written. */
  readonly listing: ListingPort;
  readonly inbox: Pick<InboxPort, "stock">;
  readonly work: Pick<WorkPort, "stock">;
}

/** Reads ledgers as long as `read` takes. Throws what it throws, and a coded error where there are none. */
export async function withLedgers<T>(
  nc: NatsConnection,
  read: (ledgers: Ledgers & { readonly context: ReadContext }) => Promise<T>,
): Promise<T> {
  const jsm = await managerOf(nc);
  const requests = createRequests(nc);
  try {
    const context = { nc, jsm, js: jetstream(nc), requests };
    const registry = createRegistry(context);
    return await read({
      ...{ context, ledger: createLedger(context, createHomes(context)), blobs: blobsWhenAsked(context) },
      listing: createListing(context),
      registry: { read: (key) => registry.read(key).catch(nothingThere) },
      inbox: { stock: () => inboxStock(jsm) },
      work: { stock: () => workStock(jsm) },
    });
  } finally {
    requests.close();
  }
}

function blobsWhenAsked(context: Parameters<typeof createBlobs>[0]): Ledgers["blobs"] {
  let opened: ReturnType<typeof createBlobs> | undefined;
  return { get: async (digest) => (await (opened ??= createBlobs(context))).get(digest) }; // LX1
}

/** A registry that is gone says as little as the empty one that the next host makes (LX1). */
function nothingThere(error: unknown): undefined {
  if (!isWithoutStream(error)) throw error;
}
