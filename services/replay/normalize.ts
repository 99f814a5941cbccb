/**
 * Normalizing: which differences between two inputs of a call mean nothing.
 *
 * NO1 The callee's schema reads an input first, then its own `normalize` speaks, then what `--ignore` names is left
 *     out. So an order of members or a default written out is no difference; two texts of one meaning are, unless the
 *     tool's author says otherwise.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { readWith } from "../../actors/values/schema.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";

/** The input as it is compared. Throws APP_INVALID where a tool's `normalize` throws. */
export type Normalize = (tool: string, input: Json) => Json;

export type CalleeOf = (name: string) => Tool | Definition | undefined;

/** `ignored` are paths as `--ignore` takes them: `tool.member.inner`, where `*` is every member or element. */
export function normalizer(calleeOf: CalleeOf, ignored: readonly string[] = []): Normalize {
  const paths = ignored.map(pathOf);
  return (name, input) => {
    const normal = normalizedBy(calleeOf(name), name, input);
    return paths
      .filter(({ tool }) => tool === name)
      .reduce((value, { path }) => without(value, path), normal);
  };
}

function normalizedBy(callee: ReturnType<CalleeOf>, name: string, input: Json): Json {
  if (callee === undefined) return input;
  const read = readWith(callee.input, input);
  if (!read.success) return input; // It means nothing to its tool: only the very same is equal.
  if (!("normalize" in callee) || callee.normalize === undefined) return toJson(read.data);
  try {
    return toJson(callee.normalize(read.data as never)); // Of its own schema.
  } catch (error) {
    throw new MeshError("APP_INVALID", `normalize of tool ${name} threw: ${describeError(error)}`, {
      remedy: "It is given every input that the tool's schema takes; let it return what compares equal.",
      cause: error,
    });
  }
}

/** Throws USAGE. */
function pathOf(text: string): { tool: string; path: string[] } {
  const [tool = "", ...path] = text.split(".");
  if (tool === "" || path.length === 0 || path.includes(""))
    throw new MeshError("USAGE", `--ignore: expected tool.member, got "${text}"`, {
      remedy:
        "For example --ignore send_letter.body, --ignore book.legs.*.note or --ignore finish.output.reason.",
    });
  return { tool, path };
}

/** The value without what stands at the path. */
function without(value: Json, [member = "", ...rest]: readonly string[]): Json {
  if (typeof value !== "object" || value === null) return value;
  const isHit = (key: string) => member === "*" || key === member;
  const inner = (key: string, held: Json): Json[] =>
    !isHit(key) ? [held] : rest.length === 0 ? [] : [without(held, rest)];
  if (Array.isArray(value)) return value.flatMap((held, index) => inner(String(index), held));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, held]) => inner(key, held).map((kept) => [key, kept])),
  );
}
