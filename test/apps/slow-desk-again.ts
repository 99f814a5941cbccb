/** The slow desk with another model beside its own: it takes REPLAY_MS, costs money, and notes in REPLAY_ASKED whom it was asked for. */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineApp } from "sagamesh";
import type { ModelPort } from "sagamesh/models";
import { slowDesk } from "./slow-desk.ts";

const sleepy: ModelPort = {
  name: "sleepy",
  atOnce: true, // What it takes is for the test to kill it in, and would make each report another.
  decide: async ({ saga }) => {
    appendFileSync(process.env["REPLAY_ASKED"] ?? "/dev/null", `${saga}\n`);
    await delay(Number(process.env["REPLAY_MS"] ?? 0));
    const done = !saga.endsWith("7"); // One in ten decides otherwise.
    const calls = [{ tool: "finish", input: { output: { done } } }];
    return { model: "sleepy", calls, usage: { inputTokens: 100, outputTokens: 10, usd: 0.25 } };
  },
};

export default defineApp({ sagas: [slowDesk], models: { slow_clerk: sleepy, sleepy } });
