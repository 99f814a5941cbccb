/**
 * Memory: an agent's typed working memory. Part of the saga's state, and changed only by what is recorded: a tool's
 * success, a signal, a human's edit.
 *
 * H1 The memory always fits its schema. A change that throws or does not fit is refused, the memory stays, and the
 *    model is told with a code.
 * H2 It is kept as it was given, not as its schema reads it: each reader reads it anew.
 * H3 The fold changes it, not the machine: an agent that is paused, waits or is being asked has the change at once,
 *    and its model is shown it with the next message.
 */
import { assertNoReference } from "../../protocol/codec.ts";
import { describeError, type ErrorCode } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Definition } from "../contract/definition.ts";
import { type Folding } from "./folding.ts";
import { readWith } from "../values/schema.ts";
import { mergePatch } from "../values/merge-patch.ts";
import { MemoryEdit, type MemorySpec } from "../contract/memory-spec.ts";
import type { OpenIntent, SagaState } from "../contract/state.ts";

interface Refusal {
  readonly code: ErrorCode;
  readonly reason: string;
}

/** H1. The memory after a change, or why it stays. */
function changed(spec: MemorySpec, change: () => unknown): { memory: Json } | Refusal {
  try {
    const memory = toJson(change());
    assertNoReference(memory); // It could not be stored.
    const size = JSON.stringify(memory).length;
    if (size > limits.memoryCharactersMax)
      return { code: "TOO_LARGE", reason: `${size} characters are over ${limits.memoryCharactersMax}` };
    const read = readWith(spec.schema, memory);
    return read.success ? { memory } : { code: "MEMORY_INVALID", reason: read.reason };
  } catch (error) {
    return { code: "MEMORY_INVALID", reason: describeError(error) };
  }
}

const edited = (memory: Json | undefined, edit: MemoryEdit): Json =>
  "replace" in edit ? edit.replace : mergePatch(memory, edit.set);

/** Why an edit cannot be taken now, or undefined: the door's question. */
export function refusalOfEdit(
  { memory: spec }: Definition,
  state: SagaState,
  data: Json,
): Refusal | undefined {
  const edit = MemoryEdit.safeParse(data);
  if (spec === undefined || !edit.success)
    return { code: "INPUT_INVALID", reason: "it holds neither `set` nor `replace`" };
  const after = changed(spec, () => edited(state.memory, edit.data));
  return "code" in after ? after : undefined;
}

/** A human's edit. What the door let through may have been overtaken by another change of the same turn. */
export function takeEdit(f: Folding, { data, from }: EventOf<"signal">): void {
  const edit = MemoryEdit.safeParse(data);
  if (edit.success) change(f, from, () => edited(f.state.memory, edit.data));
}

/** A signal that the agent takes: its reducer has it as the signal's schema reads it. */
export function rememberSignal(f: Folding, { name, data }: EventOf<"signal">): void {
  const { memory: spec, signals } = f.definition;
  const reduce = spec === undefined ? undefined : own(spec.signals, name);
  const schema = own(signals, name);
  if (reduce === undefined || schema === undefined) return;
  change(f, `signal ${name}`, (memory) => (reduce as Reducer)(memory, schema.parse(data)));
}

/** A success of a tool or a sub-agent: its reducer has input and output as their schemas read them. */
export function rememberResult(f: Folding, { intent, input }: OpenIntent, output: unknown): void {
  const { memory: spec, tools, sagas } = f.definition;
  if (spec === undefined || (intent.kind !== "tool" && intent.kind !== "saga")) return;
  const reduce = own(spec.on, intent.name);
  const schema = intent.kind === "tool" ? tools.get(intent.name)?.input : sagas.get(intent.name)?.input;
  if (reduce === undefined || schema === undefined) return;
  const by = intent.call === undefined ? intent.name : `${intent.name} (call ${intent.call})`;
  change(f, by, (memory) => (reduce as Reducer)(memory, { input: schema.parse(input), output }));
}

type Reducer = (memory: unknown, told: unknown) => unknown;

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** H1, H3. Only while the machine decides: afterwards no model is asked. */
function change(f: Folding, by: string, make: (memory: unknown) => unknown): void {
  const { memory: spec } = f.definition;
  const before = f.state.memory;
  if (spec === undefined || before === undefined || f.state.phase.kind !== "running") return;
  // A copy: a reducer that writes into its argument must not write into the state before this turn.
  const after = changed(spec, () => make(spec.schema.parse(toJson(before))));
  const type = "sagamesh.memory";
  if ("code" in after) return void f.queue.push({ event: { type, by, ...after, at: f.at } });
  if (canonicalJson(after.memory) === canonicalJson(before)) return;
  f.state.memory = after.memory;
  f.queue.push({ event: { type, by, memory: after.memory, at: f.at } });
}

/** What is wrong with a memory as it was declared. */
export function memoryFaults(agent: string, spec: MemorySpec | undefined, names: MemoryNames): string[] {
  if (spec === undefined) return [];
  const initial = changed(spec, () => spec.initial);
  const unknown = (what: string, declared: readonly string[], known: readonly string[]) =>
    declared
      .filter((name) => !known.includes(name))
      .map((name) => `${agent}: its memory has a reducer for "${name}", which is none of its ${what}`);
  return [
    ...("code" in initial ? [`${agent}: the initial memory does not fit: ${initial.reason}`] : []),
    ...unknown("tools and agents", Object.keys(spec.on), names.callables),
    ...unknown("signals", Object.keys(spec.signals), names.signals),
  ];
}

interface MemoryNames {
  readonly callables: readonly string[];
  readonly signals: readonly string[];
}
