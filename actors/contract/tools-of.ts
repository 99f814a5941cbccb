/**
 * Tools of: the promises of a machine as tools, by one word about the effect of each.
 *
 * TF1 What is not declared is not checked: without a schema a tool takes and gives any JSON, within the bounds of every
 *     value.
 */
import { z } from "zod";
import type { Effect } from "../../protocol/tool.ts";
import { type PromiseLogic, promiseWithin } from "../machine/foreign.ts";
import { defineTool, type PerformContext, type Tool, type ToolConfig } from "./tool.ts";

/** A function of the input, which is annotated where it is used, or what `fromPromise` of XState made, as it is. */
type Perform =
  | ((input: never, context: PerformContext) => unknown)
  | { readonly getInitialSnapshot: (...given: never[]) => unknown };

type AnyConfig = ToolConfig<z.ZodType, z.ZodType, Effect, Tool>;

/** What `toolsOf` takes of each tool: what `defineTool` takes, of which only `effect` and `perform` must be there. */
export type ToolSpec = Partial<Omit<AnyConfig, "name" | "effect" | "perform" | "accepts">> & {
  readonly effect: Effect;
  readonly perform: Perform;
};

type Unless<I, Else> = [I] extends [never] ? Else : z.ZodType<I, I>;
type InputOf<S> = S extends { input: infer I extends z.ZodType }
  ? I
  : S extends { perform: PromiseLogic<infer _, infer I> }
    ? Unless<I, z.ZodType>
    : S extends { perform: () => unknown }
      ? z.ZodType
      : S extends { perform: (input: infer I, context: PerformContext) => unknown }
        ? Unless<I, z.ZodType>
        : z.ZodType;
type OutputOf<S> = S extends { output: infer O extends z.ZodType }
  ? O
  : S extends { perform: PromiseLogic<infer O, infer _> }
    ? z.ZodType<O, O>
    : S extends { perform: (...given: never[]) => infer O }
      ? z.ZodType<Awaited<O>, Awaited<O>>
      : z.ZodType;

/** The tools of a table, under its keys. */
export type ToolsOf<S extends Readonly<Record<string, ToolSpec>>> = {
  readonly [K in keyof S]: Tool<InputOf<S[K]>, OutputOf<S[K]>, S[K]["effect"]>;
};

/**
 * Tools from a table: each key is a tool's name, `effect` what may be done when nobody knows whether it happened, and
 * `perform` a function or what `fromPromise` made. `input` and `output` are schemas, or left out (TF1). With a `space`
 * before the table a tool's name is `space__key`, so that the tools of two machines in one application never collide.
 *
 * A body that throws is tried again as its effect allows: of `read`, `idempotent` and `probe` by `retry` (5 attempts
 * unless given), of `once` never, for it is in doubt. A body that knows that nothing happened throws `NotPerformed`. What
 * `fromPromise` made is told neither key nor attempt: where the outside is to know the key, write a function.
 *
 * @example
 * const tools = toolsOf("hire", { sendEmail: { effect: "once", perform: fromPromise(sendEmail) } });
 * setup({ actors: toActors(tools) });
 */
export function toolsOf<const S extends Readonly<Record<string, ToolSpec>>>(specs: S): ToolsOf<S>;
export function toolsOf<const S extends Readonly<Record<string, ToolSpec>>>(
  space: string,
  specs: S,
): ToolsOf<S>;
export function toolsOf<S extends Readonly<Record<string, ToolSpec>>>(
  ...given: [specs: S] | [space: string, specs: S]
): ToolsOf<S> {
  const [space, specs] = given.length === 1 ? [undefined, given[0]] : given;
  const toolOf = ([key, spec]: [string, ToolSpec]): [string, Tool] => {
    const name = space === undefined ? key : `${space}__${key}`;
    // A table of plain JavaScript may hold anything; what is wrong in it is told by defineTool's own reading.
    if (typeof spec !== "object" || (spec as unknown) === null) return [key, defineTool(spec as never)];
    const { description = "", input = unchecked, output = unchecked, perform, ...rest } = spec;
    const config = { ...rest, name, description, input, output, perform: bodyOf(perform) };
    return [key, defineTool(config as never)]; // Proof: as AnyConfig, but for types that the table's own are read from.
  };
  // Proof: of each key its own tool, whose schemas are the table's, or say nothing.
  return Object.fromEntries(Object.entries(specs).map(toolOf)) as unknown as ToolsOf<S>;
}

/** TF1. What is no JSON is refused where it is written down, with the path in it. */
const unchecked = z.unknown();

function bodyOf(perform: Perform): unknown {
  const promise = promiseWithin(perform);
  return promise === undefined
    ? perform
    : (input: unknown, { abort }: PerformContext) => promise(input, abort);
}
