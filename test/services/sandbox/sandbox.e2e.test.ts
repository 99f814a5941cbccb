/**
 * Goal: code that a model wrote can compute and do nothing else, ends in any case, and gives the same bytes
 * everywhere.
 * Method: the real tool with hostile code; for "everywhere" processes with other time zones and clocks beside it.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { NotPerformed } from "../../../actors/contract/tool.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { defineApp } from "../../../services/app/app.ts";
import { runCode, type RunCodeOptions } from "../../../services/sandbox/index.ts";
import { testMesh } from "../../../services/testing/index.ts";
import { scriptedAgent } from "../../support/scripted-agent.ts";

interface Ran {
  readonly value?: unknown;
  readonly logs?: readonly string[];
  readonly code?: string;
  readonly reason?: string;
}

/** Runs code as a performer would; a failure as what is recorded of it. */
async function run(code: string, input: unknown = null, options: RunCodeOptions = {}): Promise<Ran> {
  const { body } = runCode(options);
  const context = { abort: new AbortController().signal } as never;
  try {
    return (await body!.perform({ code, input }, context)) as Ran;
  } catch (error) {
    if (!(error instanceof NotPerformed)) throw error;
    expect(error.retry).toBe(false);
    return { code: isMeshError(error.cause) ? error.cause.code : "", reason: error.message };
  }
}

