/** Ledgers of a mesh that is only looked at: reading them on any connection, without making anything. */
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import type { BlobPort, LedgerPort, RegistryPort } from "../wire/ports.ts";
import { createBlobs } from "./blobs.ts";
import { createLedger } from "./ledger.ts";
import type { ReadContext } from "./read.ts";
import { createRegistry } from "./registry.ts";
import { createRequests } from "./requests.ts";

/** What is read of ledgers. */
export interface Ledgers {
  readonly ledger: Pick<LedgerPort, "last" | "read" | "list">;
  readonly blobs: Pick<BlobPort, "get">;
  readonly registry: Pick<RegistryPort, "read">;
}

/** Reads ledgers as long as `read` takes. Throws what it throws, and a coded error where there are none. */
export async function withLedgers<T>(
  nc: NatsConnection,
  read: (ledgers: Ledgers & { readonly context: ReadContext }) => Promise<T>,
): Promise<T> {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const requests = createRequests(nc);
  try {
    const context = { nc, jsm, js: jetstream(nc), requests };
    const registry = createRegistry(context);
    return await read({
      context,
      ledger: createLedger(context),
      blobs: await createBlobs(context),
      registry,
    });
  } finally {
    requests.close();
  }
}
