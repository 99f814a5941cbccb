/**
 * The scripted model: a function from what a model is sent to what it says, so that everything runs without a key, and
 * tests say the same every time. A real model takes its place by its name in agent.ts.
 */
import type { ModelRequest } from "sagamesh/models";
import type { ScriptedAnswer } from "sagamesh/testing";

const twoWeeksMs = 14 * 24 * 3_600_000;

export function decide({ messages }: ModelRequest): ScriptedAnswer {
  const told = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const resultOf = (tool: string) => told.find((part) => part.type === "result" && part.tool === tool);
  const [input] = told;
  const { order } = JSON.parse(input?.type === "text" ? input.text : "{}") as { order: string };

  const found = resultOf("find_order");
  if (found?.type !== "result") return say(`I look ${order} up.`, "find_order", { order });
  if (found.outcome !== "succeeded") return finish(0, found.reason ?? "the order was not found");
  const { cents, mustComeBack } = found.output as { cents: number; mustComeBack: boolean };

  const hasArrived = told.some((part) => part.type === "signal" && part.name === "parcel_arrived");
  if (mustComeBack && !hasArrived) {
    if (resultOf("wait") !== undefined) return finish(0, "no parcel came");
    return say("The goods must come back first.", "wait", { signals: ["parcel_arrived"], forMs: twoWeeksMs });
  }
  const paid = resultOf("refund");
  if (paid?.type !== "result") return say(`I refund ${cents} cents.`, "refund", { order, cents });
  return paid.outcome === "succeeded"
    ? finish(cents, "refunded")
    : finish(0, `not refunded: ${paid.reason ?? paid.outcome}`);
}

const say = (text: string, tool: string, input: Record<string, string | number | string[]>) => ({
  text,
  calls: [{ tool, input }],
});
const finish = (refundedCents: number, note: string) => ({
  calls: [{ tool: "finish", input: { output: { refundedCents, note } } }],
});
