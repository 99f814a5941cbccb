/**
 * Variant: what a model is asked with in place of what the definition says, from a fork on.
 *
 * VT1 A request of a variant is built, and its digest recorded, by the same functions as any other: only the frame
 *     differs. So it can be rebuilt and proved like any other.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { Event } from "../../protocol/event.ts";
import type { Variant } from "../../protocol/fork.ts";
import type { ModelCall } from "../machine/callable.ts";
import type { RequestFrame, RequestParts } from "./agent-spec.ts";

/** The variant after an event: what a later fork does not change, stays. */
export function variantAfter(before: Variant | undefined, event: Event): Variant | undefined {
  if (event.type !== "forked") return before;
  const { model = before?.model, instructions = before?.instructions } = event;
  if (model === undefined && instructions === undefined) return undefined;
  return {
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

type Framed = Pick<RequestParts, "frame" | "frameDigest" | "instructions">;

/** What is the same in every request of an agent, and its digest. */
export function framed(
  { frame, frameDigest, instructions: own }: Framed,
  variant: Variant | undefined,
): { readonly frame: RequestFrame | undefined; readonly frameDigest: string } {
  if (frame === undefined || variant === undefined) return { frame, frameDigest };
  const { model = frame.model, instructions = own } = variant;
  // What every model is told besides stands behind the definition's own words.
  const varied = { ...frame, model, instructions: instructions + frame.instructions.slice(own.length) };
  return { frame: varied, frameDigest: digestOf(varied) };
}

/** A machine's single model call as it is made now. */
export const varied = (call: ModelCall, variant: Variant | undefined): ModelCall =>
  variant?.model === undefined ? call : { ...call, model: variant.model };
