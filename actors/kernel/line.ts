/**
 * Line: children that wait for a place, where their definition says how many may (`budget.childrenInLineMax`).
 *
 * LN1 First in, first out. Who leaves the line, and with what slice, is decided in the turn that makes room, and recorded
 *     in it (`begun` of a step), so that every host begins the same children.
 * LN2 A child in line is open and has not begun: nobody outside knows of it, nothing is reserved for it, its own time does not
 *     run, and it is over at once when it is called off. Neither is what its machine sends to it told before it begins.
 * LN3 A line moves on as long as its saga decides: the first waits only while there is no place, or while others run whose
 *     slices it may have when they end. Where none runs, one that finds no slice is refused as it would have been without a line.
 *
 * Policies, doubts and approval come before the line (IS1 of issue.ts): who stands in it may begin.
 */
import type { Amounts } from "../../protocol/budget.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { assert } from "../../protocol/errors.ts";
import { restingOf } from "../contract/calls.ts";
import type { Definition } from "../contract/definition.ts";
import { isInLine, type OpenSaga, type ProposedCall } from "../contract/state.ts";
import {
  actorError,
  endIntent,
  type Folding,
  inputOrCall,
  newId,
  openIndex,
  openIntent,
  setOpen,
  tellActor,
} from "./folding.ts";
import { isPaused } from "./held.ts";
import { childOfCall } from "./keys.ts";
import { forbidden } from "./lineage.ts";
import { childrenAhead, countChild, depthRefusal, type NoSlice, sliceFor } from "./slices.ts";
import { tellChild } from "./tell-child.ts";

/** What becomes of a child: it begins with a slice, it stands in line, or it is refused. */
export type Opening = { readonly budget: Amounts | undefined } | { readonly inLine: true } | NoSlice;

const placesOf = ({ definition: { budget } }: Folding): number =>
  Math.min(limits.childrenOpenMax, budget.childrenOpenMax ?? limits.childrenOpenMax);

/** How many may stand in line. Where there is no place none ever leaves it. */
const lineMaxOf = (f: Folding): number =>
  placesOf(f) === 0 ? 0 : (f.definition.budget.childrenInLineMax ?? 0);

/** Whether a child may be opened now. One that stands in for people has their time, and waits in no line. */
export function openingOf(f: Folding, child: string, standsIn = false): Opening {
  const tooDeep = depthRefusal(f);
  if (tooDeep !== undefined) return tooDeep;
  const [places, lineMax] = [placesOf(f), standsIn ? 0 : lineMaxOf(f)];
  const { children, line } = openIndex(f);
  const mayWait = line.size < lineMax;
  if (children >= places || (lineMax > 0 && line.size > 0)) {
    if (mayWait) return { inLine: true };
    const waiting = lineMax === 0 ? "" : `, and ${line.size} more stand in line`;
    return {
      code: "BREADTH_EXCEEDED",
      reason: `${children} children are open, and ${places} are the most${waiting}`,
    };
  }
  const slice = sliceFor(f, child, childrenAhead(f, lineMax === 0 ? undefined : places - children - 1));
  return "code" in slice && mayWait && children > 0 ? { inLine: true } : slice; // LN3
}

/** A call that passed everything becomes a child, which begins or stands in line. */
export function startChild(f: Folding, child: Definition, call: ProposedCall): void {
  const opening = openingOf(f, child.name);
  assert(!("code" in opening), "a child that may not be opened was refused before");
  const id = newId(f);
  const waits = "inLine" in opening ? opening : {};
  if (!("inLine" in opening)) countChild(f);
  openIntent(f, {
    intent: {
      kind: "saga",
      id,
      name: child.name,
      saga: childOfCall(f, id, call, child.name),
      ...inputOrCall(call),
      ...restingOf(call),
      ...waits,
      ...("inLine" in opening || opening.budget === undefined ? {} : { budget: opening.budget }),
    },
    input: call.input,
    attempt: 1,
    actor: call.actor,
    ...waits,
  });
}

/** Lets begin what there is room for (LN1). True if anything changed. */
export function advanceLine(f: Folding): boolean {
  if (lineMaxOf(f) === 0 || f.state.phase.kind !== "running" || isPaused(f)) return false;
  const { line } = openIndex(f);
  let changed = false;
  for (const id of line) {
    const open = f.state.open[id];
    assert(isInLine(open), "what stands in line is open");
    const { children } = openIndex(f);
    if (children >= placesOf(f)) break;
    const slice =
      forbidden(f.state) ?? sliceFor(f, open.intent.name, namesBehind(f, placesOf(f) - children - 1));
    if (!("code" in slice)) begin(f, id, open, slice.budget);
    else if (children > 0)
      break; // LN3
    else refuse(f, id, open, slice);
    changed = true;
  }
  return changed;
}

/** Those that may begin beside the first, which share with it what is left (SC2 of slices.ts). */
function namesBehind(f: Folding, most: number): string[] {
  const names: string[] = [];
  for (const id of openIndex(f).line) {
    if (names.length > most) break;
    const open = f.state.open[id];
    if (isInLine(open)) names.push(open.intent.name);
  }
  return names.slice(1);
}

function begin(f: Folding, id: IntentId, open: OpenSaga, budget: Amounts | undefined): void {
  const { inLine: _inLine, toSend = [], ...rest } = open;
  const reserved = budget === undefined ? {} : { budget };
  countChild(f);
  setOpen(f, { ...rest, intent: { ...open.intent, ...reserved } });
  f.begun.push({ intent: id, ...reserved });
  for (const { name, data } of toSend) tellChild(f, open.intent.saga, name, data);
}

function refuse(f: Folding, id: IntentId, { actor }: OpenSaga, { code, reason }: NoSlice): void {
  endIntent(f, id, { as: "denied", code, reason });
  tellActor(f, actor, id, { error: actorError("denied", code, reason) });
}
