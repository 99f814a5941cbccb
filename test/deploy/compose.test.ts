/**
 * Goal: what the compose file starts can be started: its commands, options and variables are the command line's own.
 * Method: each command is read from the file and held against the help of what it runs; no container is started.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../services/runtime/config.ts";
import { endpointOf } from "../../services/otlp/settings.ts";
import { runHere } from "../support/cli.ts";

const file = readFileSync(new URL("../../deploy/compose.yaml", import.meta.url), "utf8");
const commands = [...file.matchAll(/command: (\["npx", "sagamesh".*?\])/g)].map(([, list]) =>
  (JSON.parse(list!) as string[]).slice(2),
);

test("every process is started by a command and options that there are", async () => {
  expect(commands.map(([name]) => name).sort()).toEqual(["host", "host", "trace", "worker"]);
  for (const [name = "", ...words] of commands) {
    const { code, stdout } = await runHere([name, "--help"]);
    expect(code).toBe(0);
    for (const word of words.filter((one) => one.startsWith("--"))) expect(stdout, name).toContain(word);
  }
});

test("where nobody named a receiver, nothing is sent: what is empty is as if it were not set", () => {
  const set = [...file.matchAll(/^ +(OTEL_\w+): "\$\{\w+:-\}"$/gm)].map(([, name]) => name!);
  expect(set.length).toBe(2);
  const { otel } = readConfig({}, Object.fromEntries(set.map((name) => [name, ""])));
  for (const signal of ["traces", "metrics"] as const) expect(endpointOf(otel, signal)).toBeUndefined();
});
