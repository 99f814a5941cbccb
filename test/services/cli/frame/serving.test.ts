/**
 * Goal: a person is told what the process they started will not do. Method: what is announced of applications whose tools
 * have a body, or none.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../../actors/contract/tool.ts";
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

function announced(role: "up" | "host" | "worker", json = false): string {
  let said = "";
  const output = createOutput({ out: (text) => (said += text), err: () => undefined }, json);
  const running = { server: { url: "nats://127.0.0.1:1", version: "2.14.5" }, healthUrl: undefined };
  announce(output, role, running, defineApp({ tools: [bare, whole] }));
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

test("hosts and workers, which are one part of many, say nothing of it", () => {
  for (const role of ["host", "worker"] as const) expect(announced(role)).not.toContain("bare");
});
