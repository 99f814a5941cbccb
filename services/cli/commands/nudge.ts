import type { NudgeDocument } from "../../../protocol/documents/nudge.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { nudgeSagas } from "../../client/nudge.ts";
import { readView } from "../../views/view.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { table } from "../frame/table.ts";
import { tellUnreadable } from "../frame/unreadable.ts";

const progressMs = 2_000;

/** Has sagas hand on again what was lost with a queue. */
export const nudge = defineCommand({
  name: "nudge",
  summary: "hand on again what is open of sagas and was lost with a queue",
  details:
    "After INBOX, WORK, a consumer or timers were lost: an open call, timer, child or end with no message, no armed timer and no\n" +
    "host that has its saga is handed on again by that saga's host, by its effect's class; a signal that one saga sent another in\n" +
    "the last week, and that the other lacks, is sent again under its id. Hosts do this themselves within minutes; this does it at once. What is in a queue is left there, so it may be run at any time and again. What no ledger\n" +
    "knows of (starts and signals from outside that no host had taken) is not found. Exit code 1 if a saga could not be read.",
  positionals: { sagas: { help: "the sagas' ids", multiple: true } },
  options: {
    all: { type: "boolean", help: "every saga of the mesh" },
    "dry-run": { type: "boolean", help: "only say what stands, and since when" },
  },
  examples: ["sagamesh nudge hire-41", "sagamesh nudge --all --dry-run"],
  run: async ({ sagas: words, all, "dry-run": isDryRun }, context) => {
    const { output, signal } = context;
    if (all === words.length > 0)
      throw new MeshError("USAGE", all ? "nudge: --all goes without a saga" : "nudge: SAGA is missing", {
        remedy: "Name sagas, or use --all.",
      });
    const named = words.map(parseSagaId);
    return withMesh(context, async ({ deps }) => {
      const { ports, clock } = deps;
      for (const saga of named) await readView(ports, saga); // One that there is not is said to be unknown.
      let saidAt = clock.now();
      const told = (read: number, of: number) => {
        if (clock.now() - saidAt < progressMs) return;
        saidAt = clock.now();
        output.note(`looked at ${read} of ${of} sagas`);
      };
      const found = await nudgeSagas(deps, { of: all ? undefined : new Set(named), isDryRun, told, signal });
      if (output.json) for (const document of found) output.print(document, () => "");
      else output.print(undefined, () => describe(found, clock.now(), isDryRun));
      return tellUnreadable(output, found.unreadable);
    });
  },
});

function describe(found: readonly NudgeDocument[], now: number, isDryRun: boolean): string {
  const rows = found.map(({ saga, since, orphans }) => [
    saga,
    `${Math.max(0, Math.round((now - since) / 60_000))} min`,
    orphans.map(({ intent, kind, name = "" }) => `${kind} ${name} (${intent})`.replace("  ", " ")).join(", "),
  ]);
  const sagas = `${found.length} ${found.length === 1 ? "saga" : "sagas"}`;
  if (found.length === 0)
    return "nothing that is open is lost: all of it is in a queue, or in a host's hands";
  const done = isDryRun ? "would be nudged" : "nudged: their hosts hand it on again";
  return [table(["SAGA", "STANDS FOR", "OPEN AND IN NO QUEUE"], rows), "", `${sagas} ${done}`].join("\n");
}
