/**
 * Batches: spans handed to a receiver some at a time.
 *
 * YB1 No more than one request's spans are in memory, and none is forgotten: who adds waits while a request is under way.
 */
import type { SpanDocument } from "../../protocol/documents/trace.ts";
import { type Telling, tracesRequest } from "./encode.ts";
import { type Refusal, sendOtlp, type SendDeps } from "./send.ts";
import type { OtlpEndpoint } from "./settings.ts";

/** What a request holds: as many spans as the usual exporters send, and well below what receivers take, which is 4 MB mostly. */
const spansMax = 512;
const charactersMax = 1_000_000;

export interface Batches {
  /** Spans that are over; others, and those that were not sampled, are left out. Throws as `sendOtlp`. */
  readonly add: (spans: readonly SpanDocument[]) => Promise<void>;
  /** Resolves once the receiver has all that was added. Throws as `sendOtlp`; what was added before is forgotten then. */
  readonly flush: () => Promise<void>;
  /** How many the receiver has taken. */
  readonly taken: () => number;
}

export interface BatchesOptions extends Telling {
  readonly endpoint: OtlpEndpoint;
  /** The receiver took a request and not all of it. */
  readonly onRefusal: (refusal: Refusal) => void;
  /** Whether spans go that their caller's trace does not sample. */
  readonly unsampledToo?: boolean;
}

export function createBatches(deps: SendDeps, options: BatchesOptions): Batches {
  let waiting: SpanDocument[] = [];
  let characters = 0;
  let taken = 0;
  const flush = async () => {
    const spans = waiting;
    [waiting, characters] = [[], 0];
    if (spans.length === 0) return;
    const refusal = await sendOtlp(deps, options.endpoint, tracesRequest(spans, options));
    if (refusal !== undefined) options.onRefusal(refusal);
    taken += spans.length - (refusal?.count ?? 0);
  };
  return {
    add: async (spans) => {
      for (const span of spans) {
        if (span.end === undefined || (options.unsampledToo !== true && !isSampled(span))) continue;
        waiting.push(span);
        characters += JSON.stringify(span.attributes).length + 500 * (1 + span.events.length);
        if (waiting.length >= spansMax || characters >= charactersMax) await flush(); // YB1
      }
    },
    flush,
    taken: () => taken,
  };
}

const isSampled = ({ flags }: SpanDocument): boolean => (Number.parseInt(flags, 16) & 1) === 1;
