/**
 * Learn: what a saga's kind remembers beside its machine, at the moment it is told.
 */
import type { Told } from "../contract/definition.ts";
import type { OpenIntent } from "../contract/state.ts";
import type { Folding } from "./folding.ts";

/** Only while the machine decides: afterwards no model is asked. The machine hears of a change, and of one refused. */
export function learn(f: Folding, told: Told): void {
  const { memory, phase } = f.state;
  if (memory === undefined || phase.kind !== "running") return;
  const learnt = f.definition.kind.learn?.(f.definition, memory, told);
  if (learnt === undefined) return;
  if ("memory" in learnt) f.state.memory = learnt.memory;
  f.queue.push({ event: { type: "sagamesh.memory", ...learnt, at: f.at } });
}

/** What a tool or a child has answered. */
export function learnResult(f: Folding, { intent, input }: OpenIntent, output: unknown): void {
  if (f.state.memory !== undefined && (intent.kind === "tool" || intent.kind === "saga"))
    learn(f, { type: "result", intent, input, output });
}
