import type { ForsakenInputs, RebuildDocument } from "../../../protocol/documents/rebuild.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { rebuildClaims, rebuildLedger } from "../../runtime/rebuild.ts";
import { defineCommand } from "../frame/command.ts";
import { table } from "../frame/table.ts";

const choices = ["claims", "ledger"] as const;

/** Calls that are shown to a person; a program is told all. */
const shownMax = 20;

/** Makes again what a mesh cannot forget and has lost. */
export const rebuild = defineCommand({
  name: "rebuild",
  summary: "make again what the mesh has lost and cannot forget: its claims, or an empty ledger",
  details:
    "`claims`: who may perform a `once` or `probe` call. Gone, they are made from the ledgers and from WORK: each call that is\n" +
    "open counts as begun. A `once` ends in doubt, with its task; a `probe` is probed first; what is read, or recognised by its\n" +
    "key, goes on. So nothing is performed twice, and a person looks after what was under way. Workers may run: they wait, and\n" +
    "claim nothing before all of it is done. It may be killed and run again.\n" +
    "`ledger`: where no copy is left. With --accept-loss an empty one is begun; what its sagas did outside stands. What stands in\n" +
    "queues for them (starts, signals, votes, results, calls) becomes dead letters (LEDGER_LOST), of which `sagamesh dead retry`\n" +
    "begins a saga anew; --begin-anew leaves starts and signals where they are, and all those sagas begin anew at once.\n" +
    "Without --yes it is only said what would be done. Exit code 1 if sagas could not be read, and then the claims stay closed.",
  positionals: { what: { help: "claims or ledger", choices } },
  options: {
    yes: { type: "boolean", help: "do it" },
    "accept-loss": { type: "boolean", help: "with ledger, in place of --yes: every saga is forgotten" },
    "begin-anew": {
      type: "boolean",
      help: "with ledger: sagas whose starts stand in INBOX begin anew, beside what they did before",
    },
    "skip-unreadable": {
      type: "boolean",
      help: "with claims: open them although some sagas cannot be read; what those have under way may be performed again",
    },
  },
  examples: [
    "sagamesh rebuild claims",
    "sagamesh rebuild claims --yes",
    "sagamesh rebuild ledger --accept-loss",
  ],
  run: async ({ what, yes, ...flags }, context) => {
    const { "accept-loss": accepts, "begin-anew": beginsAnew, "skip-unreadable": skipsUnreadable } = flags;
    const { config, output, signal } = context;
    const isLedger = what === "ledger";
    if (!isLedger && what !== "claims")
      throw new MeshError("USAGE", `rebuild: "${what}" cannot be rebuilt: expected ${choices.join(" or ")}`);
    if (isLedger ? yes || skipsUnreadable : accepts || beginsAnew)
      throw new MeshError(
        "USAGE",
        `rebuild ${what}: ${isLedger ? "--accept-loss alone says so" : `${accepts ? "--accept-loss" : "--begin-anew"} is for the ledger`}`,
      );
    const report = (line: string) => output.note(line);
    const options = { isDryRun: !(isLedger ? accepts : yes), skipsUnreadable, beginsAnew, report, signal };
    const document = await (isLedger ? rebuildLedger : rebuildClaims)(config, options);
    output.print(document, () => describe(document, beginsAnew));
    return document.outcome === "stopped" || (document.unreadable?.length ?? 0) > 0 ? 1 : 0;
  },
});

function describe(
  { what, outcome, why, sagas = 0, calls = [], unreadable = [], forsaken }: RebuildDocument,
  beginsAnew: boolean,
): string {
  if (outcome === "whole") return `Nothing is missing of the ${what}.`;
  const rows = calls
    .slice(0, shownMax)
    .map(({ saga, intent, tool, attempt, effect }) => [
      saga,
      intent,
      tool,
      String(attempt),
      effect ?? "unknown",
    ]);
  const more = calls.length - rows.length;
  return [
    why ?? "",
    ...(rows.length === 0
      ? []
      : [
          table(["SAGA", "INTENT", "TOOL", "ATTEMPT", "EFFECT"], rows),
          ...(more > 0 ? [`and ${more} more`] : []),
        ]),
    ...unreadable.map(({ saga, code, reason }) => `${saga} cannot be read: [${code}] ${reason}`),
    ...(what === "claims" ? [`${calls.length} open calls of ${sagas} sagas count as begun.`] : []),
    ...(forsaken === undefined ? [] : [asideText(forsaken, outcome === "due", beginsAnew)]),
    ends[outcome][what],
  ].join("\n");
}

function asideText({ starts, inputs, timers, calls }: ForsakenInputs, isDue: boolean, beginsAnew: boolean) {
  const would = isDue ? "would be" : "were";
  const stood = `${starts} starts, ${inputs} other inputs and ${calls} calls stood in queues, and ${timers} timers were armed.`;
  return beginsAnew
    ? `${stood} Starts and signals ${isDue ? "would stay" : "stayed"}: their sagas begin anew. The rest ${would} set aside as dead letters (LEDGER_LOST), and timers ${would} taken away.`
    : `${stood} They ${would} set aside as dead letters (LEDGER_LOST), and timers ${would} taken away: no saga begins anew by itself.`;
}

const ends: Readonly<Record<RebuildDocument["outcome"], Record<RebuildDocument["what"], string>>> = {
  whole: { claims: "", ledger: "" },
  due: {
    claims: "Nothing was changed; --yes does it.",
    ledger: "Nothing was changed; --accept-loss begins an empty ledger, and every saga is forgotten.",
  },
  rebuilt: {
    claims: "The claims are rebuilt: hosts and workers go on, and `sagamesh tasks` lists what is in doubt.",
    ledger: "An empty ledger was begun.",
  },
  stopped: {
    claims:
      "The claims stay closed to workers. `sagamesh verify SAGA` names what is wrong; then run this again, or with --skip-unreadable.",
    ledger: "",
  },
};
