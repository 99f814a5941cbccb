import { MeshError } from "../../../protocol/errors.ts";
import { defineCommand } from "../frame/command.ts";

/** The demo: processes killed in the middle of their effects. */
export const demo = defineCommand({
  name: "demo",
  summary: "an agent whose hosts and workers are killed in the middle of its effects",
  details:
    "Always runs a server of its own, whatever NATS_URL says. Works offline on a scripted model; with ANTHROPIC_API_KEY and --model, on a real one.\n" +
    "Exit code 0 only if the saga completed and no effect was duplicated or lost.",
  positionals: {},
  options: {
    kills: { type: "string", hint: "N", help: "how many processes are killed; 3 unless given" },
    seed: { type: "string", hint: "S", help: "decides where and when; 1 unless given" },
    wait: { type: "string", hint: "SECONDS", help: "how long the recruiter takes to answer; 2 unless given" },
    model: { type: "string", hint: "MODEL", help: "a model of the provider instead of the script" },
    keep: { type: "boolean", help: "keep the server until Ctrl-C, to look at its streams" },
  },
  without: ["server"],
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
      keepCommand: keepCommand({ kills, seed, wait, model, data: config.dataDir }),
      json: output.json,
      signal,
    });
  },
});

/** The same command line with --keep, begun as this one was. */
function keepCommand(options: Readonly<Record<string, string | undefined>>): string {
  const { npm_lifecycle_event: script, npm_lifecycle_script: line = "" } = process.env;
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, /^[\w./:-]+$/.test(value) ? value : `'${value}'`],
  );
  return [begun(line.includes("sagamesh") ? script : undefined), ...words, "--keep"].join(" ");
}

/** What stands before the demo's options, by the script of npm that runs it. */
function begun(script: string | undefined): string {
  if (script === undefined) return "sagamesh demo";
  if (script === "npx") return "npx sagamesh demo";
  return script === "start" ? "npm start --" : `npm run ${script} -- demo`;
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text))
    throw new MeshError("USAGE", `demo: ${option}: expected a number, got "${text}"`);
  return Number(text);
}
