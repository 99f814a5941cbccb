/**
 * Goal: a person is told what the process they started will not do. Method: what is announced of applications whose tools
 * have a body, or none.
 */
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineTool } from "../../../../actors/contract/tool.ts";
import { defineSaga } from "../../../../actors/saga/define.ts";
import { ServingDocument } from "../../../../protocol/documents/process.ts";
import { defineApp } from "../../../../services/app/app.ts";
import { createOutput } from "../../../../services/cli/frame/output.ts";
import { announce } from "../../../../services/cli/frame/serving.ts";

const contract = {
  description: "Posts.",
  effect: "read",
  input: z.object({}),
  output: z.object({}),
} as const;
const bare = defineTool({ name: "bare", ...contract });
const whole = defineTool({ name: "whole", ...contract, perform: async () => ({}) });

function announced(
  role: "up" | "host" | "worker",
  json = false,
  app = defineApp({ tools: [bare, whole] }),
): string {
  let said = "";
  const output = createOutput({ out: (text) => (said += text), err: () => undefined }, json);
  const running = { server: { url: "nats://127.0.0.1:1", version: "2.14.5" }, healthUrl: undefined };
  announce(output, role, running, app);
  return said;
}

test("up names the tools whose calls will wait, for its application lacks their body", () => {
  expect(announced("up")).toMatch(
    /^performs whole\ncalls of bare wait for another worker: this file has no body/m,
  );
  expect(ServingDocument.parse(JSON.parse(announced("up", true)))).toMatchObject({
    ...{ tools: ["whole"], bodiless: ["bare"] },
  });
});

test("up and hosts name what is likely a slip in their application, and a worker, which runs no saga, does not", () => {
  const slip = defineSaga({
    ...{ name: "slip", version: 1, input: z.null(), output: z.null(), signals: { go: z.null() } },
    machine: createMachine({}),
  });
  const app = defineApp({ sagas: [slip] });
  for (const role of ["up", "host"] as const) {
    expect(announced(role, false, app)).toMatch(/^note: slip: no state takes the signal "go"/m);
    expect(ServingDocument.parse(JSON.parse(announced(role, true, app))).notes).toHaveLength(1);
  }
  expect(announced("worker", false, app)).not.toContain("note:");
});

test("hosts and workers, which are one part of many, say nothing of it", () => {
  for (const role of ["host", "worker"] as const) expect(announced(role)).not.toContain("bare");
});
