import type { ServingDocument } from "../../../protocol/documents/process.ts";
import { portOf, redactUrl, withGatewayUrl } from "../../runtime/config.ts";
import { runGateway } from "../../runtime/run-gateway.ts";
import { defineCommand } from "../frame/command.ts";
import { healthOptions, logHelp, replicasOption, servedConfig } from "../frame/serving.ts";

const portDefault = 8088;

/** One process that takes answers from outside. */
export const gateway = defineCommand({
  name: "gateway",
  summary: "run a gateway: takes answers from outside over HTTP",
  details:
    "A tool that defers gives the outside its callbackUrl; a POST to it becomes the call's result, once. Any number of\n" +
    "gateways may run. Hosts and workers sign with SAGAMESH_GATEWAY_SECRET, which must be the same here and there, and need\n" +
    "SAGAMESH_GATEWAY_URL, the public URL. Several secrets, separated by commas: the first signs, all verify.\n" +
    "It speaks HTTP without TLS and without limits of rate: put a proxy in front.\n" +
    logHelp,
  serves: true,
  positionals: {},
  options: {
    port: { type: "string", hint: "PORT", help: `listen on this port (${portDefault}), 0 for any free one` },
    host: { type: "string", hint: "ADDRESS", help: "listen on this address (127.0.0.1)" },
    "public-url": {
      type: "string",
      hint: "URL",
      help: "how the outside reaches it; else SAGAMESH_GATEWAY_URL, else where it listens",
    },
    ...healthOptions,
    replicas: replicasOption,
  },
  examples: ["sagamesh gateway --port 8088 --public-url https://example.org/sagamesh"],
  run: async ({ host = "127.0.0.1", port, "public-url": publicUrl, ...flags }, context) => {
    const { output, signal } = context;
    const config = withGatewayUrl(servedConfig(context.config, flags), publicUrl);
    const address = { host, port: port === undefined ? portDefault : portOf("port", port) };
    await runGateway({ config, signal, report: output.note }, address, ({ mesh, health }, listens, url) => {
      const document: ServingDocument = {
        role: "gateway",
        url: redactUrl(mesh.url),
        serverVersion: mesh.version,
        ...(mesh.dataDir === undefined ? {} : { dataDir: mesh.dataDir }),
        definitions: [],
        tools: [],
        pid: process.pid,
        ...(health?.url === undefined ? {} : { health: health.url }),
        gateway: url,
        listens,
      };
      output.print(document, () => describe(document));
    });
    return 0;
  },
});

const describe = ({ url, serverVersion, gateway: publicUrl, listens, health }: ServingDocument): string =>
  [
    `gateway: NATS ${serverVersion} at ${url}`,
    `takes answers from outside at ${publicUrl ?? "?"}, listening at ${listens ?? "?"}`,
    ...(health === undefined ? [] : [`health at ${health}/readyz, ${health}/metrics`]),
  ].join("\n");
