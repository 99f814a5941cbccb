/**
 * Goal: a free run goes on from the other model's own decisions, touches nothing but the model, says what it met, and
 * says the same twice.
 *
 * Method: ledgers of small agents made turn by turn (given.ts) and of examples on the mesh in memory; the other models
 * are scripts.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { denyTools, needsApproval } from "../../../actors/policies/ready-made.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { scriptedModel, type ScriptedAnswer } from "../../../services/models/scripted.ts";
import type { FreeRunOptions } from "../../../services/replay/replay-freely.ts";
import {
  failed,
  given,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { freely } from "../../support/replaying.ts";
import { agentOf, call, finish, hold, look, release, send } from "../../support/workbench.ts";

const agent = agentOf();
const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) =>
    message.role === "user" ? message.parts.filter((part) => part.type === "result") : [],
  );
/** Replays with a script that says by how many results it has seen what it does next. */
const replayed = (
  story: Story,
  says: (seen: number, request: ModelRequest) => ScriptedAnswer,
  more: Partial<FreeRunOptions> = {},
  of = agent,
) => {
  const other = scriptedModel("other", (request) =>
    says(results(request).filter(({ outcome }) => outcome !== "pending").length, request),
  );
  return freely(defineApp({ sagas: [of], models: { other } }), story.turns, "other", more);
};

/** Looked at x, held it, and finished. */
const story = given(
  agent,
  started({ of: "x" }),
  replied({ calls: [call("look")] }),
  succeeded("look", { n: 1 }),
  replied({ calls: [call("hold")] }),
  succeeded("hold", { id: "1" }),
  replied(finish),
);

