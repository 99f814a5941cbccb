import type { UndoDocument } from "../../../protocol/documents/undo.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { runUndo } from "../../runtime/run-undo.ts";
import { withMesh } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { table } from "../frame/table.ts";
import { brief } from "../telling/describe.ts";

/** Undoes a saga by hand that no host can take, or that none serves. */
export const undo = defineCommand({
  name: "undo",
  summary: "undo by hand what a saga did that no host can take, or that none serves",
  details:
    "Without --yes it only lists the compensations that would run, in their order, and what stays. With --yes the saga is\n" +
    "cancelled without its machine, and its compensations run in this process, from the application file, under the keys and\n" +
    "claims that its hosts would use. After a crash in the middle the same words go on; so does a host of it. What a saga's\n" +
    "hosts can do is left to them: `cancel`. Exit code 1 if something is still waited for.",
  positionals: { saga: { help: "the saga's id" } },
  options: {
    offline: { type: "boolean", help: "in this process, without a host; there is no other way" },
    app: {
      type: "string",
      hint: "FILE",
      required: true,
      help: "the application file it was started with: what undoes its effects",
    },
    yes: { type: "boolean", help: "do it; without it nothing is changed" },
    reason: { type: "string", hint: "TEXT", help: "recorded with the cancellation" },
    force: { type: "boolean", help: "also where a living host serves it and nothing of it was set aside" },
  },
  examples: [
    "sagamesh undo hire-41 --offline --app app.ts",
    `sagamesh undo hire-41 --offline --app app.ts --yes --reason "its signal kills hosts"`,
  ],
  run: async ({ saga: id, offline, app: file, yes, reason, force }, context) => {
    const { output, config, signal } = context;
    const saga = parseSagaId(id);
    if (!offline)
      throw new MeshError("USAGE", "undo: --offline is missing", {
        remedy: "`sagamesh cancel SAGA` has its hosts undo it; where none can, see sagamesh undo --help.",
      });
    const app = await loadApp(file);
    return withMesh(context, async ({ deps }) => {
      const { ports, clock, chance, from } = deps;
      const why = yes ? (reason ?? `undone by ${from}`) : undefined;
      const options = { ports, clock, chance, config, force, reason: why, told: output.note, signal };
      const document = await runUndo(options, app, saga);
      output.print(document, () => describe(document));
      return document.did === "waits" ? 1 : 0;
    });
  },
});

const ends: Readonly<Record<UndoDocument["did"], (document: UndoDocument) => string>> = {
  would: ({ steps }) => `${countOf(steps)} would run; --yes does it`,
  undone: ({ status, steps }) => `ended as ${status}: ${countOf(steps)} succeeded`,
  waits: ({ open }) =>
    `not ended: it waits for ${open.map(({ kind, what, intent }) => `${what === kind ? "" : `${what}, `}a ${kind} (${intent})`).join("; ") || "its next owner"}`,
};

const countOf = ({ length }: UndoDocument["steps"]): string =>
  `${length} compensation${length === 1 ? "" : "s"}`;

function describe(document: UndoDocument): string {
  const { saga, did, steps, standing } = document;
  const rows = steps.map(({ round, undoes, effect, compensation, performer, intent, input }) => [
    ...[String(round ?? ""), undoes, effect, compensation],
    performer ?? intent ?? "",
    input === undefined ? "" : brief(input, 60),
  ]);
  const header = [
    "ROUND",
    "UNDOES",
    "EFFECT",
    "COMPENSATION",
    did === "would" ? "PERFORMER" : "INTENT",
    "INPUT",
  ];
  return [
    ...(rows.length === 0 ? [] : [table(header, rows)]),
    ...standing.map(
      ({ intent, tool, key, outcome }) =>
        `stays: ${tool} ${intent} (${key})${outcome === "in_doubt" ? ", in doubt" : ""}`,
    ),
    `${saga} ${ends[did](document)}`,
  ].join("\n");
}
