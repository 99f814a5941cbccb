/**
 * The tools of the simulated application: every effect class at both placements, and what undoes them.
 *
 * Short timeouts, so that a claim's deadline falls within a run; many attempts, so that none runs out while
 * faults last (the oracle's table says why).
 */
import { z } from "zod";
import { defineTool, type EffectToUndo, type Tool } from "../../actors/contract/tool.ts";
import type { Effect } from "../../protocol/tool.ts";

const Input = z.object({ place: z.string() });
const Output = z.object({ id: z.string() });
export const UndoInput = z.object({ place: z.string(), madeWithKey: z.string(), id: z.string().optional() });

export const toolTimeoutMs = 1_500;
const terms = { timeoutMs: toolTimeoutMs, retry: { attemptsMax: 40, backoffMs: 100 } };

const undoing = (name: string, effect: "idempotent" | "probe", placement: "worker" | "host") =>
  defineTool({
    ...{ name, effect, placement, description: "undoes what was made with a key" },
    ...{ input: UndoInput, output: Output, ...terms },
  });
export const release = undoing("release", "idempotent", "worker");
const releaseHere = undoing("releaseHere", "idempotent", "host");
const refund = undoing("refund", "probe", "worker");

interface Kind {
  readonly placement: "worker" | "host";
  readonly undo?: Tool;
  readonly onDoubt?: "ask" | "model" | "compensate";
  readonly approval?: boolean;
}

const tool = <const E extends Effect>(
  name: string,
  effect: E,
  { placement, undo, onDoubt, approval }: Kind,
) =>
  defineTool({
    ...{ name, effect, placement, description: name, input: Input, output: Output, ...terms },
    ...(onDoubt === undefined ? {} : { onDoubt }),
    ...(approval === true
      ? { approval: () => ({ by: ["finance"], withinMs: 600_000, otherwise: "deny" as const, quorum: 2 }) }
      : {}),
    ...(undo === undefined
      ? {}
      : {
          compensation: {
            tool: undo as typeof release,
            input: (effect: EffectToUndo<z.infer<typeof Input>, z.infer<typeof Output>>) => ({
              madeWithKey: effect.key,
              place: `undo of ${effect.input.place}`,
              id: effect.output?.id,
            }),
          },
        }),
  });

export const tools = {
  look: tool("look", "read", { placement: "worker" }),
  peek: tool("peek", "read", { placement: "host" }),
  book: tool("book", "idempotent", { placement: "worker", undo: release }),
  hold: tool("hold", "idempotent", { placement: "host", undo: releaseHere }),
  reserve: tool("reserve", "probe", { placement: "worker", undo: release }),
  reserveHere: tool("reserveHere", "probe", { placement: "host", undo: refund }),
  charge: tool("charge", "once", { placement: "worker", undo: refund, onDoubt: "ask" }),
  deposit: tool("deposit", "once", { placement: "host", undo: release, onDoubt: "compensate" }),
  fee: tool("fee", "once", { placement: "worker", undo: releaseHere, onDoubt: "model" }),
  spend: tool("spend", "once", { placement: "worker", undo: release, onDoubt: "model", approval: true }),
  /** Deferred: the outside answers later. */
  order: tool("order", "idempotent", { placement: "worker", undo: release }),
  wire: tool("wire", "once", { placement: "host", undo: release, onDoubt: "model" }),
} as const;
export type ToolName = keyof typeof tools;

export const undoTools = [release, releaseHere, refund] as const;

/** How long a deferred call waits for the outside. */
export const deferredMs = 20_000;
export const isDeferred = (name: string): boolean => name === "order" || name === "wire";

/** The tools whose effect the runtime may have to undo. */
export const isUndoable = (name: string): boolean =>
  Object.values(tools).some((one) => one.name === name && one.compensation !== undefined);
