/**
 * Serving: what a process that serves says of itself once it does.
 */
import type { ServingDocument } from "../../protocol/documents.ts";
import type { App } from "../app.ts";
import { redactUrl } from "../runtime/config.ts";
import type { Service } from "../runtime/serve.ts";
import type { Output } from "./output.ts";

/** The option by which a process that serves is told what. */
export const servedApp = {
  type: "string",
  hint: "FILE",
  required: true,
  help: "application file, its default export made by defineApp",
} as const;

/** Prints where things are, what is served and, where sagas are, how to start one. */
export function announce(
  output: Output,
  role: ServingDocument["role"],
  { mesh }: Service,
  app: App,
  only?: readonly string[],
): void {
  const performed = [...app.tools.values()].filter(
    (tool) => app.bodies.has(tool.name) && tool.placement === "worker",
  );
  const document: ServingDocument = {
    role,
    url: redactUrl(mesh.url),
    serverVersion: mesh.version,
    ...(mesh.dataDir === undefined ? {} : { dataDir: mesh.dataDir }),
    definitions: role === "worker" ? [] : app.definitions.map(({ name, version }) => ({ name, version })),
    tools:
      role === "host"
        ? []
        : performed.map((tool) => tool.name).filter((name) => only === undefined || only.includes(name)),
    pid: process.pid,
  };
  output.print(document, () => describe(document));
}

function describe({ role, url, serverVersion, dataDir, definitions, tools }: ServingDocument): string {
  const lines = [
    `${role}: NATS ${serverVersion} at ${url}${dataDir === undefined ? "" : `, data in ${dataDir}`}`,
  ];
  if (role !== "worker")
    lines.push(
      `serves ${definitions.map(({ name, version }) => `${name}@${version}`).join(", ") || "no sagas"}`,
    );
  if (role !== "host") lines.push(`performs ${tools.join(", ") || "no tools"}`);
  const [first] = definitions;
  if (role === "up" && first !== undefined)
    lines.push(`start one: sagamesh start ${first.name} --input '{…}' --wait    (Ctrl-C here stops)`);
  return lines.join("\n");
}
