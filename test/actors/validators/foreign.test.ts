/**
 * Goal: a validator that asks a real provider's adapter hears it right, on a server that somebody else wrote.
 * Method: aimock with fixtures, on the Messages API and on Chat Completions; a validator alone and in a workflow on a mesh.
 */
import { LLMock } from "@copilotkit/aimock";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineTool } from "sagamesh";
import { anthropicModel, openaiModel } from "sagamesh/models";
import { testMesh } from "sagamesh/testing";
import { defineValidator } from "sagamesh/validators";
import { defineWorkflow } from "sagamesh/workflow";

const mock = new LLMock({ port: 0, logLevel: "silent" });
beforeAll(() => mock.start());
afterAll(() => mock.stop());
afterEach(() => {
  mock.clearFixtures().clearChaos();
  mock.clearRequests();
});

const providers = {
  "Messages API": () =>
    anthropicModel({ name: "judge", model: "claude-sonnet-5", apiKey: "k", baseURL: mock.url }),
  "Chat Completions": () =>
    openaiModel({ name: "judge", model: "gpt-5", apiKey: "k", baseURL: `${mock.url}/v1` }),
};

const sensible = defineValidator({
  ...{ name: "sensible", item: z.json() },
  model: { model: "judge", guidance: "The item makes sense.", may: ["augment", "feedback"] },
});

/** The server answers these, one after the other. */
function serverSays(...contents: readonly string[]): void {
  for (const [k, content] of contents.entries())
    mock.addFixture({
      match: { sequenceIndex: k },
      response: { content, usage: { input_tokens: 40, output_tokens: 9 } },
    });
}

describe.each(Object.entries(providers))("on %s", (_, portOf) => {
  const judged = async (...contents: readonly string[]) => {
    serverSays(...contents);
    await using t = testMesh(defineApp({ sagas: [sensible], models: { judge: portOf() } }));
    const end = await (await t.start(sensible, sensible.given({ item: { cups: 2 } }))).result();
    return { end, asked: mock.getRequests().length };
  };

  test("each verdict that a model may give is heard, a fence around it forgiven", async () => {
    const change = { at: "/cups", to: 3, amount: 1, unit: "cup", what: "one more", why: "thirst" };
    for (const said of [
      { verdict: "accept" },
      { verdict: "reject", reason: "it is none", findings: [{ rule: "sense", what: "none" }] },
      { verdict: "undecided", reason: "it is too dark" },
      { verdict: "feedback", reason: "tea is out" },
      { verdict: "augment", reason: "too few", changes: [change] },
    ]) {
      mock.clearFixtures();
      mock.clearRequests();
      const { end, asked } = await judged(`\`\`\`json\n${JSON.stringify(said)}\n\`\`\``);
      expect(end).toMatchObject({ status: "completed", output: { ...said, by: "model" } });
      expect(asked).toBe(1);
    }
  });

  test("an answer that is no verdict is asked for once more, and then it is undecided", async () => {
    const mended = await judged("It looks fine to me!", '{"verdict":"accept"}');
    expect(mended).toMatchObject({ end: { output: { verdict: "accept" } }, asked: 2 });
    mock.clearFixtures();
    mock.clearRequests();
    const never = await judged("fine", "really", "yes", "yes");
    expect(never.end).toMatchObject({ status: "completed", output: { verdict: "undecided" } });
  });

  test("a model that goes beyond what it may say, or calls a tool that it does not have, is no yes", async () => {
    mock.addFixture({ match: {}, response: { toolCalls: [{ name: "approve", arguments: "{}" }] } });
    await using t = testMesh(defineApp({ sagas: [sensible], models: { judge: portOf() } }));
    const end = await (await t.start(sensible, sensible.given({ item: 1 }))).result();
    expect(end).toMatchObject({ output: { verdict: "undecided" } });
  });

  test("a server that is overloaded is asked again, and one that refuses is no yes", async () => {
    mock.addFixture({
      match: { sequenceIndex: 0 },
      response: { error: { message: "overloaded", type: "overloaded_error" }, status: 529 },
    });
    mock.addFixture({ match: {}, response: { content: '{"verdict":"accept"}' } });
    await using t = testMesh(defineApp({ sagas: [sensible], models: { judge: portOf() } }));
    const end = await (await t.start(sensible, sensible.given({ item: 1 }))).result();
    expect(end).toMatchObject({ output: { verdict: "accept" } });
    mock.clearFixtures();
    mock.clearRequests();
    mock.addFixture({
      match: {},
      response: { error: { message: "no such key", type: "authentication_error" }, status: 401 },
    });
    const refused = await (await t.start(sensible, sensible.given({ item: 2 }))).result();
    expect(refused).toMatchObject({
      output: { verdict: "undecided", reason: expect.stringContaining("401") as unknown },
    });
  });

  test("in a workflow a refusal undoes what was judged, and its judge was sent what it judges", async () => {
    const held = new Set<string>();
    const drop = defineTool({
      ...{ name: "drop", description: "Undoes.", effect: "idempotent", output: z.json() },
      input: z.object({ key: z.string() }),
      perform: async ({ key }) => ({ dropped: held.delete(key) }),
    });
    const pour = defineTool({
      ...{ name: "pour", description: "Pours.", effect: "idempotent", input: z.json(), output: z.json() },
      compensation: { tool: drop, input: ({ key }) => ({ key }) },
      perform: async (_, { key }) => {
        held.add(key);
        return { cups: 40 };
      },
    });
    const flow = defineWorkflow({
      ...{ name: "flow", version: 1, input: z.json(), nodes: { pour: { run: pour } } },
      validators: { output: [sensible] },
    });
    serverSays('{"verdict":"reject","reason":"forty cups"}');
    await using t = testMesh(defineApp({ sagas: [flow], models: { judge: portOf() } }));
    const end = await (await t.start(flow, {})).result();
    expect(end).toMatchObject({
      ...{ status: "failed", code: "VALIDATION_REJECTED", standing: [] },
      reason: expect.stringContaining("forty cups") as unknown,
    });
    expect([...held]).toEqual([]);
    expect(JSON.stringify(mock.getLastRequest()?.body)).toMatch(/cups\W+40/);
  });
});
