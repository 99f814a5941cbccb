import { loadApp } from "../../runtime/load-app.ts";
import { runHost } from "../../runtime/run-host.ts";
import type { Service } from "../../runtime/serve.ts";
import { defineCommand } from "../frame/command.ts";
import {
  announce,
  boundOptions,
  healthOptions,
  logHelp,
  replicasOption,
  servedApp,
  servedBounds,
  servedConfig,
} from "../frame/serving.ts";

/** One host process. */
export const host = defineCommand({
  name: "host",
  summary: "run a host: owns sagas, decides, appends, dispatches, asks models",
  details:
    "Any number of hosts share the sagas. SIGINT or SIGTERM lets running effects settle for 10 s; a second one exits at once.\n" +
    logHelp,
  positionals: {},
  options: {
    app: servedApp,
    ...boundOptions,
    ...healthOptions,
    replicas: replicasOption,
  },
  examples: ["NATS_URL=nats://10.0.0.5:4222 sagamesh host --app app.ts"],
  run: async ({ app: file, ...flags }, context) => {
    const { output, signal } = context;
    const config = servedConfig(context.config, flags);
    const bounds = servedBounds(flags);
    const app = await loadApp(file);
    const ready = (service: Service) => announce(output, "host", service, app);
    await runHost({ config, signal, report: output.note, appFile: file }, app, ready, bounds);
    return 0;
  },
});
