/**
 * Goal: a body that throws is told where it was performed, as loudly as it deserves, without secrets, and people find
 * its stack. Method: attempts by hand with a log that is read, and sagas in a mesh in memory.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool, NotPerformed, type Tool } from "../../../actors/contract/tool.ts";
import { sha256 } from "../../../protocol/digest.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { Result } from "../../../protocol/result.ts";
import { defineApp } from "../../../services/app/app.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { traceOf, withFailure } from "../../../services/perform/failure.ts";
import { thrown } from "../../../services/perform/outcome.ts";
import { redactText } from "../../../services/process/redact.ts";
import { testMesh } from "../../../services/testing/test-mesh.ts";

const toolOf = (effect: "read" | "once", perform: () => Promise<unknown>): Tool =>
  defineTool({
    ...{ name: "pay", description: "", effect, input: z.json(), output: z.json() },
    retry: { attemptsMax: 3, backoffMs: 1 },
    perform: perform as never,
  });
const nothing = () => Promise.resolve(null);
const broken = new Error("no answer from https://ann:hunter22@bank", {
  cause: new TypeError("password=hunter22 was refused"),
});

/** What is told of attempt `n` of a tool whose body threw. */
async function told(
  error: unknown,
  n: number,
  { effect = "read", isStored = true }: { effect?: "read" | "once"; isStored?: boolean } = {},
) {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = [];
  const level = (name: string) => (fields: object, message: string) => {
    lines.push({ level: name, fields: { ...fields }, message });
  };
  const stored = new Map<string, string>();
  const blobs = {
    put: (digest: string, bytes: Uint8Array) => {
      if (!isStored) return Promise.reject(new Error("the store is away"));
      stored.set(digest, Buffer.from(bytes).toString());
      return Promise.resolve();
    },
    get: () => Promise.reject(new Error("not asked")),
  };
  const log = { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
  const tool = toolOf(effect, nothing);
  const attempt = { saga: "s-1" as never, intent: "1-0" as never, attempt: n };
  const performed = await withFailure({ log, ports: { blobs } }, tool, attempt, thrown(tool, error, false));
  return { lines, stored, result: performed.type === "result" ? performed.result : undefined };
}

describe("a body that threw", () => {
  test.each([
    ["is a warning while it is tried again", broken, 1, "read", "warn"],
    ["is an error at its last attempt", broken, 3, "read", "error"],
    ["is an error where it is in doubt", broken, 1, "once", "error"],
    [
      "is an error where it says that no other attempt makes sense",
      new NotPerformed("no", { retry: false }),
      1,
      "read",
      "error",
    ],
    [
      "is a warning where nothing happened and it may be tried again",
      new NotPerformed("busy"),
      1,
      "once",
      "warn",
    ],
  ] as const)("%s", async (_, error, n, effect, level) => {
    const { lines } = await told(error, n, { effect });
    expect(lines).toMatchObject([
      { level, message: "tool failed", fields: { sagaId: "s-1", intentId: "1-0", attempt: n, tool: "pay" } },
    ]);
    expect(lines[0]?.fields["stack"]).toContain("failure.test.ts");
  });

  test("leaves its stack with its causes in the store, under the digest in its result", async () => {
    const { stored, result, lines } = await told(broken, 1);
    const [[digest, stack] = []] = [...stored];
    expect(result).toMatchObject({ outcome: "failed", code: "TOOL_FAILED", trace: digest });
    expect(sha256(Buffer.from(stack ?? ""))).toBe(digest);
    expect(stack).toContain("caused by TypeError");
    expect(JSON.stringify([stack, result, lines])).not.toContain("hunter22");
  });

  test("has its result where the store is away", async () => {
    const { result, lines } = await told(broken, 1, { isStored: false });
    expect(result).toMatchObject({ outcome: "failed" });
    expect(result).not.toHaveProperty("trace");
    expect(lines.map(({ message }) => message)).toEqual(["tool failed", "trace not stored"]);
  });

  test.each([
    ["a text", "no"],
    ["nothing", undefined],
    ["an object", { a: 1 }],
    ["what is caused by itself", new Error("round")],
  ])("may throw %s", async (_, error) => {
    if (error instanceof Error) error.cause = error;
    expect((await told(error, 1)).result).toMatchObject({ outcome: "failed" });
  });
});

test("a trace is bounded, however long the message", () => {
  for (const part of ["x", "token", "//", "pass=", "bearer ", "token: "])
    expect(traceOf(new Error(part.repeat(100_000))).length).toBeLessThan(limits.traceCharactersMax + 100);
});

test.each([
  ['{"apiKey": "abcdef"}', '{"apiKey": "[redacted]"}'],
  ["Authorization: Bearer abc.def-ghi", "Authorization: [redacted]"],
  ["sent with Bearer abcdefghij to it", "sent with Bearer [redacted] to it"],
  ["access_token=abc&next=1", "access_token=[redacted]&next=1"],
  ["nats://user:pass@host:4222 is away", "nats://***@host:4222 is away"],
  ["the key is s3cretvalue here", "the key is [redacted] here"],
  ["compass: north; Unexpected token '}' at 3", "compass: north; Unexpected token '}' at 3"],
])("%s is told as %s", (text, redacted) => {
  expect(redactText(text, { DESK_API_KEY: "s3cretvalue", HOME: "/home/ann", SHORT_TOKEN: "a" })).toBe(
    redacted,
  );
});

test("a saga whose tool threw twice tells both in its ledger, and people see where", async () => {
  let calls = 0;
  const flaky = defineTool({
    ...{ name: "flaky", description: "", effect: "read", input: z.json(), output: z.json() },
    retry: { attemptsMax: 3, backoffMs: 1 },
    perform: () => {
      calls += 1;
      return calls < 3 ? Promise.reject(new Error(`token=abc123456 ${calls}`)) : Promise.resolve("well");
    },
  });
  const agent = defineAgent({
    ...{ name: "caller", version: 1, description: "", model: "m", instructions: "" },
    ...{ input: z.json(), output: z.json(), signals: {}, tools: [flaky] },
  });
  const says = ({ step }: { step: number }) =>
    step === 1
      ? { calls: [{ tool: "flaky", input: {} }] }
      : { calls: [{ tool: "finish", input: { output: "done" } }] };
  await using t = testMesh(defineApp({ sagas: [agent], models: { m: scriptedModel("m", says) } }));
  const saga = await t.start(agent, {});
  expect(await saga.result()).toMatchObject({ output: "done" });
  const { failures } = await t.describe(saga.id);
  expect(failures).toMatchObject([
    { attempt: 1, code: "TOOL_FAILED", reason: "token=[redacted] 1" },
    { attempt: 2, code: "TOOL_FAILED", reason: "token=[redacted] 2" },
  ]);
  for (const { trace } of failures ?? []) expect(trace).toMatch(/^[\w-]{40,64}$/);
});

describe("what lay behind it", () => {
  const causeOf = (error: unknown, effect: "read" | "once" = "read") => {
    const performed = thrown(toolOf(effect, nothing), error, false);
    return performed.type === "result" && "cause" in performed.result ? performed.result.cause : undefined;
  };
  const read = (result: object) =>
    Result.parse({ outcome: "failed", code: "TOOL_FAILED", reason: "r", ...result });

  test("is told with name, message and code, also of a doubt, and without its secrets", () => {
    const coded = Object.assign(new RangeError("password=hunter22"), { code: "E1" });
    for (const effect of ["read", "once"] as const)
      expect(causeOf(new Error("no", { cause: coded }), effect)).toEqual({
        ...{ name: "RangeError", message: redactText("password=hunter22"), code: "E1" },
      });
    expect(causeOf(new Error("no", { cause: "a text" }))).toEqual({ name: "Error", message: "a text" });
    expect(causeOf(new Error("no"))).toBeUndefined();
    expect(causeOf("a text that was thrown")).toBeUndefined();
  });

  test("and the name of what was thrown, where it has one of its own that a person gave it", () => {
    class OutOfRooms extends Error {
      override readonly name = "OutOfRooms";
    }
    const nameOf = (error: unknown) => {
      const performed = thrown(toolOf("read", nothing), error, false);
      return performed.type === "result" && "name" in performed.result ? performed.result.name : undefined;
    };
    expect([new OutOfRooms("no"), new TypeError("no"), new NotPerformed("no")].map(nameOf)).toEqual([
      ...["OutOfRooms", "TypeError", "NotPerformed"],
    ]);
    expect([new Error("no"), "a text", new MeshError("UNAVAILABLE", "no")].map(nameOf)).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    expect(nameOf(Object.assign(new Error("no"), { name: "n".repeat(1_000) }))).toHaveLength(
      limits.causeNameMax,
    );
    expect(read({ name: { no: "text" } })).toEqual(read({}));
  });

  test("is cut where it has no end, and is read again as it was told", () => {
    const self = new Error("x".repeat(1_000_000));
    Object.assign(self, { cause: self, name: "n".repeat(1_000), code: Number.NaN });
    const cause = causeOf(self);
    expect(JSON.stringify(cause).length).toBeLessThan(10_000);
    expect(JSON.stringify(cause).split('"cause"')).toHaveLength(limits.causeDepthMax);
    expect(read({ cause })).toMatchObject({ cause });
  });

  test.each([["a text"], [{ name: "E" }], [{ name: "E", message: "x".repeat(100_000) }], [null]])(
    "that cannot be read, %j, is left out, and the result counts",
    (cause) => expect(JSON.stringify(read({ cause }))).toBe(JSON.stringify(read({}))),
  );
});
