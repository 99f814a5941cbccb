/**
 * An agent of many steps whose model and tools now and then fail, and the check of its account: what the
 * outside counted against what the ledger says.
 *
 * The outside's account is kept by whoever runs this, apart from every ledger: a line for each request of the
 * model and each effect, with the process that made it.
 */
import { expect } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool, NotPerformed } from "../../actors/contract/tool.ts";
import { ModelFailure } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type App, defineApp } from "../../services/app/app.ts";

export type Line =
  | { readonly type: "request"; readonly by: string; readonly saga: string; readonly step: number }
  | { readonly type: "effect"; readonly by: string; readonly tool: string; readonly key: string };

export interface Surroundings {
  /** The incarnation of the process that serves this application. */
  readonly by: string;
  readonly steps: number;
  readonly note: (line: Line) => void;
  /** Whether this request or effect fails now. */
  readonly fails: () => boolean;
  /** How long a model thinks. */
  readonly think: () => Promise<void>;
}

const tools = {
  post: { effect: "idempotent", placement: "worker" },
  pay: { effect: "once", placement: "worker" },
  stamp: { effect: "once", placement: "host" },
  file: { effect: "idempotent", placement: "host" },
} as const;
const names = Object.keys(tools) as (keyof typeof tools)[];

/** The application as one process serves it. Every process's is the same definition. */
export function longAgent({ by, steps, note, fails, think }: Surroundings) {
  const agent = defineAgent({
    name: "marathon",
    version: 1,
    description: "Takes many steps.",
    model: "patient",
    instructions: "Go on.",
    input: z.object({}),
    output: z.object({ steps: z.int() }),
    signals: {},
    tools: names.map((name) =>
      defineTool({
        name,
        description: name,
        ...tools[name],
        timeoutMs: 1_000,
        onDoubt: "model",
        compensation: "point_of_no_return",
        retry: { attemptsMax: 5, backoffMs: 100 },
        input: z.object({ step: z.int() }),
        output: z.object({}),
        perform: async (_, { key }) => {
          if (fails()) throw new NotPerformed("injected");
          note({ type: "effect", by, tool: name, key });
          return {};
        },
      }),
    ),
  });
  const patient = {
    name: "patient",
    decide: async ({ saga, step }: { saga: string; step: number }) => {
      note({ type: "request", by, saga, step });
      await think();
      if (fails()) throw new ModelFailure("retry", "injected");
      if (step === steps)
        return { model: "patient", calls: [{ tool: "finish", input: { output: { steps } } }] };
      const tool = names[step % names.length] ?? "file";
      return { model: "patient", calls: [{ tool, input: { step } }] };
    },
  };
  const app: App = defineApp({ sagas: [agent], models: { patient } });
  return { agent, app };
}

export interface Account {
  readonly requests: number;
  readonly decisions: number;
  readonly retries: number;
  /** Calls that a kill hit while they were open: begun, and no result of theirs on the ledger. */
  readonly hit: number;
}

/** What of the account is a saga's: an effect's key begins with its saga. */
export const linesOf = (saga: string, lines: readonly Line[]): Line[] =>
  lines.filter((line) => (line.type === "request" ? line.saga : line.key.split(".")[0]) === saga);

/**
 * Checks a run that came to its end and returns its sums. A call is open from its request until its result is
 * on the ledger; `killed` are the incarnations that ended by a kill.
 */
export function checkAccount(
  turns: readonly Turn[],
  lines: readonly Line[],
  killed: ReadonlySet<string>,
): Account {
  const intents = turns.flatMap((turn) => turn.steps.flatMap((step) => step.intents));
  const decisions = intents.filter((intent) => intent.kind === "model");
  const stepOf = new Map<string, number>(decisions.map((intent, i) => [intent.id, i + 1]));
  const retries = intents.filter((intent) => intent.kind === "retry" && stepOf.has(intent.id)).length;
  const open = new Map<string, number>();
  const count = (by: string, step: number, change: number) =>
    open.set(`${by} ${step}`, (open.get(`${by} ${step}`) ?? 0) + change);
  const requests = lines.filter((line) => line.type === "request");
  for (const { by, step } of requests) count(by, step, 1);
  for (const { event } of turns.flatMap((turn) => turn.steps))
    if (event.type === "result" && stepOf.has(event.intent))
      count(event.by, stepOf.get(event.intent) ?? 0, -1);

  let hit = 0;
  const hits = new Set<string>();
  for (const [call, left] of open) {
    if (left === 0) continue;
    const [by = ""] = call.split(" ");
    expect(left, `${call}: a result has one request`).toBe(1);
    expect(killed.has(by), `${call}: a request without a result was made by a process that was killed`).toBe(
      true,
    );
    expect(hits.has(by), `${by}: a kill hits one call of a saga at most`).toBe(false);
    hits.add(by);
    hit += left;
  }
  checkEffects(turns, lines);
  return { requests: requests.length, decisions: decisions.length, retries, hit };
}

/** Whether each effect of a run that came to its end was done as often as its class allows, under the key recorded. */
export function checkEffects(turns: readonly Turn[], lines: readonly Line[]): void {
  const intents = turns.flatMap((turn) => turn.steps.flatMap((step) => step.intents));
  const done = new Map<string, number>();
  for (const line of lines) if (line.type === "effect") done.set(line.key, (done.get(line.key) ?? 0) + 1);
  const intended = new Map(
    intents.flatMap((intent) =>
      intent.kind === "tool" ? [[intent.key, intent.name as keyof typeof tools] as const] : [],
    ),
  );
  for (const [key, times] of done) {
    const name = intended.get(key);
    expect(name, `${key}: what was done was intended`).toBeDefined();
    if (name !== undefined && tools[name].effect === "once") expect(times, `${key} is done once`).toBe(1);
  }
  for (const [key, name] of intended)
    if (tools[name].effect === "idempotent")
      expect(done.get(key), `${key} is not lost`).toBeGreaterThanOrEqual(1);
}
