/**
 * Spanning: a saga while its spans are told, and a span before it is one.
 */
import type { SpanDocument, SpanEvent } from "../../protocol/documents/trace.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Usage } from "../../protocol/result.ts";
import type { traceOf } from "../../protocol/trace.ts";
import type { AccountReader, ToldIntent } from "../ledger/account.ts";
import type { Told } from "./intent-span.ts";

/** A span, or of what is not over what there is of one. */
export type Span = SpanDocument;

/** The events of a span, and how many were left out. */
export interface Events {
  readonly kept: SpanEvent[];
  dropped: number;
}

/** An intent whose span is not over. */
export interface Lasting {
  readonly told: ToldIntent;
  readonly spanId: string;
  readonly at: number;
  readonly events: Events;
  /** Of all its attempts so far. */
  usage: Usage | undefined;
  /** Of the last result that was no success. */
  code: string | undefined;
}

/** What a span is made of besides its saga, its trace and its end. */
export interface Drawn extends Told, Pick<Span, "spanId" | "start" | "events"> {
  readonly intent?: IntentId;
  readonly dropped?: number;
  /** The span that it lies below; the saga's own unless given. */
  readonly below?: string;
}

/** A saga while its spans are told. */
export interface Spanning {
  readonly content: boolean;
  readonly reader: AccountReader;
  readonly place: ReturnType<typeof traceOf>;
  /** The last turn that is the origin's; 0 where there is none. */
  readonly inherited: number;
  /** When its first own turn was; undefined before that. */
  startedAt: number | undefined;
  host: string | undefined;
  readonly events: Events;
  readonly lasting: Map<IntentId, Lasting>;
  readonly children: Set<SagaId>;
  /** The turn of its first end. */
  endedIn: number | undefined;
  /** When what came after its last end began. */
  againAt: number | undefined;
  /** What is over with the turn that is taken. */
  told: Span[];
}