describe("a free run", () => {
  test("is answered from the record where its calls are equal, in whatever order it makes them", async () => {
    const { document, run } = await replayed(story, (seen) =>
      seen === 0 ? { calls: [call("hold")] } : seen === 1 ? { calls: [call("look")] } : finish,
    );
    expect(document).toMatchObject({ firstDivergence: "1-0", leftRecordAt: 2, outcome: { equal: true } });
    expect(document.stopped).toBeUndefined();
    const said = run.messages.flatMap((message) => (message.role === "user" ? message.parts : []));
    expect(said).toContainEqual(expect.objectContaining({ tool: "hold", output: { id: "1" } }));
    expect(said).toContainEqual(expect.objectContaining({ tool: "look", output: { n: 1 } }));
  });

  test("stops at a call that the record does not hold, and says which", async () => {
    const { document } = await replayed(story, () => ({ calls: [call("hold", { of: "y" })] }));
    expect(document.stopped).toMatchObject({
      because: "miss",
      why: expect.stringContaining('hold with {"of":"y"}'),
    });
    expect(document.outcome).toMatchObject({ equal: false, got: { status: "running" } });
  });

  test("goes on with a sample that the tool's schema accepts, and marks it", async () => {
    const says = (seen: number) => (seen === 0 ? { calls: [call("hold", { of: "y" })] } : finish);
    const { document } = await replayed(story, says, { onMiss: "sample" });
    expect(document).toMatchObject({ outcome: { equal: true } });
    expect(document.path.got.find(({ title }) => title === "hold")).toMatchObject({
      from: "sample",
      outcome: "succeeded",
    });
  });

  test("takes a person's stand-in, a value or a function of the input, and stops where it does not fit", async () => {
    const says = (seen: number) => (seen === 0 ? { calls: [call("hold", { of: "y" })] } : finish);
    const holds = ({ of }: { of: string }) => ({ id: `held ${of}` });
    const { run } = await replayed(story, says, { onMiss: "stand-in", standIns: { hold: holds } });
    expect(JSON.stringify(run.messages)).toContain("held y");
    const { document } = await replayed(story, says, { onMiss: "stand-in", standIns: { hold: { id: 7 } } });
    expect(document.stopped).toMatchObject({ because: "miss", why: expect.stringContaining("does not fit") });
    const none = await replayed(story, says, { onMiss: "stand-in", standIns: {} });
    expect(none.document.stopped?.why).toContain('none is given for "hold"');
  });

  test("lets children in line begin as those before them end, beside the record too", async () => {
    const leaf = agentOf({ name: "leaf", tools: [look] });
    const lead = agentOf({
      name: "lead",
      budget: { childrenOpenMax: 1, childrenInLineMax: 5 },
      agents: [leaf],
    });
    const calls = ["a", "b", "c"].map((of) => call("leaf", { of }));
    const ended = (story: Story): Story =>
      ["1", "2", "3"].reduce((before, answer) => before.when(succeeded("leaf", { answer })), story);
    const recorded = ended(given(lead, started({ of: "x" }), replied({ calls }))).when(replied(finish));
    const [a, b] = calls as [ReturnType<typeof call>, ReturnType<typeof call>];
    const says = (seen: number) => (seen === 0 ? { calls: [b, a] } : seen < 2 ? { text: "…" } : finish);
    const { document, run } = await replayed(recorded, says, {}, lead);
    expect(document.leftRecordAt).toBe(2);
    expect(document.outcome).toMatchObject({ equal: true });
    const begun = run.turns.flatMap(({ steps }) => steps.flatMap((step) => step.begun ?? []));
    expect(begun).toHaveLength(1);
  });

  test("is bounded by its decisions", async () => {
    const { document } = await replayed(story, () => ({ calls: [call("look")] }), { stepsMax: 9 });
    expect(document.stopped?.because).toBe("bound");
    expect(document.decisions.filter(({ verdict }) => verdict === "beyond").length).toBeGreaterThan(3);
  });

  test("ends where the model fails, with its words", async () => {
    const { document } = await replayed(story, (seen) => {
      if (seen === 1) throw new Error("out of ideas");
      return { calls: [call("look")] };
    });
    expect(document).toMatchObject({
      failed: 1,
      stopped: { because: "model", why: expect.stringContaining("out of ideas") },
    });
  });

  test("says the same twice, byte for byte", async () => {
    const documents = await Promise.all(
      [1, 2].map(() =>
        replayed(
          story,
          (seen) => (seen < 3 ? { calls: [call("hold", { of: "abc"[seen] ?? "" })] } : finish),
          { onMiss: "sample" },
        ),
      ),
    );
    const [first, second] = documents.map(({ document }) => JSON.stringify(document));
    expect(first).toBe(second);
    expect(documents[0]?.document.different).toBeGreaterThan(0);
  });

  test("asks as long as the saga waited: signals come at their recorded times, whatever it does meanwhile", async () => {
    const waited = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [{ tool: "wait", input: { signals: ["note"] } }] }),
      signalled("note", { text: "now" }),
      replied(finish),
    );
    const { document, run } = await replayed(waited, (seen, { messages }) =>
      JSON.stringify(messages).includes('"now"')
        ? finish
        : { text: "I wait otherwise.", calls: [{ tool: "wait", input: {} }] },
    );
    expect(document).toMatchObject({ different: 1, outcome: { equal: true } });
    expect(run.turns.at(-1)?.at).toBe(waited.turns.at(-1)?.at);
  });

  test("hears people as the record did: an equal question is answered by the same words after the same time", async () => {
    const asked = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [{ tool: "ask", input: { question: "really?" } }] }),
      voted("question", "answer", { answer: "yes", by: "ann" }),
      replied(finish),
    );
    const { document, run } = await replayed(
      asked,
      (seen, { step }) =>
        step === 1
          ? { calls: [call("look")] }
          : seen === 1
            ? { calls: [{ tool: "ask", input: { question: "really?" } }] }
            : finish,
      { onMiss: "sample" },
    );
    expect(document.stopped).toBeUndefined();
    expect(
      run.turns.flatMap(({ steps }) => steps).find(({ event }) => event.type === "task")?.event,
    ).toMatchObject({
      vote: { by: "ann", answer: "yes" },
    });
  });

  test("undoes what it did, answered as the recorded undoing was, or a miss", async () => {
    const broken = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [call("hold")] }),
      succeeded("hold", { id: "1" }),
      replied({ calls: [{ tool: "undo", input: { calls: ["1.0"] } }] }),
      succeeded(release.name, {}),
      replied(finish),
    );
    const says = (seen: number): ScriptedAnswer =>
      [
        { calls: [call("look", { of: "z" })] },
        { calls: [call("hold")] },
        { calls: [{ tool: "undo", input: { calls: ["2.0"] } }] },
      ][seen] ?? finish;
    const { document } = await replayed(broken, says, { onMiss: "stand-in", standIns: { look: { n: 2 } } });
    expect(document).toMatchObject({ outcome: { equal: true } });
    expect(document.path.got.find(({ title }) => title.startsWith(release.name))).toMatchObject({
      from: "recorded",
    });
    const never = await replayed(story, (seen) =>
      seen === 0 ? { calls: [call("hold")] } : { calls: [{ tool: "undo", input: { calls: ["1.0"] } }] },
    );
    expect(never.document.stopped?.why).toContain("release, which undoes");
  });

  test("compares inputs as their tool normalizes them, and leaves out what is to be ignored", async () => {
    const letter = defineTool({
      name: "letter",
      description: "Writes.",
      effect: "idempotent",
      compensation: "point_of_no_return",
      input: z.object({ to: z.string(), body: z.string() }),
      output: z.object({}),
      normalize: ({ to, ...rest }) => ({ ...rest, to: to.trim().toLowerCase() }),
    });
    const writer = agentOf({ tools: [letter] });
    const written = given(
      writer,
      started({ of: "x" }),
      replied({ calls: [call("letter", { to: "Ann", body: "Dear Ann" })] }),
      succeeded("letter", {}),
      replied(finish),
    );
    const says = (seen: number) =>
      seen === 0 ? { calls: [call("letter", { to: " ann ", body: "Hello Ann" })] } : finish;
    const strict = await replayed(written, says, {}, writer);
    expect(strict.document).toMatchObject({ different: 1, stopped: { because: "miss" } });
    const lax = await replayed(written, says, { ignored: ["letter.body"] }, writer);
    expect(lax.document).toMatchObject({ same: 2, different: 0, outcome: { equal: true } });
    expect(lax.document.agreement).toMatchObject({ compared: 2, sameArguments: 2, exact: 1 });
  });
});

