import { resolve } from "node:path";
import type { ImportDocument } from "../../../protocol/documents/recording.ts";
import { RecordingFormat } from "../../../protocol/documents/recording.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { importFiles } from "../../recordings/import.ts";
import { systemChance } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";

/** Recorded conversations as bundles. Named so because `import` is a word of the language. */
export const importing = defineCommand({
  name: "import",
  summary: "turn conversations recorded elsewhere into files that inspect, verify and replay read",
  details:
    "JSON, or one JSON to a line. anthropic: a request of the Messages API, perhaps with its response. messages: a list of\n" +
    "messages with roles, alone or under traj or messages beside its task and reward, or many of them. Each conversation\n" +
    "becomes a bundle that holds its agent, so that no --app is needed. What the recording lacked and was assumed is said;\n" +
    "with --json all of it. Bad input leaves nothing behind.",
  positionals: { files: { help: "the recordings", multiple: true, paths: "files" } },
  options: {
    format: {
      type: "string",
      hint: "FORMAT",
      choices: RecordingFormat.options,
      help: "anthropic or messages; told by the content unless given",
    },
    out: { type: "string", hint: "DIR", help: "folder of the bundles; this one unless given" },
    name: { type: "string", hint: "NAME", help: "of the agent; the file's unless given" },
    force: { type: "boolean", help: "write bundles anew that are there already" },
  },
  examples: ["sagamesh import runs.json --out recorded", "sagamesh verify --all --archive recorded"],
  run: async ({ files, format: word, out, name, force: isForced }, { output }) => {
    if (files.length === 0) throw new MeshError("USAGE", "import: FILE is missing");
    const format = word === undefined ? undefined : readFormat(word);
    const folder = resolve(out ?? ".");
    const documents = await importFiles(files, { chance: systemChance, folder, format, name, isForced });
    for (const document of documents) output.print(document, () => describe(document));
    if (!output.json) output.note(describeAll(documents, folder));
    return 0;
  },
});

function readFormat(word: string): RecordingFormat {
  const read = RecordingFormat.safeParse(word);
  if (read.success) return read.data;
  throw new MeshError("USAGE", `--format: expected ${RecordingFormat.options.join(" or ")}, got "${word}"`);
}

function describe({ saga, bundle, reason, status, turns, recording }: ImportDocument): string {
  const where = `${recording.file}, conversation ${recording.conversation}`;
  return saga === undefined
    ? `${where}: left out, ${reason ?? ""}`
    : `${where}: ${bundle ?? ""}, ${turns ?? 0} turns, ${status ?? ""}`;
}

/** What holds of many is said once. */
function describeAll(documents: readonly ImportDocument[], folder: string): string {
  const times = new Map<string, number>();
  for (const { recording } of documents)
    for (const note of recording.notes) times.set(note, (times.get(note) ?? 0) + 1);
  const imported = documents.filter(({ saga }) => saga !== undefined).length;
  const notes = [...times].slice(0, notesMax).map(([note, n]) => `  ${n === 1 ? "" : `${n} times: `}${note}`);
  const more = times.size > notesMax ? [`  and ${times.size - notesMax} more; --json has all`] : [];
  return [`${imported} of ${documents.length} conversations are in ${folder}`, ...notes, ...more].join("\n");
}

const notesMax = 20;
