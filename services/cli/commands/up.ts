import { describeError, MeshError } from "../../../protocol/errors.ts";
import type { App } from "../../app/app.ts";
import { portOf } from "../../runtime/config.ts";
import { asGeneration } from "../../runtime/generation.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { moveChanged } from "../../runtime/move-changed.ts";
import { type DoorChoice, runUp, servedByUp } from "../../runtime/run-up.ts";
import { whereabouts } from "../../runtime/running.ts";
import type { Service } from "../../runtime/serve.ts";
import { defineCommand } from "../frame/command.ts";
import {
  announce,
  besideOption,
  healthOptions,
  replicasOption,
  servedApp,
  servedConfig,
} from "../frame/serving.ts";

/** Everything in one process, for development. */
export const up = defineCommand({
  name: "up",
  summary: "run a server, a host, a worker, a gateway and a console in one command, for development",
  details:
    "Starts an embedded NATS server unless --server or NATS_URL names one, and starts it again if it is lost.\n" +
    "The gateway listens on 127.0.0.1, on the same port each time if it is free. Its secret is made once, in the data folder.\n" +
    "The console is a page for the browser, on 127.0.0.1 alone and without a password: it shows every saga, and acts.\n" +
    "Ctrl-C stops host and worker, and the server unless another process uses it; the data stays.\n" +
    "With --watch the application is served anew when its file, or one that it imports from its folder, changes. What\n" +
    "cannot be loaded replaces nothing. Sagas of a definition that was changed in its version go on under what the file\n" +
    "says now where that decides the same so far, and it is said of the others why they stay.\n" +
    "Each turn is decided twice; a machine that reads clock, chance or the outside is refused (MACHINE_IMPURE).\n" +
    "What a machine logs (`log` of XState) is shown when its turn is written, with its saga, and once: not again after a crash.\n" +
    "What goes wrong is logged on stderr, one JSON line each; LOG_LEVEL=info shows more.",
  serves: true,
  positionals: {},
  options: {
    app: servedApp,
    watch: { type: "boolean", help: "serve the application anew when its files change" },
    beside: besideOption,
    ...healthOptions,
    replicas: replicasOption,
    "gateway-port": {
      type: "string",
      hint: "PORT",
      help: "take answers from outside here, 0 for any free port; else where it was the last time",
    },
    "no-gateway": { type: "boolean", help: "take none: a callback is a token for `sagamesh settle`" },
    "console-port": {
      type: "string",
      hint: "PORT",
      help: "show the console here, 0 for any free port; else on 8787 if that is free, else on any",
    },
    "no-console": { type: "boolean", help: "show none" },
  },
  examples: ["sagamesh up --app app.ts", "sagamesh up --app app.ts --watch"],
  run: async ({ app: file, ...flags }, context) => {
    const { output, signal } = context;
    const config = servedConfig(context.config, flags);
    const doors = { gateway: doorOf("gateway", flags), console: doorOf("console", flags) };
    const generation = asGeneration();
    if (flags.watch && generation === undefined) {
      const { watchUp } = await import("../../runtime/watch-up.ts");
      await watchUp({ config, appFile: file, words: process.argv.slice(2), signal, report: output.note });
      return 0;
    }
    const load = async () => servedByUp(await loadApp(file), config);
    const app = generation === undefined ? await load() : await generation.load(file, load);
    if (app === undefined) return 1;
    const own = generation === undefined ? signal : AbortSignal.any([signal, generation.signal]);
    const beside = flags.beside || generation !== undefined;
    const ready: Parameters<typeof runUp>[2] = (service, at) => {
      announce(output, "up", whereabouts(service), app, at);
      if (generation !== undefined) tellMoved(service, app, { report: output.note, signal: own });
    };
    await runUp({ config, signal: own, report: output.note, appFile: file, beside }, app, ready, doors);
    return 0;
  },
});

/** It is told as it goes on; what it lacks then is for `sagamesh migrate`. */
function tellMoved(service: Service, app: App, options: Parameters<typeof moveChanged>[2]): void {
  moveChanged(service, app, options).catch((error: unknown) => {
    if (!options.signal.aborted) options.report(`not all sagas were looked at: ${describeError(error)}`);
  });
}

type DoorFlags = { readonly [K in "gateway" | "console" as `${K}-port`]: string | undefined } & {
  readonly [K in "gateway" | "console" as `no-${K}`]: boolean;
};

/** Throws USAGE. */
function doorOf(door: "gateway" | "console", flags: DoorFlags): DoorChoice {
  const port = flags[`${door}-port`];
  if (!flags[`no-${door}`]) return port === undefined ? undefined : portOf(`${door}-port`, port);
  if (port === undefined) return "none";
  throw new MeshError("USAGE", `--${door}-port and --no-${door} exclude each other`);
}
