/** The contracts the corpus machines invoke. Their schemas matter to the types alone. */
import { z } from "zod";
import type { Callable } from "../../../../actors/machine/callable.ts";

const Input = z.object({ of: z.string().optional(), n: z.number().optional() }).optional();
const Output = z.object({ n: z.number() }).nullable();

export const tool = { kind: "tool", name: "tool", input: Input, output: Output } as const satisfies Callable;
export const saga = { kind: "saga", name: "saga", input: Input, output: Output } as const satisfies Callable;
