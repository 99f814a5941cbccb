/**
 * Sent: what a model is sent of a conversation, as a pure function of its messages and the cut.
 *
 * SF1 What is sent is the head, then the messages from the cut on. The head is a function of the cut and of the
 *     messages before it: it stays byte for byte until the next cut.
 * SF2 Pinned in the head: the first message, the signals and instructions that are constraints, the calls that were
 *     open or in doubt at the cut, and the memory. So every result that is sent has its call beside it.
 * SF3 A longer result before `whole` is a reference: the call's id, by which `recall` fetches it back, and the length
 *     and digest of what it stands for.
 */
import { shortDigestOf } from "../../protocol/digest.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Call, ModelMessage, MessagePart } from "../../protocol/model.ts";
import type { CuttingPolicy } from "../contract/context-policy.ts";
import { isGrowing } from "./conversation.ts";
import type { Cut } from "./retention.ts";

/** Parts by which people instruct an agent are constraints, whatever signals the policy pins besides. */
const alwaysPinned: ReadonlySet<string> = new Set(["instructions"]);

/** SF1. */
export function sentMessages(
  policy: CuttingPolicy,
  cut: Cut,
  messages: readonly ModelMessage[],
): ModelMessage[] {
  const { whole } = cut;
  if (whole === 0) return [...messages];
  const from = Math.max(1, cut.from); // The first message is the head's, whatever is dropped.
  const aged = messages.slice(from, whole).map(agedMessage);
  return [headOf(policy, cut, messages), ...aged, ...messages.slice(whole)];
}

function headOf(policy: CuttingPolicy, cut: Cut, messages: readonly ModelMessage[]): ModelMessage {
  const [first] = messages;
  const { pinned, open, memory } = leftOut(policy, cut, messages);
  return {
    role: "user",
    at: first?.role === "user" ? first.at : 0,
    parts: [
      ...(first?.role === "user" ? first.parts.filter(({ type }) => type !== "memory") : []),
      ...pinned,
      ...textsOf(cut, [...open.values()]).map((text): MessagePart => ({ type: "text", text })),
      ...(memory === undefined ? [] : [memory]),
    ],
  };
}

/** What the head says of the messages before a cut. */
interface LeftOut {
  /** As far as `cut.from` and `cut.whole` were followed. */
  from: number;
  whole: number;
  readonly pins: string;
  readonly pinned: MessagePart[];
  /** Calls whose last known outcome is none, pending or in doubt. */
  readonly open: Map<string, Call>;
  memory: MessagePart | undefined;
}

/** By lists that only grow: a cut goes on from where the one before it was. */
const followed = new WeakMap<readonly ModelMessage[], LeftOut>();

function leftOut(policy: CuttingPolicy, cut: Cut, messages: readonly ModelMessage[]): LeftOut {
  const named = policy.kind === "selective" ? (policy.pin ?? []) : [];
  const pins = canonicalJson(toJson(named));
  const known = followed.get(messages);
  const goesOn =
    known !== undefined && known.pins === pins && known.from <= cut.from && known.whole <= cut.whole;
  const left = goesOn
    ? known
    : { from: 0, whole: 0, pins, pinned: [], open: new Map<string, Call>(), memory: undefined };
  for (const message of messages.slice(left.from, cut.from)) {
    if (left.from > 0) left.pinned.push(...pinnedParts(message, named));
    followCalls(left.open, message);
    left.from += 1;
  }
  for (const message of messages.slice(left.whole, cut.whole))
    left.memory = memoriesOf(message).at(-1) ?? left.memory;
  left.whole = cut.whole;
  if (isGrowing(messages)) followed.set(messages, left);
  return left;
}

/** What is said of the messages that are not sent. */
function textsOf({ from, summary, unsummarized }: Cut, open: readonly Call[]): string[] {
  const through = Math.max(1, summary?.through ?? 0);
  const failed = unsummarized === undefined ? "" : `, without a summary: [${unsummarized}]`;
  return [
    ...(summary === undefined ? [] : [`Summary of the ${summary.through} messages before: ${summary.text}`]),
    ...(from > through ? [`Earlier messages: ${from - through}, dropped${failed}.`] : []),
    ...(open.length === 0
      ? []
      : [`Calls of those messages that had no certain end yet, one a line:`, ...open.map(shownCall)]),
  ];
}

const shownCall = ({ id, tool, input }: Call): string => canonicalJson({ call: id, tool, input });

function followCalls(open: Map<string, Call>, message: ModelMessage): void {
  if (message.role === "assistant") for (const call of message.calls) open.set(call.id, call);
  else
    for (const part of message.parts)
      if (part.type === "result" && part.outcome !== "pending" && part.outcome !== "in_doubt")
        open.delete(part.call);
}

const partsOf = (message: ModelMessage): readonly MessagePart[] =>
  message.role === "user" ? message.parts : [];

const memoriesOf = (message: ModelMessage): MessagePart[] =>
  partsOf(message).filter((part) => part.type === "memory" && part.memory !== undefined);

const pinnedParts = (message: ModelMessage, pins: readonly string[]): MessagePart[] =>
  partsOf(message).filter(
    (part) => alwaysPinned.has(part.type) || (part.type === "signal" && pins.includes(part.name)),
  );

/** SF3. What the memory was then is left out as well: the head has what it was last. */
function agedMessage(message: ModelMessage): ModelMessage {
  if (message.role === "assistant") return message;
  const parts = message.parts.filter((part) => part.type !== "memory" || part.memory === undefined);
  return { ...message, parts: parts.map(agedPart) };
}

function agedPart(part: MessagePart): MessagePart {
  if (part.type !== "result" || part.output === undefined) return part;
  const { length } = canonicalJson(part.output);
  if (length < limits.referenceCharactersMin) return part;
  return { ...part, output: { recall: part.call, characters: length, digest: shortDigestOf(part.output) } };
}

/** A call and how it ended, as `recall` gives it; undefined for a call that was never made. */
export function recallCall(messages: readonly ModelMessage[], id: string): Json | undefined {
  const call = messages
    .flatMap((message) => (message.role === "assistant" ? message.calls : []))
    .find((one) => one.id === id);
  if (call === undefined) return undefined;
  const { tool, input } = call;
  const last = messages.flatMap(partsOf).findLast((part) => part.type === "result" && part.call === id);
  if (last?.type !== "result") return toJson({ tool, input, outcome: "pending" });
  const { outcome, output, code, reason, rewritten, edited } = last;
  return toJson({ tool, input, rewritten, edited, outcome, output, code, reason });
}
