/**
 * Settings: what a user says of one tool of a server, beside its effect class.
 */
import type { Approval, EffectToUndo, OnDoubt, ProbeAnswer, Tool } from "../../actors/contract/tool.ts";
import type { Json } from "../../protocol/json.ts";
import type { Retry } from "../../protocol/tool.ts";

/** Calls a tool of the same server by the server's own name, and gives its output. For a probe: tools that read. */
export type McpCall = (tool: string, input: Readonly<Record<string, Json>>) => Promise<Json>;

type Input = Readonly<Record<string, Json>>;

/** What of a tool only the application can say. */
export interface McpToolSettings {
  /** For the model and for people, in place of the server's own words. */
  readonly description?: string;
  readonly timeoutMs?: number;
  readonly retry?: Retry;
  readonly onDoubt?: OnDoubt;
  readonly concurrencyMax?: number;
  readonly perSecondMax?: number;
  /** Pure. False, or the terms of the approval this input needs. */
  readonly approval?: (input: Input) => false | Approval;
  /** The tool that undoes the meaning of a success: one of the same server by its own name, or any other. */
  readonly compensation?:
    | "point_of_no_return"
    | { readonly tool: string | Tool; readonly input: (effect: EffectToUndo<Input, Json>) => Json };
  /**
   * What an error in the tool's answer (`isError`) says of a `once` tool. `in_doubt`, the default: it may have done a
   * part. `not_performed`: you know that this tool answers so only when it did nothing.
   */
  readonly onError?: "in_doubt" | "not_performed";
  /**
   * The tool's parameter that takes an idempotency key. It gets the effect's own key and the model does not see it, so
   * `idempotent` holds what it promises.
   */
  readonly keyIn?: string;
  /** For the class `probe`: asks whether the effect happened, by tools of the same server that read. */
  readonly probe?: (key: string, input: Input, call: McpCall) => Promise<ProbeAnswer<Json>>;
}
