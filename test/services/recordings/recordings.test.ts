/**
 * Goal: a conversation that was recorded elsewhere becomes a true ledger: it verifies, folds by the agent in its own
 * file, reads, and its recorded model replays without a difference; what was missing or assumed is said; bad input is
 * told with its place and leaves nothing.
 * Method: recordings written by hand in both shapes, imported to real files; the files alone are read.
 */
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MeshError } from "../../../protocol/errors.ts";
import { ImportDocument } from "../../../protocol/documents/recording.ts";
import { readArchive } from "../../../services/archive/file.ts";
import { verifyArchive } from "../../../services/archive/verify.ts";
import { promptOf } from "../../../services/views/prompt.ts";
import { readLedger, readView } from "../../../services/views/view.ts";
import { appOf } from "../../../services/recordings/agent.ts";
import { importFiles, type ImportOptions } from "../../../services/recordings/import.ts";
import { systemChance } from "../../../services/runtime/system.ts";
import { runCli } from "../../support/cli.ts";
import { freely, stepwise } from "../../support/replaying.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const fixtures = join(import.meta.dirname, "../../fixtures/recordings");
const garden = join(fixtures, "garden-shop.json");
const library = join(fixtures, "library-runs.json");
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-import-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

const optionsWith = (more: Partial<ImportOptions> = {}): ImportOptions => ({
  chance: systemChance,
  folder: join(folder, "out"),
  format: undefined,
  name: undefined,
  isForced: false,
  ...more,
});
const imported = async (files: string[], more?: Partial<ImportOptions>) =>
  (await importFiles(files, optionsWith(more))).map((one) => ImportDocument.parse(one));

/** A bundle as whoever has only that reads it. */
async function read({ bundle = "", saga }: ImportDocument) {
  const path = join(folder, "out", bundle);
  const { manifest, source } = await readArchive(path);
  const app = appOf([manifest.agent!]);
  const turns = (await readLedger(source, saga!)).map(({ turn }) => turn);
  const [checked] = await verifyArchive(path, { app });
  const replayed = await stepwise(app, turns, "recorded");
  const { document } = await freely(app, turns, "recorded");
  expect(document).toMatchObject({ different: 0, failed: 0, outcome: { equal: true } });
  expect(document.leftRecordAt).toBeUndefined();
  return { manifest, app, turns, checked, replayed, view: await readView(source, saga!) };
}
const outcomesOf = ({ view }: Awaited<ReturnType<typeof read>>) =>
  view.intents.flatMap(({ intent, outcome, output, reason }) =>
    intent.kind === "tool" ? [[intent.name, outcome, output ?? reason]] : [],
  );

