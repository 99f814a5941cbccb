/** What a run's thread is told, and what it says. Types only: the thread loads nothing it does not need. */

export interface Limits {
  readonly stepsMax: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly timeoutMs: number;
}

export interface Order {
  readonly code: string;
  /** JSON. */
  readonly input: string;
  readonly limits: Limits;
}

export type Report =
  | { readonly type: "returned"; readonly value: string; readonly logs: string[] }
  | {
      readonly type: "failed";
      readonly code: "TOOL_FAILED" | "TOOL_TIMEOUT" | "TOO_LARGE";
      readonly reason: string;
      readonly logs: string[];
    };
