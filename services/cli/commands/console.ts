import type { ServingDocument } from "../../../protocol/documents/process.ts";
import { portOf, redactUrl } from "../../runtime/config.ts";
import { consoleToken, runConsole } from "../../runtime/run-console.ts";
import { defineCommand } from "../frame/command.ts";
import { logHelp } from "../frame/serving.ts";

const portDefault = 8_787;

/** The page for the browser. */
export const console = defineCommand({
  name: "console",
  summary: "show sagas, what they ask and what they did in the browser, and act there",
  details:
    "A page without anything from elsewhere, served to this machine alone unless --host says otherwise; then everybody is\n" +
    "asked for a token, which SAGAMESH_CONSOLE_TOKEN or --token-file sets. It can do what the server's credentials let this\n" +
    "process do: whoever sees it can vote and send signals. It speaks HTTP without TLS: put a proxy in front.\n" +
    logHelp,
  serves: true,
  positionals: {},
  options: {
    port: { type: "string", hint: "PORT", help: `listen on this port (${portDefault}), 0 for any free one` },
    host: { type: "string", hint: "ADDRESS", help: "listen on this address (127.0.0.1)" },
    "token-file": {
      type: "string",
      hint: "FILE",
      help: "ask for the token in this file; else for SAGAMESH_CONSOLE_TOKEN, else for none",
    },
  },
  examples: ["sagamesh console", "sagamesh console --host 0.0.0.0 --token-file /run/secrets/console"],
  run: async ({ host = "127.0.0.1", port, "token-file": file }, context) => {
    const { output, signal, config } = context;
    const token = await consoleToken(file, config.consoleToken);
    const address = { host, port: port === undefined ? portDefault : portOf("port", port), token };
    await runConsole({ config, signal, report: output.note }, address, (mesh, listens) => {
      const document: ServingDocument = {
        role: "console",
        url: redactUrl(mesh.url),
        serverVersion: mesh.version,
        ...(mesh.dataDir === undefined ? {} : { dataDir: mesh.dataDir }),
        ...{ definitions: [], tools: [], pid: process.pid },
        console: listens,
      };
      const asks =
        token === undefined
          ? "it asks for no password, and only this machine reaches it"
          : "it asks for its token";
      output.print(document, () =>
        [`console of NATS ${mesh.version} at ${document.url}`, `look at it at ${listens}: ${asks}`].join(
          "\n",
        ),
      );
    });
    return 0;
  },
});