describe("a recording of the Messages API", () => {
  test("is a ledger that verifies, folds by its own file, and replays its model without a difference", async () => {
    const [document, ...more] = await imported([garden]);
    expect(more).toEqual([]);
    expect(document).toMatchObject({
      status: "completed",
      recording: { format: "anthropic", about: { rating: "good" } },
    });
    const bundle = await read(document!);
    expect(bundle.checked).toMatchObject({ ok: true, folded: true, findings: [] });
    expect(bundle.replayed).toMatchObject({ same: 5, different: 0, failed: 0 });
    expect(bundle.view).toMatchObject({
      status: "completed",
      input: "My order 17 has not come. Is the fern in stock?",
      end: { output: "Order 17 is cancelled. Three ferns are in stock." },
      spent: { inputTokens: 1_500, outputTokens: 18 },
    });
    expect(outcomesOf(bundle)).toEqual([
      ["find_order", "failed", "the order desk does not answer"],
      ["stock_of", "succeeded", '{"count":3}'],
      ["find_order", "succeeded", '{"state":"lost"}'],
      ["cancel", "succeeded", "done"],
      ["finish_", "succeeded", "noted"],
    ]);
  });

  test("shows a model what was recorded: schemas word for word, results in the order of their calls, thinking kept", async () => {
    const [document] = await imported([garden]);
    const { app, turns } = await read(document!);
    const { request, proved } = atOnce(promptOf(app, turns, turns.length));
    expect(proved).toBe(true);
    const { messages, instructions, tools } = request as never as {
      messages: { role: string; parts?: { call: string; text?: string }[]; blocks?: { kind: string }[] }[];
      instructions: string;
      tools: { name: string; schema: unknown }[];
    };
    expect(instructions).toContain("You look after the garden shop's orders.");
    const recorded = JSON.parse(await readFile(garden, "utf8")) as {
      request: { tools: { input_schema: unknown }[] };
    };
    expect(tools.slice(0, 4).map(({ schema }) => schema)).toEqual(
      recorded.request.tools.map((tool) => tool.input_schema),
    );
    expect(messages[1]?.blocks?.map(({ kind }) => kind)).toEqual([
      "origin",
      "verbatim",
      "text",
      "call",
      "call",
    ]);
    expect(messages[2]?.parts?.map(({ call }) => call)).toEqual(["1.0", "1.1"]);
    expect(JSON.stringify(messages)).toContain("It is under my sister's name");
  });

  test("says what it assumed and left out", async () => {
    const [document] = await imported([garden]);
    const notes = document!.recording.notes.join("\n");
    for (const said of [
      /no times are recorded/,
      /what 4 of 5 replies used is not recorded/,
      /a result that says it is an error is a failure \(message 3\)/,
      /told with a call of wait \(message 6\)/,
      /thinking .* is sent to no model/,
      /each counts as once/,
      /under another name.*: finish/,
    ])
      expect(notes).toMatch(said);
  });

  test("one JSON to a line is one conversation to a line, and blocks that have no place are told", async () => {
    const { request } = JSON.parse(await readFile(garden, "utf8")) as { request: { messages: unknown[] } };
    const image = {
      role: "user",
      content: [
        { type: "image", source: {} },
        { type: "text", text: "What is this?" },
      ],
    };
    const lines = [
      { ...request, messages: request.messages.slice(0, 2) },
      { ...request, messages: [image, { role: "assistant", content: "A fern." }] },
    ];
    const file = join(folder, "two.jsonl");
    await writeFile(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n\n`);
    const documents = await imported([file]);
    expect(documents.map(({ status }) => status)).toEqual(["running", "completed"]);
    expect(documents[1]?.recording.notes).toContain('a block "image" of the user\'s is left out (message 1)');
    expect(documents[0]?.definition).toEqual(documents[1]?.definition);
    for (const document of documents)
      expect((await read(document)).checked).toMatchObject({ ok: true, folded: true });
  });
});

describe("a benchmark's list of messages", () => {
  test("is a ledger for each run, with its task and reward; what no model was shown is left out, and a run without a reply too", async () => {
    const [done, cut, empty] = await imported([library]);
    expect(done).toMatchObject({
      status: "completed",
      recording: { format: "messages", conversation: 1, about: { task_id: 4, reward: 1, trial: 0 } },
    });
    const bundle = await read(done!);
    expect(bundle.checked).toMatchObject({ ok: true, folded: true });
    expect(bundle.replayed).toMatchObject({ same: 6, different: 0, failed: 0, skipped: 0 });
    expect(bundle.manifest.recording).toEqual(done!.recording);
    expect(outcomesOf(bundle).map(([tool]) => tool)).toEqual(["card", "search", "search", "lend"]);
    expect(bundle.view.end).toMatchObject({ output: "It is yours until May." });
    expect(JSON.stringify(bundle.turns)).not.toContain("###STOP###");
    const notes = done!.recording.notes.join("\n");
    expect(notes).toMatch(/closing words are left out.*###STOP###/);
    expect(notes).toMatch(/inferred from their calls: card, search, lend/);
    expect(bundle.manifest.agent?.tools.find(({ name }) => name === "search")?.schema).toEqual({
      type: "object",
      properties: { about: { type: "string" }, free: { type: "boolean" }, limit: { type: "number" } },
      additionalProperties: true,
    });
    expect(cut).toMatchObject({ status: "running", definition: done!.definition });
    expect(empty).toEqual({
      reason: "it holds no reply of a model",
      recording: { ...empty!.recording, conversation: 3, notes: [] },
    });
  });

  test("that ends in the middle is a saga that runs, with what is open open, and a call that cannot be read refused", async () => {
    const [, cut] = await imported([library]);
    const bundle = await read(cut!);
    expect(bundle.checked).toMatchObject({ ok: true, folded: true });
    expect(bundle.replayed).toMatchObject({ same: 1, different: 0 });
    expect(outcomesOf(bundle)).toEqual([["card", undefined, undefined]]);
    expect(bundle.view.open.map(({ intent }) => intent.kind)).toEqual(["tool"]);
    const notes = cut!.recording.notes.join("\n");
    expect(notes).toMatch(/ends in the middle/);
    expect(notes).toMatch(/a call that cannot be read here is left out/);
  });

  test("of another benchmark, with times, flat calls and usage, is told with all of them", async () => {
    const at = (s: number) => new Date(Date.UTC(2025, 4, 1, 10, 0, s)).toISOString();
    const messages = [
      { role: "user", content: "Lamp on.", timestamp: at(0) },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", name: "lamp", arguments: { on: true }, requestor: "assistant" }],
        usage: { prompt_tokens: 50, completion_tokens: 5 },
        timestamp: at(3),
      },
      { role: "tool", id: "a", content: "the lamp is broken", error: true, timestamp: at(9) },
      {
        role: "assistant",
        content: "It is broken.",
        usage: { prompt_tokens: 60, completion_tokens: 4 },
        timestamp: at(12),
      },
    ];
    const file = join(folder, "home.json");
    await writeFile(
      file,
      JSON.stringify({ simulations: [{ task_id: "t", messages, reward_info: { reward: 0 } }] }),
    );
    const [document] = await imported([file]);
    const bundle = await read(document!);
    expect(bundle.turns.map((turn) => (turn.at - Date.UTC(2025, 4, 1, 10)) / 1_000)).toEqual([0, 3, 9, 12]);
    expect(outcomesOf(bundle)).toEqual([["lamp", "failed", "the lamp is broken"]]);
    expect(bundle.view.spent).toMatchObject({ inputTokens: 110, outputTokens: 9 });
    expect(document!.recording.about).toMatchObject({ reward_info: { reward: 0 } });
    expect(document!.recording.notes.join()).not.toMatch(/no times|used is not recorded/);
  });

  test("whose calls have no results, or whose calls do not fit the recorded schema, is told all the same", async () => {
    const tools = [
      {
        type: "function",
        function: {
          name: "weigh",
          parameters: { type: "object", properties: { grams: { type: "integer" } }, required: ["grams"] },
        },
      },
    ];
    const messages = [
      { role: "user", content: "Weigh it." },
      {
        role: "assistant",
        content: "",
        tool_calls: [
          { id: "w", type: "function", function: { name: "weigh", arguments: '{"grams":"many"}' } },
        ],
      },
      { role: "assistant", content: "I could not." },
    ];
    const file = join(folder, "scale.json");
    await writeFile(file, JSON.stringify({ messages, tools }));
    const [document] = await imported([file]);
    const bundle = await read(document!);
    expect(bundle.checked).toMatchObject({ ok: true, folded: true });
    expect(outcomesOf(bundle)).toEqual([["weigh", "failed", "the recording holds no result of the call w"]]);
    const notes = document!.recording.notes.join("\n");
    expect(notes).toMatch(/the result of a call is missing/);
    expect(notes).toMatch(/not checked: weigh/);
  });
});

describe("what is imported", () => {
  test("is the same saga, byte for byte, each time, and is not written over unless that is asked", async () => {
    const [first] = await imported([garden]);
    const bytes = await readFile(join(folder, "out", first!.bundle!));
    const again = await importFiles([garden], optionsWith()).catch((error: unknown) => error as MeshError);
    expect(again).toMatchObject({ code: "USAGE" });
    const [second] = await imported([garden], { isForced: true });
    expect(second).toEqual(first);
    expect(await readFile(join(folder, "out", first!.bundle!))).toEqual(bytes);
    const copy = join(folder, "copy.json");
    await copyFile(garden, copy);
    const [named] = await imported([copy], { name: "garden-shop", isForced: true });
    expect(named?.saga).toBe(first!.saga);
  });

  const badly: [string, string, RegExp][] = [
    ["no JSON", '{\n  "messages": [\n    {"role": "user" "content": "x"}\n  ]\n}', /bad\.json, line 3/],
    ["a line that is no JSON", '{"messages":[]}\n{"messages":\n', /bad\.json, line 2/],
    ["nothing", " \n", /bad\.json: it is empty/],
    ["a number", "[17]", /conversation 1: it is no conversation/],
    ["no messages", '[{"messages":[]},{"letters":[]}]', /conversation 2: it has no list of messages/],
    [
      "a role that nobody has",
      '[{"role":"user","content":"x"},{"role":"judge","content":"y"}]',
      /conversation 1: message 2: .*role/s,
    ],
    [
      "a result of a call that was never made",
      '[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"y"}]',
      /conversation 1: message 3: a result of the call b/,
    ],
    [
      "a reason to stop that is unknown",
      '{"system":"s","messages":[{"role":"user","content":"x"}],"response":{"content":[],"stop_reason":"tired"}}',
      /message 2: .*tired/,
    ],
    [
      "a member that no encoding keeps",
      '[{"role":"user","content":"x"},{"role":"assistant","content":"y","reasoning":{"__proto__":1}}]',
      /conversation 1: .*__proto__/,
    ],
    [
      "a member that nests too deeply",
      `[{"role":"user","content":"x"},{"role":"assistant","content":"y","reasoning":${nested(5_000)}}]`,
      /conversation 1: .*nests deeper than 64/,
    ],
  ];
  test.each(badly)(
    "from a file with %s is refused with its place, and nothing is written",
    async (_, text, said) => {
      const file = join(folder, "bad.json");
      await writeFile(file, text);
      const error = await importFiles([garden, file], optionsWith()).catch(
        (one: unknown) => one as MeshError,
      );
      expect(error).toMatchObject({ code: "RECORDING_INVALID", message: expect.stringMatching(said) });
      expect(await readdir(folder)).toEqual(["bad.json"]);
    },
  );

  test("verifies and replays without a difference whatever a conversation of the right form says", async () => {
    const words = fc.string({ minLength: 1, maxLength: 12 });
    const call = fc.record({
      name: fc.constantFrom("look", "wait", "a b", "9th"),
      input: fc.dictionary(words, fc.jsonValue(), { maxKeys: 2 }),
      isError: fc.boolean(),
      isMissing: fc.boolean(),
    });
    const round = fc.oneof(
      fc.record({ says: words, calls: fc.constant([]), answer: words }),
      fc.record({
        says: fc.option(words, { nil: null }),
        calls: fc.array(call, { minLength: 1, maxLength: 3 }),
        answer: fc.option(words, { nil: undefined }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { maxLength: 4 }),
        fc.boolean(),
        words,
        async (rounds, isCut, last) => {
          const messages: unknown[] = [{ role: "user", content: "begin" }];
          for (const { says, calls, answer } of rounds) {
            messages.push({
              role: "assistant",
              content: says,
              ...(calls.length === 0
                ? {}
                : {
                    tool_calls: calls.map(({ name, input }, k) => ({
                      id: `c${k}`,
                      type: "function",
                      function: { name, arguments: JSON.stringify(input) },
                    })),
                  }),
            });
            for (const [k, { isError, isMissing }] of calls.entries())
              if (!isMissing)
                messages.push({ role: "tool", tool_call_id: `c${k}`, content: "so", error: isError });
            if (answer !== undefined) messages.push({ role: "user", content: answer });
          }
          if (!isCut || rounds.length === 0) messages.push({ role: "assistant", content: last });
          const file = join(folder, "any.json");
          await writeFile(file, JSON.stringify(messages));
          const [document] = await imported([file], { isForced: true });
          const { checked, replayed } = await read(document!);
          expect(checked).toMatchObject({ ok: true, folded: true });
          expect(replayed).toMatchObject({ different: 0, failed: 0 });
          await rm(join(folder, "out"), { recursive: true });
        },
      ),
      // Found by seed 2051997279, path 8:1:1:1:2:82:82:82:82:82:82:82:82; the other is too deep for a value.
      {
        numRuns: 40,
        examples: [...hostileInputs.map((input) => [[roundWith(input)], false, "so"] as never)],
      },
    );
  });
});

const hostileInputs = [
  JSON.parse('{"__proto__":1}') as object,
  JSON.parse(`{"x":${"[".repeat(90)}${"]".repeat(90)}}`) as object,
  { x: "\ud800", "\ud800": 1 },
  { $blob: "00", bytes: 1 },
];
const roundWith = (input: object) => ({
  says: null,
  calls: [{ name: "look", input, isError: false, isMissing: false }],
  answer: undefined,
});

test("the commands import, verify, show and replay where there is no server and no application", async () => {
  const env = { NATS_URL: "nats://127.0.0.1:1", SAGAMESH_DATA: join(folder, "none") };
  const out = join(folder, "out");
  const { code, stdout, stderr } = await runCli(["import", library, "--out", out, "--json"], { env });
  expect(code, stderr).toBe(0);
  const documents = stdout
    .trim()
    .split("\n")
    .map((line) => ImportDocument.parse(JSON.parse(line)));
  const file = join(out, documents[0]!.bundle!);
  const [all, shown, prompt, replayed, again] = await Promise.all([
    runCli(["verify", "--all", "--archive", out], { env }),
    runCli(["inspect", file], { env }),
    runCli(["inspect", file, "--prompt"], { env }),
    runCli(["replay", file], { env }),
    runCli(["import", library, "--out", out], { env }),
  ]);
  expect([all.code, all.stdout]).toEqual([0, expect.stringContaining("2 whole, 0 with findings; 2 folded")]);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("The Hive")]);
  expect([prompt.code, prompt.stdout]).toEqual([0, expect.stringContaining("You are the library's desk.")]);
  expect([replayed.code, replayed.stdout]).toEqual([0, expect.stringContaining("no divergence")]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("[USAGE]")]);
}, 60_000);
