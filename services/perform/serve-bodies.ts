/**
 * Serve bodies: what keeps something open hears when this process begins to serve it and when it has stopped.
 */
import type { AnyBody } from "../../actors/contract/tool.ts";
import type { Log } from "../process/log.ts";

/** Begins; the function ends it, and throws nothing: a body that cannot close its own must not stop the others. */
export function serveBodies(bodies: Iterable<AnyBody | undefined>, log: Log): () => Promise<void> {
  const ends = [...bodies].flatMap((body) => (body?.serve === undefined ? [] : [body.serve(log)]));
  return async () => {
    await Promise.all(
      ends.map((end) => end().catch((error: unknown) => log.warn({ err: error }, "body not closed"))),
    );
  };
}
