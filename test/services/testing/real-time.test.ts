/**
 * Goal: a test mesh runs ordinary bodies: what they take of real time is no virtual time, and one that hangs is left (PE1).
 * Method: bodies that wait for timers, files and nothing at all, one and several at once; times are virtual.
 */
import { readFile } from "node:fs/promises";
import { defineApp, defineSaga, toActors, type Tool, toolsOf } from "sagamesh";
import { testMesh, type TestMeshOptions } from "sagamesh/testing";
import { expect, test } from "vitest";
import { type AnyStateMachine, assign, createMachine } from "xstate";
import { z } from "zod";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const rest = { timeoutMs: 60_000, retry: { attemptsMax: 1, backoffMs: 0 } };

/** A saga that calls all at once and ends with how each ended. */
async function run(tools: Readonly<Record<string, Tool>>, options: TestMeshOptions = {}) {
  const names = Object.keys(tools);
  const said = (name: string, of: "output" | "error") =>
    assign(({ context, event }) => ({
      said: { ...(context["said"] as object), [name]: (event as unknown as Record<string, unknown>)[of] },
    }));
  const calls = names.map((name) => [
    name,
    {
      initial: "calling",
      states: {
        calling: {
          invoke: {
            src: name,
            onDone: { target: "done", actions: said(name, "output") },
            onError: { target: "done", actions: said(name, "error") },
          },
        },
        done: { type: "final" },
      },
    },
  ]);
  const config = {
    context: { said: {} },
    initial: "calling",
    output: ({ context }: { context: { said: unknown } }) => context.said,
    states: {
      calling: { type: "parallel", states: Object.fromEntries(calls) as object, onDone: "done" },
      done: { type: "final" },
    },
  };
  const machine: AnyStateMachine = createMachine(config as never, { actors: toActors(tools) } as never);
  const saga = defineSaga({ name: "calls", version: 1, input: z.json(), output: z.any(), machine });
  await using t = testMesh(defineApp({ sagas: [saga] }), options);
  const before = t.now();
  const end = await (await t.start(saga, null)).result();
  return { end, tookMs: t.now() - before };
}

test("bodies that wait for timers and files of the process take no virtual time, one beside the other", async () => {
  const { end, tookMs } = await run(
    toolsOf({
      long: { ...rest, effect: "once", perform: () => sleep(900).then(() => "long") },
      short: { ...rest, effect: "once", perform: () => sleep(300).then(() => "short") },
      reads: {
        ...rest,
        effect: "read",
        perform: async () => (await readFile(import.meta.filename, "utf8")).length,
      },
    }),
  );
  expect(end).toMatchObject({ status: "completed", output: { long: "long", short: "short" } });
  expect(tookMs).toBeLessThan(5_000);
});

test("a body that hangs is left, and meets its timeout; one that takes longer than realMs, with words that name it", async () => {
  const { end, tookMs } = await run(
    toolsOf({
      hangs: { ...rest, effect: "read", perform: () => new Promise(() => undefined) },
      slow: { ...rest, effect: "read", perform: () => sleep(3_000) },
    }),
    { realMs: 400 },
  );
  const late = { code: "TOOL_TIMEOUT", reason: expect.stringContaining("realMs of testMesh: 400") as string };
  expect(end).toMatchObject({ status: "completed", output: { hangs: late, slow: late } });
  expect(tookMs).toBeGreaterThanOrEqual(60_000);
});
