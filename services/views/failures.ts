/** Failures: the attempts of a saga whose bodies threw, and the stacks that were stored of them. */
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import { limits } from "../../protocol/limits.ts";
import type { Turn } from "../../protocol/turn.ts";
import { lastOf } from "../ledger/last-of.ts";
import type { BlobPort } from "../wire/ports.ts";

type Failure = NonNullable<InspectDocument["failures"]>[number];

/** Takes a ledger turn by turn, and keeps the latest of them. */
export function failing(): { take(turn: Turn): void; last(): Failure[] } {
  const latest = lastOf<Failure>(limits.failuresToldMax);
  return {
    take: ({ turn, steps }) => {
      for (const { event } of steps) {
        if (event.type !== "result") continue;
        const { intent, attempt, result } = event;
        if ((result.outcome !== "failed" && result.outcome !== "in_doubt") || result.trace === undefined)
          continue;
        const { code, reason, trace } = result;
        latest.add({ intent, attempt, turn, code, reason, trace });
      }
    },
    last: () => latest.all(),
  };
}

/** The same with their stacks, where the store still has them: they are kept beside the ledger, and not in archives. */
export async function withStacks(
  document: InspectDocument,
  blobs: Pick<BlobPort, "get">,
): Promise<InspectDocument> {
  if (document.failures === undefined) return document;
  const failures = await Promise.all(
    document.failures.map(async (failure) => {
      try {
        return { ...failure, stack: Buffer.from(await blobs.get(failure.trace)).toString() };
      } catch {
        return failure; // Gone, or of an archive: the reason is on the ledger.
      }
    }),
  );
  return { ...document, failures };
}
