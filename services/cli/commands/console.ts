import type { ServingDocument } from "../../../protocol/documents/process.ts";
import { portOf, redactUrl } from "../../runtime/config.ts";
import { consoleDoors, doorsText } from "../../runtime/console-doors.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { runConsole } from "../../runtime/run-console.ts";
import { defineCommand } from "../frame/command.ts";
import { logHelp } from "../frame/serving.ts";

const portDefault = 8_787;

/** The page for the browser. */
export const console = defineCommand({
  name: "console",
  summary: "show sagas, what they ask and what they did in the browser, and act there",
  details:
    "A page without anything from elsewhere, served to this machine alone unless --host says otherwise; then everybody is\n" +
    "asked for a token, or comes through a proxy that signs people in. It can do what the server's credentials let this process\n" +
    "do: whoever may act can vote and send signals. It speaks HTTP without TLS: put a proxy in front.\n" +
    "With --proxy-header the proxy says who asks, and is believed where it also sends the shared secret as\n" +
    "X-Sagamesh-Proxy-Secret. It has to set these headers on each request, in place of any that a caller sent. What a person\n" +
    "does is recorded under that name.\n" +
    logHelp,
  serves: true,
  positionals: {},
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file: its definitions tell plans, states and what models were sent",
    },
    port: { type: "string", hint: "PORT", help: `listen on this port (${portDefault}), 0 for any free one` },
    host: { type: "string", hint: "ADDRESS", help: "listen on this address (127.0.0.1)" },
    "token-file": {
      type: "string",
      hint: "FILE",
      help: "the token of who acts is in this file; else SAGAMESH_CONSOLE_TOKEN, else there is none",
    },
    "look-token-file": {
      type: "string",
      hint: "FILE",
      help: "the token of who looks and does not act; else SAGAMESH_CONSOLE_LOOK_TOKEN, else there is none",
    },
    "proxy-header": {
      type: "string",
      hint: "HEADER",
      help: "in which a proxy names who asks, such as X-Forwarded-User",
    },
    "proxy-groups-header": {
      type: "string",
      hint: "HEADER",
      help: "in which it says their groups, parted by commas, such as X-Forwarded-Groups",
    },
    "proxy-secret-file": {
      type: "string",
      hint: "FILE",
      help: "the secret that the proxy sends; else SAGAMESH_CONSOLE_PROXY_SECRET",
    },
    acting: {
      type: "string",
      hint: "LIST",
      help: "who may act of those it names: names, group:NAME, or * for all; nobody unless given",
    },
  },
  examples: [
    "sagamesh console",
    "sagamesh console --app app.ts",
    "sagamesh console --host 0.0.0.0 --token-file /run/secrets/console",
    "sagamesh console --host 0.0.0.0 --proxy-header X-Forwarded-User --proxy-groups-header X-Forwarded-Groups --acting group:ops",
  ],
  run: async ({ app: appFile, host = "127.0.0.1", port, ...flags }, context) => {
    const { output, signal, config } = context;
    const doors = await consoleDoors(
      {
        ...{ tokenFile: flags["token-file"], lookTokenFile: flags["look-token-file"] },
        ...{ proxyHeader: flags["proxy-header"], proxyGroupsHeader: flags["proxy-groups-header"] },
        ...{ proxySecretFile: flags["proxy-secret-file"], acting: flags.acting },
      },
      config.console,
    );
    const address = { host, port: port === undefined ? portDefault : portOf("port", port), doors };
    const app = appFile === undefined ? undefined : await loadApp(appFile);
    await runConsole({ config, signal, report: output.note, app }, address, (mesh, listens) => {
      const document: ServingDocument = {
        role: "console",
        url: redactUrl(mesh.url),
        serverVersion: mesh.version,
        ...(mesh.dataDir === undefined ? {} : { dataDir: mesh.dataDir }),
        ...{ definitions: [], tools: [], pid: process.pid },
        console: listens,
      };
      output.print(document, () =>
        [
          `console of NATS ${mesh.version} at ${document.url}`,
          `look at it at ${listens}: ${doorsText(doors)}`,
        ].join("\n"),
      );
    });
    return 0;
  },
});
