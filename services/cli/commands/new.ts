import { relative } from "node:path";
import type { CreatedDocument } from "../../../protocol/documents/process.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { createApplication } from "../../new/create.ts";
import { packageFolder } from "../../runtime/version.ts";
import { defineCommand } from "../frame/command.ts";

/** A folder with an application to begin with. */
export const creating = defineCommand({
  name: "new",
  summary: "make a folder with an agent, its tests and a tour",
  details:
    "The agent runs on a scripted model, without a key. Its README goes on from there: a model of Anthropic's, money and\n" +
    "approval, a signal days later, a crash, a changed prompt, two machines.",
  positionals: {
    folder: { paths: "folders", help: "does not exist yet, or is empty; its name becomes the package's" },
  },
  options: {},
  without: ["server", "data"],
  examples: ["sagamesh new my-agent"],
  run: async ({ folder: target }, { output }) => {
    const own = packageFolder();
    if (own === undefined) throw new MeshError("INTERNAL", "the package's own folder is not found");
    const { name, folder, files, isInstalled } = await createApplication({ packageFolder: own, target });
    const next = [`cd ${shellWord(relative(".", folder) || ".")}`, ...(isInstalled ? [] : ["npm install"])];
    const document: CreatedDocument = { name, folder, files: [...files], next: [...next, "npm start"] };
    output.print(document, () =>
      [`made ${folder}`, "", ...document.next.map((line) => `  ${line}`), "", tour].join("\n"),
    );
    return 0;
  },
});

const tour = "`npm test` runs its tests; README.md goes on from there.";

const shellWord = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
