/**
 * Goal: what a saga's code leaves alone ends no process, and is told with whose it is; what is no saga's ends it as Node does.
 * Method: `sagamesh up` as a person runs it, with a body and a machine's function that begin what is rejected at once and later,
 * and a saga that is served after them; and an application that itself leaves a promise alone as it is loaded.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let folder: string;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  // Inside the repository, where the package is found by its name.
  folder = await mkdtemp(fileURLToPath(new URL("../../apps/left-alone-", import.meta.url)));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const app = (more: string, inBody: string) => `
import { createMachine, log } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
const lost = async (what: string, ms: number) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  throw new TypeError("lost " + what);
};
const track = defineTool({
  name: "track", description: "Leaves two promises alone.", effect: "once", input: z.any(), output: z.any(),
  perform: async () => { void lost("soon", 0); void lost("later", 300); ${inBody} return {}; },
});
const machine = createMachine({
  initial: "busy",
  states: {
    busy: { entry: log(() => { void lost("while it decides", 0); return "said"; }), invoke: { src: "track", onDone: "over" } },
    over: { type: "final" },
  },
}).provide({ actors: toActors({ track }) as never });
const careless = defineSaga({ name: "careless", version: 1, input: z.object({}), output: z.any(), machine });
${more}
export default defineApp({ sagas: [careless] });
`;

const on = () => ["--server", server.url, "--data", folder];
const up = async (name: string, more = "", inBody = "") => {
  const file = join(folder, name);
  await writeFile(file, app(more, inBody));
  return startCli(["up", "--app", file, "--no-gateway", ...on()]);
};

test(
  "a promise that a body or a machine's function leaves alone is told with its saga, and what serves goes on",
  { timeout: 120_000 },
  async () => {
    const serving = await up("app.ts");
    await serving.says("serves careless@1");
    await runHere(["start", "careless", "--input", "{}", "--id", "the-first", "--wait", ...on()]);
    for (const what of ["lost soon", "lost later", "lost while it decides"])
      await serving.says(new RegExp(`promise left alone.*${what}|${what}.*promise left alone`), "stderr");
    const next = await runHere(["start", "careless", "--input", "{}", "--id", "the-next", "--wait", ...on()]);
    expect(next.code, next.stderr).toBe(0);
    serving.process.kill("SIGTERM");
    const { code, stderr } = await serving.ended;
    expect(code, stderr).toBe(0);
    const told = stderr.split("\n").filter((line) => line.includes("promise left alone"));
    expect(
      told.filter(
        (line) => line.includes("lost soon") && line.includes("the-first") && line.includes("track"),
      ),
    ).toHaveLength(1);
    expect(
      told.filter((line) => line.includes("lost while it decides") && line.includes("the-first")),
    ).not.toEqual([]);
  },
);

test(
  "what a timer's callback of a body throws ends the process, and the log says whose it was",
  { timeout: 120_000 },
  async () => {
    const serving = await up(
      "thrown.ts",
      "export const late = () => setTimeout(() => { throw new RangeError('lost in a timer'); }, 200);",
      "late();",
    );
    await serving.says("serves careless@1");
    await runHere(["start", "careless", "--input", "{}", "--id", "the-late", ...on()]);
    const { code, stderr } = await serving.ended;
    expect(code).not.toBe(0);
    const told = stderr.split("\n").filter((line) => line.includes("thrown where nobody waits"));
    expect(told, stderr).toHaveLength(1);
    for (const word of ["the-late", "track", "lost in a timer"]) expect(told[0]).toContain(word);
  },
);

test(
  "a promise that is no saga's ends the process, as it does without sagamesh",
  { timeout: 120_000 },
  async () => {
    const serving = await up(
      "own.ts",
      'setTimeout(() => void Promise.reject(new Error("nobody asked")), 3_000);',
    );
    const { code, stderr } = await serving.ended;
    expect(code).not.toBe(0);
    expect(stderr).toContain("nobody asked");
  },
);
