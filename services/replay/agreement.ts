/**
 * Agreement: how far two replies decide the same.
 *
 * RX1 Words beside calls decide nothing. Where there is no call, the words are the decision.
 * RX2 Calls of one reply run in parallel, so the same set in another order is told apart from other calls; but it is
 *     another decision, for intents and messages follow the order.
 */
import { canonicalJson } from "../../protocol/json.ts";
import type { ModelReply } from "../../protocol/model.ts";
import type { Agreement } from "../../protocol/documents/replay.ts";
import type { Normalize } from "./normalize.ts";

export interface Comparison {
  readonly agreement: Agreement;
  /** What differs, for people; nothing if the two decide the same. */
  readonly what: readonly string[];
}

export function compareReplies(recorded: ModelReply, got: ModelReply, normalize: Normalize): Comparison {
  const agreement = agreementOf(recorded, got, normalize);
  return { agreement, what: differences(recorded, got, { agreement, normalize }) };
}

type Call = ModelReply["calls"][number];

function agreementOf(recorded: ModelReply, got: ModelReply, normalize: Normalize): Agreement {
  const names = ({ calls }: ModelReply) => calls.map(({ tool }) => tool);
  const normal = ({ tool, input }: Call) => `${tool} ${canonicalJson(normalize(tool, input))}`;
  const raw = ({ tool, input }: Call) => `${tool} ${canonicalJson(input)}`;
  const inOrder = isSame(names(recorded), names(got));
  const asSet = isSame(names(recorded).sort(), names(got).sort());
  const [before, now] = [recorded.calls.map(normal), got.calls.map(normal)];
  return {
    tools: inOrder ? "order" : asSet ? "set" : "different",
    arguments: inOrder ? isSame(before, now) : asSet && isSame(before.sort(), now.sort()),
    exact: isSame(recorded.calls.map(raw), got.calls.map(raw)),
  };
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, k) => one === b[k]);

function differences(
  recorded: ModelReply,
  got: ModelReply,
  { agreement, normalize }: { agreement: Agreement; normalize: Normalize },
): string[] {
  const names = ({ calls }: ModelReply) => calls.map(({ tool }) => tool).join(", ") || "no call";
  if (agreement.tools === "set")
    return [
      `calls ${names(got)}, in another order than ${names(recorded)}${agreement.arguments ? "" : ", with other inputs"}`,
    ];
  if (agreement.tools === "different") return [`calls ${names(got)} instead of ${names(recorded)}`];
  const normal = (call: Call | undefined) => call && canonicalJson(normalize(call.tool, call.input));
  const what = recorded.calls.flatMap((call, k) =>
    normal(call) === normal(got.calls[k]) ? [] : [`another input for ${call.tool} (call ${k})`],
  );
  if (recorded.calls.length === 0 && recorded.text !== got.text) what.push("another text");
  if (breakOf(recorded) !== breakOf(got))
    what.push(`stops with ${got.stop ?? "nothing"} instead of ${recorded.stop ?? "nothing"}`);
  return what;
}

/** Stops that are outcomes of their own; `end` and `calls` only say what the calls say. */
const breakOf = ({ stop }: ModelReply): string =>
  stop === undefined || stop === "end" || stop === "calls" ? "" : stop;
