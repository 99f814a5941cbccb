import { loadApp } from "../../runtime/load-app.ts";
import { startWorker } from "../../runtime/start.ts";
import { defineCommand } from "../frame/command.ts";
import {
  announce,
  healthOptions,
  replicasOption,
  logHelp,
  servedApp,
  servedOptions,
  untilEnded,
} from "../frame/serving.ts";

/** One worker process. */
export const worker = defineCommand({
  name: "worker",
  summary: "run a worker: performs tools",
  details: "Serves every tool of the application that has a body, or the ones named with --tool.\n" + logHelp,
  serves: true,
  positionals: {},
  options: {
    app: servedApp,
    tool: { type: "string", hint: "NAME", multiple: true, help: "serve only this tool; may be repeated" },
    ...healthOptions,
    replicas: replicasOption,
  },
  examples: ["sagamesh worker --app worker.ts --tool charge_deposit --tool create_invite"],
  run: async ({ app: file, tool: tools, ...flags }, context) => {
    const served = servedOptions(context, flags);
    const app = await loadApp(file);
    const worker = await startWorker({ app, appFile: file, tools, ...served });
    return untilEnded(worker, context, () =>
      announce(context.output, "worker", worker, app, { only: tools }),
    );
  },
});
