import { loadApp } from "../../runtime/load-app.ts";
import { runUp } from "../../runtime/run-up.ts";
import { defineCommand } from "../command.ts";
import { announce, servedApp } from "../serving.ts";

/** Everything in one process, for development. */
export const up = defineCommand({
  name: "up",
  summary: "run a server, a host and a worker in one command, for development",
  details:
    "Starts an embedded NATS server unless --server or NATS_URL names one. Ctrl-C stops all of it; the data stays.",
  positionals: {},
  options: {
    app: servedApp,
  },
  examples: ["sagamesh up --app app.ts"],
  run: async ({ app: file }, { config, output, signal }) => {
    const app = await loadApp(file);
    await runUp({ config, signal, report: output.note }, app, (service) =>
      announce(output, "up", service, app),
    );
    return 0;
  },
});
