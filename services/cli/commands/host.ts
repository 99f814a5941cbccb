import { loadApp } from "../../runtime/load-app.ts";
import { startHost } from "../../runtime/start.ts";
import { defineCommand } from "../frame/command.ts";
import {
  announce,
  besideOption,
  boundOptions,
  healthOptions,
  logHelp,
  replicasOption,
  servedApp,
  servedBounds,
  servedOptions,
  untilEnded,
} from "../frame/serving.ts";

/** One host process. */
export const host = defineCommand({
  name: "host",
  summary: "run a host: owns sagas, decides, appends, dispatches, asks models",
  details:
    "Any number of hosts share the sagas. SIGINT or SIGTERM lets running effects settle for 10 s; a second one exits at once.\n" +
    "A definition that was changed without a new version is refused while sagas of the old one live: raise its version,\n" +
    "move them with `sagamesh migrate`, or serve both with --beside.\n" +
    logHelp,
  serves: true,
  positionals: {},
  options: {
    app: servedApp,
    beside: besideOption,
    "folds-twice": {
      type: "boolean",
      help: "decide each turn twice and refuse a machine that reads clock, chance or the outside, for development; else SAGAMESH_FOLDS_TWICE",
    },
    ...boundOptions,
    ...healthOptions,
    replicas: replicasOption,
  },
  examples: ["NATS_URL=nats://10.0.0.5:4222 sagamesh host --app app.ts"],
  run: async ({ app: file, ...flags }, context) => {
    const served = servedOptions(context, flags);
    const bounds = servedBounds(flags);
    const app = await loadApp(file);
    const place = { beside: flags.beside, ...(flags["folds-twice"] ? { foldsTwice: true } : {}) };
    const host = await startHost({ app, appFile: file, ...place, ...served, ...bounds });
    return untilEnded(host, context, () => announce(context.output, "host", host, app));
  },
});
