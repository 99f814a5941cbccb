import { loadApp } from "../../runtime/load-app.ts";
import { runHost } from "../../runtime/run-host.ts";
import { defineCommand } from "../command.ts";
import { announce, servedApp } from "../serving.ts";

/** One host process. */
export const host = defineCommand({
  name: "host",
  summary: "run a host: owns sagas, decides, appends, dispatches, asks models",
  details:
    "Any number of hosts share the sagas. SIGINT or SIGTERM lets running effects settle for 10 s; a second one exits at once.",
  positionals: {},
  options: {
    app: servedApp,
  },
  examples: ["NATS_URL=nats://10.0.0.5:4222 sagamesh host --app app.ts"],
  run: async ({ app: file }, { config, output, signal }) => {
    const app = await loadApp(file);
    await runHost({ config, signal, report: output.note }, app, (service) =>
      announce(output, "host", service, app),
    );
    return 0;
  },
});
