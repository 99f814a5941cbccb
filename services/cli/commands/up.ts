import { loadApp } from "../../runtime/load-app.ts";
import { runUp } from "../../runtime/run-up.ts";
import { defineCommand } from "../command.ts";
import { announce, healthOptions, replicasOption, servedApp, servedConfig } from "../serving.ts";

/** Everything in one process, for development. */
export const up = defineCommand({
  name: "up",
  summary: "run a server, a host and a worker in one command, for development",
  details:
    "Starts an embedded NATS server unless --server or NATS_URL names one, and starts it again if it is lost.\n" +
    "Ctrl-C stops host and worker, and the server unless another process uses it; the data stays.\n" +
    "What goes wrong is logged on stderr, one JSON line each; LOG_LEVEL=info shows more.",
  positionals: {},
  options: {
    app: servedApp,
    ...healthOptions,
    replicas: replicasOption,
  },
  examples: ["sagamesh up --app app.ts"],
  run: async ({ app: file, ...flags }, context) => {
    const { output, signal } = context;
    const config = servedConfig(context.config, flags);
    const app = await loadApp(file);
    await runUp({ config, signal, report: output.note, appFile: file }, app, (service) =>
      announce(output, "up", service, app),
    );
    return 0;
  },
});
