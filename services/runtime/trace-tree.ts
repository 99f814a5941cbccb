/**
 * Trace tree: the spans of a saga and of all sagas below it, ledger after ledger, some turns of one at a time.
 *
 * YU1 A saga is below the one that its own start names, whatever a ledger says of its children: what is read comes to an end.
 * YU2 What cannot be read is told with its saga, and the others are read.
 */
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { unreadableOf } from "../ledger/many.ts";
import { createSpanReader, type SpanOptions, type SpanReader } from "../traces/spans.ts";
import type { Span } from "../traces/spanning.ts";

/** `open`: what is not over, of the saga that was read just before. */
export type TreePart =
  | { readonly type: "over" | "open"; readonly spans: readonly Span[] }
  | { readonly type: "unreadable"; readonly saga: UnreadableSaga };

/** A saga's turns, some at a time. Throws as reading a ledger does. */
export type PagesOf = (saga: SagaId) => AsyncIterable<readonly Turn[]>;

/** Each saga before those below it. Throws what reading the first one throws, and UNAVAILABLE. */
export async function* spansOfTree(
  root: SagaId,
  pagesOf: PagesOf,
  options: SpanOptions,
): AsyncGenerator<TreePart> {
  const seen = new Set<SagaId>([root]);
  const rest: { saga: SagaId; parent: SagaId | undefined }[] = [{ saga: root, parent: undefined }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { saga, parent } = next;
    const reader = createSpanReader(options);
    try {
      yield* spansOfSaga(pagesOf(saga), reader, parent);
    } catch (error) {
      if (parent === undefined || isMeshError(error, "UNAVAILABLE")) throw error;
      if (!isNotBegun(error)) yield { type: "unreadable", saga: unreadableOf(saga, error) }; // YU2
      continue;
    }
    if (parent !== undefined && reader.parent() !== parent) continue; // YU1
    for (const child of reader.children().toReversed()) {
      if (seen.has(child)) continue;
      seen.add(child);
      rest.push({ saga: child, parent: saga });
    }
  }
}

async function* spansOfSaga(
  pages: AsyncIterable<readonly Turn[]>,
  reader: SpanReader,
  parent: SagaId | undefined,
): AsyncGenerator<TreePart> {
  for await (const turns of pages) {
    const spans = turns.flatMap((turn) => reader.take(turn));
    if (parent !== undefined && reader.parent() !== parent) return; // YU1
    if (spans.length > 0) yield { type: "over", spans };
  }
  yield { type: "open", spans: reader.open() };
}

/** Its start is on the way: the parent's own span of it says as much. */
const isNotBegun = (error: unknown): boolean =>
  isMeshError(error, "SAGA_NOT_BEGUN") || isMeshError(error, "SAGA_UNKNOWN");
