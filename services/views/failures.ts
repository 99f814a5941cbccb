/** Failures: the attempts of a saga whose bodies threw, and the stacks that were stored of them. */
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import { limits } from "../../protocol/limits.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { BlobPort } from "../wire/ports.ts";

type Failure = NonNullable<InspectDocument["failures"]>[number];

/** The latest of them, in their order. */
export function failuresOf(turns: readonly Turn[]): Failure[] {
  const all = turns.flatMap(({ turn, steps }) =>
    steps.flatMap(({ event }): Failure[] => {
      if (event.type !== "result") return [];
      const { intent, attempt, result } = event;
      if ((result.outcome !== "failed" && result.outcome !== "in_doubt") || result.trace === undefined)
        return [];
      const { code, reason, trace } = result;
      return [{ intent, attempt, turn, code, reason, trace }];
    }),
  );
  return all.slice(-limits.failuresToldMax);
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
