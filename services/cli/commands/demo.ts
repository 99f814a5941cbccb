import { MeshError } from "../../../protocol/errors.ts";
import { defineCommand } from "../command.ts";

/** The demo: processes killed in the middle of their effects. */
export const demo = defineCommand({
  name: "demo",
  summary: "an agent whose hosts and workers are killed in the middle of its effects",
  details:
    "Always runs a server of its own. Works offline on a scripted model; with ANTHROPIC_API_KEY and --model, on a real one.\n" +
    "Exit code 0 only if the saga completed and no effect was duplicated or lost.",
  positionals: {},
  options: {
    kills: { type: "string", hint: "N", help: "how many processes are killed; 3 unless given" },
    seed: { type: "string", hint: "S", help: "decides where and when; 1 unless given" },
    wait: { type: "string", hint: "SECONDS", help: "how long the recruiter takes to answer; 2 unless given" },
    model: { type: "string", hint: "MODEL", help: "a model of the provider instead of the script" },
    keep: { type: "boolean", help: "keep the server until Ctrl-C, to look at its streams" },
  },
  examples: ["sagamesh demo --kills 3 --seed 7"],
  run: async ({ kills, seed, wait, model, keep }, { config, output, signal }) => {
    const { runDemo } = await import("../../demo/demo.ts"); // Other commands need not load it.
    return runDemo({
      kills: numberOf("--kills", kills),
      seed: numberOf("--seed", seed),
      waitSeconds: numberOf("--wait", wait),
      model,
      keep,
      apiKey: config.anthropicApiKey,
      dataDir: config.dataDir,
      json: output.json,
      signal,
    });
  },
});

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text))
    throw new MeshError("USAGE", `demo: ${option}: expected a number, got "${text}"`);
  return Number(text);
}
