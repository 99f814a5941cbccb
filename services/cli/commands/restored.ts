import type { RestoredDocument } from "../../../protocol/documents/restored.ts";
import { msOf } from "../../../protocol/duration.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { sayRestored, settleRestored } from "../../runtime/restored.ts";
import { defineCommand } from "../frame/command.ts";
import { table } from "../frame/table.ts";

/** Rows that are shown to a person; a program is told all. */
const shownMax = 20;
const startsDefault = "1h";

/** Says that the store was put back from a copy. */
export const restored = defineCommand({
  name: "restored",
  summary: "say that the store was put back from a copy, so that nothing it has forgotten is done twice",
  details:
    "Say it before hosts and workers are started. Hosts and workers that find LEDGER shorter than it was counted wait for it by\n" +
    "themselves (MESH_RESTORED); a whole store put back with nothing alive is noticed by no process. Without --yes it is only\n" +
    "said which sagas are ahead of their ledgers, and what of their open calls will be in doubt, is probed, or goes out again\n" +
    "under its key. With --yes what may have begun is claimed for nobody, lost messages are handed on again, and what waits goes on.\n" +
    "What was done after the copy was made stands in no ledger: from then on the first attempt of each `once` call of a saga from\n" +
    "before is in doubt, with a task, and each `probe` call asks the outside. This holds until --settled says that all of it is\n" +
    "known. Where LEDGER alone was put back and KV_CLAIM ran on, --claims-kept says so: the claims know, and nothing is asked,\n" +
    "unless the copy is six days old or more: the claims of sagas that were archived since may be gone, so sagas as old are asked\n" +
    "about. It may be broken off and said again. Exit code 1 if sagas could not be read.",
  positionals: {},
  options: {
    yes: { type: "boolean", help: "do it" },
    "claims-kept": { type: "boolean", help: "only LEDGER was put back, not KV_CLAIM" },
    starts: {
      type: "string",
      hint: "TIME",
      help: `sagas that begin within this time count as from before, for their starts wait or are sent again (default ${startsDefault})`,
    },
    settled: { type: "boolean", help: "what was lost is known: calls are asked about no more" },
  },
  examples: ["sagamesh restored", "sagamesh restored --yes", "sagamesh restored --settled"],
  run: async ({ yes, "claims-kept": keptClaims, starts, settled }, { config, output, signal }) => {
    if (settled && (yes || keptClaims || starts !== undefined))
      throw new MeshError("USAGE", "restored: --settled stands alone");
    if (keptClaims && starts !== undefined)
      throw new MeshError(
        "USAGE",
        "restored: with --claims-kept nothing is asked about, and --starts says nothing",
      );
    const startsMs = Math.round(msOf(starts ?? startsDefault));
    const looking = { report: (line: string) => output.note(line), signal };
    const document = settled
      ? await settleRestored(config, looking)
      : await sayRestored(config, { ...looking, isDryRun: !yes, keptClaims, startsMs });
    output.print(document, () => describe(document));
    return (document.unreadable?.length ?? 0) > 0 ? 1 : 0;
  },
});

function describe({
  outcome,
  why,
  asks,
  sagas = 0,
  ahead = [],
  calls = [],
  nudged = 0,
  unreadable = [],
}: RestoredDocument): string {
  if (outcome === "settled") return "Settled: within seconds no call is asked about any more.";
  const isDue = outcome === "due";
  return [
    why === undefined ? "The mesh itself has noticed nothing." : `${why}.`,
    `${sagas} sagas were looked at; ${ahead.length} ${ahead.length === 1 ? "is" : "are"} ahead of ${ahead.length === 1 ? "its ledger" : "their ledgers"}.`,
    ...shown(
      ahead.map(({ saga, turns, what }) => [saga, String(turns), what.join("; ")]),
      ["SAGA", "TURNS", "WHAT IS MISSING"],
    ),
    `${calls.length} open calls may have begun.`,
    ...shown(
      calls.map(({ saga, intent, tool, attempt, becomes }) => [
        saga,
        intent,
        tool,
        String(attempt),
        becoming[becomes],
      ]),
      ["SAGA", "INTENT", "TOOL", "ATTEMPT", isDue ? "WOULD BE" : "IS"],
    ),
    ...unreadable.map(({ saga, code, reason }) => `${saga} cannot be read: [${code}] ${reason}`),
    asks === undefined
      ? "The claims were kept: no other call is asked about."
      : `Of sagas begun before ${new Date(asks.until).toISOString()} the first attempt of each \`once\` call ${isDue ? "would be" : "is"} in doubt, with a task, and each \`probe\` call ${isDue ? "would ask" : "asks"} the outside, until \`sagamesh restored --settled\`.`,
    isDue
      ? "Nothing was changed; --yes does it."
      : `Said: ${nudged} sagas were nudged, and hosts and workers that waited go on. \`sagamesh tasks\` lists what is in doubt.`,
  ].join("\n");
}

const becoming = {
  in_doubt: "in doubt",
  probed: "probed",
  again: "asked for under its key",
  read: "read again",
};

const shown = (rows: readonly string[][], head: string[]): string[] =>
  rows.length === 0
    ? []
    : [
        table(head, rows.slice(0, shownMax)),
        ...(rows.length > shownMax ? [`and ${rows.length - shownMax} more`] : []),
      ];