describe("code", () => {
  test("computes with its input and returns JSON, with what it logged", async () => {
    const code = `
      console.log("rows", input.rows.length, { a: 1 });
      const sum = await Promise.all(input.rows.map(async (row) => row * 2));
      return { sum: sum.reduce((a, b) => a + b), big: String(2n ** 70n) };`;
    expect(await run(code, { rows: [1, 2, 3] })).toEqual({
      value: { sum: 12, big: "1180591620717411303424" },
      logs: ['rows 3 {"a":1}'],
    });
  });

  test("that throws is told where, in its own lines, with what it logged before", async () => {
    const ran = await run('console.log("begun");\nconst x = {};\nx.foo.bar;');
    expect(ran.code).toBe("TOOL_FAILED");
    expect(ran.reason).toMatch(
      /TypeError: cannot read property 'bar' of undefined\n\s+at anonymous \(line 3:/,
    );
    expect(ran.reason).toContain("begun");
    expect(ran.reason).not.toContain("sandbox.js");
  });

  test.each([
    ["that is none", "syntax error(", /SyntaxError/],
    ["whose value is no JSON", "return 1n", /no JSON/],
    ["that waits for nothing", "await new Promise(() => {})", /nothing will settle/],
    ["that throws what has no text", "throw { get message() { throw 1 } }", /no text/],
  ])("%s fails with a reason", async (_, code, reason) => {
    expect(await run(code)).toMatchObject({ code: "TOOL_FAILED", reason: expect.stringMatching(reason) });
  });
});

describe("there is no way out of the sandbox", () => {
  const names =
    "process require module Buffer fetch XMLHttpRequest WebSocket WebAssembly setTimeout setInterval";
  test.each([
    ...names.split(" "),
    ..."queueMicrotask performance navigator Deno std os print scriptArgs".split(" "),
  ])("by %s", async (name) => {
    const walks = [
      `typeof ${name}`,
      `this.constructor.constructor("return typeof ${name}")()`,
      `(async () => {}).constructor("return typeof ${name}")()`,
      `eval("typeof ${name}")`,
      `console.log.constructor("return typeof ${name}")()`,
      `input.constructor.constructor("return typeof ${name}")()`,
    ];
    const { value } = await run(`return Promise.all([${walks.join(",")}])`, {});
    expect(value).toEqual(walks.map(() => "undefined"));
  });

  test.each([
    "fs",
    "node:fs",
    "./thread.ts",
    "https://example.org/x.mjs",
    "data:text/javascript,export default 1",
  ])("by import(%j)", async (name) => {
    expect((await run(`return import(${JSON.stringify(name)})`)).code).toBe("TOOL_FAILED");
  });

  test("by polluting prototypes: the process that performs it and the next run know nothing of it", async () => {
    const pollute = `
      Object.prototype.polluted = "yes"; Array.prototype.push = () => { throw 1 };
      Promise.prototype.then = () => {}; JSON.stringify = () => '"forged"'; String.prototype.slice = () => "forged";
      globalThis.input = 5;
      return { ["__proto__"]: { polluted: 1 }, x: 1 }`;
    expect((await run(pollute)).value).toEqual({ x: 1 });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((await run("return [({}).polluted, [].push.name, typeof input]", null)).value).toEqual([
      null,
      "push",
      "object",
    ]);
  });

  test("by leaving the function it is the body of", async () => {
    const ran = await run(
      "}); globalThis.left = [typeof say, typeof done, typeof process]; (async function (input) { return left",
    );
    expect(ran.value ?? ran.reason).toSatisfy((said: unknown) => !JSON.stringify(said).includes("function"));
  });
});

describe("whatever the code does, its run ends by a bound:", () => {
  test.each([
    ["an endless loop", "for (;;) {}", "TOOL_TIMEOUT"],
    ["an endless loop that catches", "for (;;) { try { for (;;) {} } catch {} }", "TOOL_TIMEOUT"],
    [
      "an endless chain of promises",
      "(async () => { for (;;) await 1 })(); await new Promise(() => {})",
      "TOOL_TIMEOUT",
    ],
    ["promises that make promises", "const f = () => Promise.resolve().then(f); await f()", "TOOL_FAILED"],
    ["a regular expression that backtracks", 'return /^(a+)+$/.test("a".repeat(40) + "b")', "TOOL_TIMEOUT"],
    ["a getter in its value", "return { get a() { for (;;) {} } }", "TOOL_TIMEOUT"],
    ["a hoard of objects", "const a = []; for (let i = 0; ; i++) a.push({ i })", "TOOL_FAILED"],
    ["a hoard of texts", 'const a = []; for (;;) a.push("x".repeat(1e5))', "TOOL_FAILED"],
    ["a huge text", 'return "x".repeat(1e9)', "TOOL_FAILED"],
    ["a text that doubles", 'let s = "x"; for (;;) s += s', "TOOL_FAILED"],
    ["a huge buffer", "return new ArrayBuffer(2 ** 31)", "TOOL_FAILED"],
    ["a recursion without end", "const f = () => f() + 1; return f()", "TOOL_FAILED"],
    ["deep JSON", 'return JSON.parse("[".repeat(1e6) + "]".repeat(1e6))', "TOOL_FAILED"],
    ["deep code", 'return eval("(".repeat(1e5))', "TOOL_FAILED"],
    [
      "deep proxies",
      "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x",
      "TOOL_FAILED",
    ],
    ["a deep value", "let z = []; for (let i = 0; i < 1e5; i++) z = [z]; return z", "TOOL_FAILED"],
    ["a large value", 'return "x".repeat(1e5)', "TOO_LARGE"],
  ])(
    "%s",
    async (_, code, expected) => {
      const options = { stepsMax: 1_000, memoryBytes: 32 * 2 ** 20 };
      const ran = await run(code, null, options);
      expect(ran.code).toBe(expected);
      expect((await run(code, null, options)).reason).toBe(ran.reason); // A count, not a clock.
    },
    60_000,
  );

  test("work that nobody counts, by the clock", async () => {
    const began = performance.now();
    const ran = await run("return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", null, {
      timeoutMs: 700,
    });
    expect(ran.code).toBe("TOOL_TIMEOUT");
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("logs, which are kept up to a bound", async () => {
    const { logs } = await run('for (let i = 0; i < 1e4; i++) console.log("line", i)');
    expect(logs).toHaveLength(201);
    const long = await run('for (let i = 0; i < 100; i++) console.log("x".repeat(1e6))');
    expect(JSON.stringify(long.logs).length).toBeLessThan(100_000);
  });

  test("the call being cut off", async () => {
    const { body } = runCode();
    const cut = new AbortController();
    const running = body!.perform({ code: "for (;;) {}", input: null }, { abort: cut.signal } as never);
    setTimeout(() => cut.abort(new Error("no longer wanted")), 50);
    await expect(running).rejects.toThrow("no longer wanted");
  });
});

describe("the same code and input", () => {
  const code = `
    const local = new Date("2026-07-01T10:00"), made = new Date(2026, 0, 31, 12);
    const m = new Map(); for (let i = 0; i < 50; i++) m.set(Math.random(), i);
    return { random: Array.from({ length: 5 }, Math.random), local: local.toString(), iso: local.toISOString(),
      made: made.toISOString(), hours: made.getHours(), offset: made.getTimezoneOffset(), parsed: Date.parse("Jan 5 2026 10:00"),
      sort: [...m.keys()].sort(), floats: [0.1 + 0.2, Math.sin(1e9), Math.pow(2.5, 3.7), Math.exp(1)],
      text: new Date(0).toLocaleString() + (12345.678).toLocaleString() + "ä".localeCompare("z"), err: (() => { try { null.x } catch (e) { return e.stack } })() };`;

  test("give the same bytes twice, and in processes of other time zones and languages", async () => {
    const here = JSON.stringify(await run(code, { seed: 1 }));
    expect(JSON.stringify(await run(code, { seed: 1 }))).toBe(here);
    const file = fileURLToPath(new URL("../../support/sandbox-process.ts", import.meta.url));
    for (const [zone, language] of [
      ["America/New_York", "de_DE.UTF-8"],
      ["Asia/Kolkata", "C"],
    ]) {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--conditions=sagamesh-source", file, code, '{"seed":1}'],
        { env: { ...process.env, TZ: zone, LANG: language } },
      );
      expect(stdout).toBe(here);
    }
  });

  test("have chance of their own: other input, other numbers, each between 0 and 1 and spread over it", async () => {
    const draw = (seed: number) => run("return Array.from({ length: 2000 }, Math.random)", { seed });
    const [one, other] = await Promise.all([draw(1), draw(2)]);
    expect(one.value).not.toEqual(other.value);
    const numbers = one.value as number[];
    const tenths = Array.from(
      { length: 10 },
      (_, i) => numbers.filter((n) => Math.floor(n * 10) === i).length,
    );
    expect(Math.min(...tenths)).toBeGreaterThan(130);
    expect(tenths.reduce((a, b) => a + b)).toBe(2_000);
  });

  test.each([
    "Date.now()",
    "new Date()",
    "Date()",
    "new (new Date(1).constructor)()",
    "Reflect.construct(Date, [])",
  ])("have no clock: %s is refused with what to do", async (call) => {
    expect((await run(`return ${call}`)).reason).toContain("pass the time in input");
  });
});

test("an agent that runs code is told its value, and of code that fails why, once", async () => {
  const tool = runCode();
  const calls = [
    [{ tool: "run_code", input: { code: "return input.a * 2", input: { a: 21 } } }],
    [{ tool: "run_code", input: { code: "return nothing" } }],
  ];
  const { agent, app } = scriptedAgent([tool], calls);
  await using t = testMesh(defineApp(app.config));
  const end = await (await t.start(agent, {})).result();
  const reason = expect.stringContaining("'nothing' is not defined") as string;
  expect(end).toMatchObject({
    status: "completed",
    output: {
      outcomes: [
        { outcome: "succeeded", output: { value: 42, logs: [] } },
        { outcome: "failed", code: "TOOL_FAILED", reason },
      ],
    },
  });
  expect(t.effects(tool)).toHaveLength(2);
});

test("limits that cannot be are refused, all at once", () => {
  const make = () => runCode({ memoryBytes: 1, stepsMax: 0, timeoutMs: 0.5 });
  expect(make).toThrow(/\[APP_INVALID\].*stepsMax.*memoryBytes.*timeoutMs/);
});
