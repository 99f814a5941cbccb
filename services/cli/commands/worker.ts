import { loadApp } from "../../runtime/load-app.ts";
import { runWorker } from "../../runtime/run-worker.ts";
import { defineCommand } from "../command.ts";
import { announce, servedApp } from "../serving.ts";

/** One worker process. */
export const worker = defineCommand({
  name: "worker",
  summary: "run a worker: performs tools",
  details: "Serves every tool of the application that has a body, or the ones named with --tool.",
  positionals: {},
  options: {
    app: servedApp,
    tool: { type: "string", hint: "NAME", multiple: true, help: "serve only this tool; may be repeated" },
  },
  examples: ["sagamesh worker --app worker.ts --tool charge_deposit --tool create_invite"],
  run: async ({ app: file, tool: tools }, { config, output, signal }) => {
    const app = await loadApp(file);
    await runWorker({ config, signal, report: output.note }, app, tools, (service) =>
      announce(output, "worker", service, app, tools),
    );
    return 0;
  },
});
