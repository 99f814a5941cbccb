import { MeshError } from "../../../protocol/errors.ts";
import { portOf } from "../../runtime/config.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { type GatewayChoice, runUp } from "../../runtime/run-up.ts";
import { whereabouts } from "../../runtime/running.ts";
import type { Service } from "../../runtime/serve.ts";
import { defineCommand } from "../frame/command.ts";
import { announce, healthOptions, replicasOption, servedApp, servedConfig } from "../frame/serving.ts";

/** Everything in one process, for development. */
export const up = defineCommand({
  name: "up",
  summary: "run a server, a host, a worker and a gateway in one command, for development",
  details:
    "Starts an embedded NATS server unless --server or NATS_URL names one, and starts it again if it is lost.\n" +
    "The gateway listens on 127.0.0.1, on the same port each time if it is free. Its secret is made once, in the data folder.\n" +
    "Ctrl-C stops host and worker, and the server unless another process uses it; the data stays.\n" +
    "What goes wrong is logged on stderr, one JSON line each; LOG_LEVEL=info shows more.",
  positionals: {},
  options: {
    app: servedApp,
    ...healthOptions,
    replicas: replicasOption,
    "gateway-port": {
      type: "string",
      hint: "PORT",
      help: "take answers from outside here, 0 for any free port; else where it was the last time",
    },
    "no-gateway": { type: "boolean", help: "take none: a callback is a token for `sagamesh settle`" },
  },
  examples: ["sagamesh up --app app.ts"],
  run: async ({ app: file, ...flags }, context) => {
    const { output, signal } = context;
    const config = servedConfig(context.config, flags);
    const app = await loadApp(file);
    const options = { config, signal, report: output.note, appFile: file };
    const ready = (service: Service, gateway: string | undefined) =>
      announce(output, "up", whereabouts(service), app, { gateway });
    await runUp(options, app, ready, gatewayChoice(flags));
    return 0;
  },
});

function gatewayChoice(flags: { "gateway-port": string | undefined; "no-gateway": boolean }): GatewayChoice {
  const port = flags["gateway-port"];
  if (!flags["no-gateway"]) return port === undefined ? undefined : portOf("gateway-port", port);
  if (port === undefined) return "none";
  throw new MeshError("USAGE", "--gateway-port and --no-gateway exclude each other");
}
