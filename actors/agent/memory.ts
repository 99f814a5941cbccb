/**
 * Memory: an agent's typed working memory. Part of the saga's state, and changed only by what is recorded: a tool's
 * success, a signal, a human's edit.
 *
 * AM1 The memory always fits its schema. A change that throws or does not fit is refused, the memory stays, and the
 *     model is told with a code.
 * AM2 It is kept as it was given, not as its schema reads it: each reader reads it anew.
 * AM3 The fold changes it (kernel/learn.ts), not the machine: an agent that is paused, waits or is being asked has the
 *     change at once, and its model is shown it with the next message.
 */
import { assertNoReference } from "../../protocol/codec.ts";
import { describeError, type ErrorCode } from "../../protocol/errors.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Definition, DoorRefusal, Learnt, Told } from "../contract/definition.ts";
import { MemoryEdit, memorySignal, type MemorySpec } from "../contract/memory-spec.ts";
import type { SagaState } from "../contract/state.ts";
import { mergePatch } from "../values/merge-patch.ts";
import { readWith } from "../values/schema.ts";

type Remembering = Definition<{ readonly memory: MemorySpec | undefined }>;

/** What an agent remembers of what was told; undefined where that changes nothing. */
export function learnt(definition: Remembering, memory: Json, told: Told): Learnt | undefined {
  const { memory: spec } = definition.own;
  const change = spec === undefined ? undefined : changeOf(definition, spec, memory, told);
  if (spec === undefined || change === undefined) return undefined;
  const { by, make } = change;
  // A copy: a reducer that writes into its argument must not write into the state before this turn.
  const after = changed(spec, () => make(spec.schema.parse(toJson(memory))));
  if ("code" in after) return { by, ...after };
  return canonicalJson(after.memory) === canonicalJson(memory) ? undefined : { by, memory: after.memory };
}

interface MemoryChange {
  readonly by: string;
  readonly make: (memory: unknown) => unknown;
}

/** Reducers have what was told as its schemas read it. */
function changeOf(
  { signals, tools, sagas }: Remembering,
  spec: MemorySpec,
  memory: Json,
  told: Told,
): MemoryChange | undefined {
  if (told.type === "result") {
    const { intent, input, output } = told;
    const reduce = own(spec.on, intent.name) as Reducer | undefined;
    const schema = intent.kind === "tool" ? tools.get(intent.name)?.input : sagas.get(intent.name)?.input;
    if (reduce === undefined || schema === undefined) return undefined;
    const by = intent.call === undefined ? intent.name : `${intent.name} (call ${intent.call})`;
    return { by, make: (before) => reduce(before, { input: schema.parse(input), output }) };
  }
  const { name, data, from } = told;
  if (name === memorySignal) {
    // What the door let through may have been overtaken by another change of the same turn.
    const edit = MemoryEdit.safeParse(data);
    return edit.success ? { by: from, make: () => edited(memory, edit.data) } : undefined;
  }
  const reduce = own(spec.signals, name) as Reducer | undefined;
  const schema = own(signals, name);
  if (reduce === undefined || schema === undefined) return undefined;
  return { by: `signal ${name}`, make: (before) => reduce(before, schema.parse(data)) };
}

type Reducer = (memory: unknown, told: unknown) => unknown;

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** Why a human's edit cannot be taken now: the door's question. */
export function refusalOfEdit(
  definition: Remembering,
  state: SagaState,
  data: Json,
): DoorRefusal | undefined {
  const { memory: spec } = definition.own;
  const edit = MemoryEdit.safeParse(data);
  if (spec === undefined || !edit.success)
    return {
      code: "INPUT_INVALID",
      reason: `the memory of ${state.saga}: it holds neither \`set\` nor \`replace\``,
    };
  const after = changed(spec, () => edited(state.memory, edit.data));
  if (!("code" in after)) return undefined;
  const code = after.code === "TOO_LARGE" ? after.code : "INPUT_INVALID";
  return { code, reason: `the memory of ${state.saga}: ${after.reason}` };
}

/** AM1. The memory after a change, or why it stays. */
function changed(
  spec: MemorySpec,
  change: () => unknown,
): { memory: Json } | { code: ErrorCode; reason: string } {
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