describe("a variation", () => {
  test("of policies tells what they would have refused, asked about and rewritten, on the recorded decisions alone", async () => {
    const recorded = defineApp({ sagas: [agent] });
    const stricter = agentOf({
      policies: [
        denyTools([hold]),
        needsApproval(look, { by: ["ann"], withinMs: 60_000, otherwise: "deny" }),
      ],
    });
    const variation = { with: { file: "stricter.ts", app: defineApp({ sagas: [stricter] }) } };
    const { document } = await freely(recorded, story.turns, "recorded", { variation, onMiss: "sample" });
    expect(document.fired.recorded).toEqual([]);
    expect(document.fired.got).toMatchObject([
      { type: "approval", name: "look" },
      { type: "denied", name: "hold", why: "POLICY_DENIED" },
    ]);
    expect(document.variation?.with).toMatchObject({ file: "stricter.ts", version: 1 });
  });

  test("of instructions puts other words in front of the same conversation", async () => {
    const asked: ModelRequest[] = [];
    const { document } = await replayed(
      story,
      (seen, request) => {
        asked.push(request);
        return [{ calls: [call("look")] }, { calls: [call("hold")] }][seen] ?? finish;
      },
      { variation: { prompt: { file: "p.txt", text: "Be brief." } } },
    );
    expect(document).toMatchObject({ different: 0, outcome: { equal: true } });
    expect(document.leftRecordAt).toBeUndefined();
    for (const { instructions } of asked) {
      expect(instructions).toMatch(/^Be brief\.\n\nAct only by calls\./);
      expect(instructions).not.toContain("Help.");
    }
  });

  test("to a definition that the file does not have is refused with what it has", async () => {
    const variation = { with: { file: "other.ts", app: defineApp({ sagas: [agentOf({ name: "else" })] }) } };
    await expect(
      freely(defineApp({ sagas: [agent] }), story.turns, "recorded", { variation }),
    ).rejects.toThrow(
      expect.objectContaining({ code: "AGENT_UNKNOWN", remedy: expect.stringContaining("else") }),
    );
  });
});

test("a failure of a tool is a result like any other", async () => {
  const refused = given(
    agent,
    started({ of: "x" }),
    replied({ calls: [call("look")] }),
    succeeded("look", { n: 1 }),
    replied({ calls: [call("send")] }),
    failed("send", { retry: false, code: "NOT_PERFORMED", reason: "closed" }),
    replied(finish),
  );
  const { run } = await replayed(refused, (seen) => (seen === 0 ? { calls: [call(send.name)] } : finish));
  expect(JSON.stringify(run.messages)).toContain("closed");
});
