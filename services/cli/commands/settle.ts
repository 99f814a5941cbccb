import type { SettledRow } from "../../../protocol/documents/settle.ts";
import type { SentDocument } from "../../../protocol/documents/stored.ts";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { type Finding, findingHelp, readFinding, settleCall, unsettledCall } from "../../client/finding.ts";
import { readRegistry, viewingBy } from "../../client/registry.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { findUnsettled } from "../../client/unsettled.ts";
import { openSigner } from "../../runtime/signing.ts";
import { callQueryHelp, parseCallQuery } from "../../views/query.ts";
import { readView } from "../../views/view.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { parseJson } from "../frame/json.ts";
import { table } from "../frame/table.ts";
import { tellUnreadable } from "../frame/unreadable.ts";
import { voterOptions } from "../frame/task.ts";

/** Says how a deferred call, or an effect in doubt, ended; of one, or of all that a query means. */
export const settle = defineCommand({
  name: "settle",
  summary: "say how a deferred call or an effect in doubt ended",
  details:
    "Where people were asked about a doubt it is a vote, as with `answer`: it counts from those who are asked, and as many\n" +
    "must say the same as the doubt's terms name.\n" +
    "With --query the one word is the result, for every call that is meant; they are listed, and settled with --yes.",
  positionals: {
    saga: { help: "the saga's id; with --query the result", json: "whole" },
    intent: { help: "the call, as `sagamesh inspect` lists it, or the task about it", optional: true },
    result: { help: `${findingHelp}; anything else is the output itself`, optional: true, json: "whole" },
  },
  options: {
    query: { type: "string", hint: "QUERY", help: `the calls that are meant: ${callQueryHelp}` },
    yes: { type: "boolean", help: "with --query: settle them; without it they are only listed" },
    ...voterOptions,
  },
  examples: [
    `sagamesh settle hire-41 7-0 '{"succeeded":{"slot":"2026-03-03T10:00:00Z"}}'`,
    `sagamesh settle hire-41 9-0 '{"outcome":"did_not_happen"}'`,
    `sagamesh settle --query 'tool=charge_card and outcome=in_doubt' '{"outcome":"did_not_happen"}' --yes`,
  ],
  run: async ({ saga: word, intent, result, query, yes, by, as, nkey }, context) => {
    const usage = (what: string) =>
      new MeshError("USAGE", `settle: ${what}`, { remedy: "See sagamesh settle --help." });
    const signer = openSigner(nkey, "--nkey") ?? openSigner(context.config.nkey, "SAGAMESH_NKEY");
    const who = { by, as, signer };
    if (query !== undefined) {
      if (intent !== undefined) throw usage("with --query the result is the only word");
      parseCallQuery(query, Date.now()); // What is wrong with it is told before a server is asked.
      const said = findingOf(parseJson(word, "the result"));
      return settleMany(context, { query, yes, said, who });
    }
    if (yes) throw usage("--yes is for --query");
    if (intent === undefined || result === undefined) throw usage("INTENT and RESULT are missing");
    const saga = parseSagaId(word);
    const id = parseIntentId(intent);
    const said = findingOf(parseJson(result, "the result"));
    return withMesh(context, async ({ deps, ports }) => {
      const registered = await readRegistry(ports.registry);
      const view = await readView(ports, saga, viewingBy(registered));
      const unsettled = unsettledCall(view, id, said);
      const sent = await settleCall(deps, registered, { saga, ...unsettled }, said, who);
      const call = unsettled.call.intent.id;
      const waiting = await waitingOf(deps, saga);
      const document: SentDocument = {
        ...(sent === "vote"
          ? { saga, sent, name: "answer", intent: unsettled.task?.intent ?? call }
          : { saga, sent, intent: call }),
        ...waiting,
      };
      const stored =
        sent === "vote"
          ? `answer is stored for ${saga}/${unsettled.task?.intent ?? call}, which asks about ${call}`
          : `the result of ${call} is stored for ${saga}`;
      context.output.print(document, () => storedText(stored, waiting));
      return 0;
    });
  },
});

const findingOf = (value: Json): Finding => readFinding(value) ?? { succeeded: value };

interface Many {
  readonly query: string;
  readonly yes: boolean;
  readonly said: Finding;
  readonly who: Parameters<typeof settleCall>[4];
}

/** Settles what is meant, one after the other; one that cannot be is told, and hides no other. Exit code 1 if there was one. */
async function settleMany(context: CommandContext, { query, yes, said, who }: Many): Promise<number> {
  const { output } = context;
  return withMesh(context, async ({ deps, ports }) => {
    const { registered, found } = await findUnsettled(ports, { query, now: deps.clock.now() });
    const rows: SettledRow[] = [];
    for (const one of found) {
      const { saga, call, tool, task } = one;
      const { id } = call.intent;
      const outcome = call.outcome === "in_doubt" ? "in_doubt" : "open";
      const about = {
        saga,
        intent: id,
        tool,
        outcome,
        ...(task === undefined ? {} : { task: task.intent }),
      } as const;
      const sent = yes
        ? await settleCall(deps, registered, one, said, who).catch((error: unknown) => ({ error }))
        : "would";
      rows.push(
        typeof sent === "string"
          ? { ...about, sent }
          : { ...about, sent: "refused", because: describeError(sent.error) },
      );
    }
    if (output.json) for (const row of rows) output.print(row, () => "");
    else output.print(undefined, () => listed(rows, yes));
    const code = tellUnreadable(output, found.unreadable);
    return rows.some(({ sent }) => sent === "refused") ? 1 : code;
  });
}

function listed(rows: readonly SettledRow[], yes: boolean): string {
  if (rows.length === 0) return "no call is meant";
  const lines = rows.map(({ saga, intent, tool, outcome, task, sent, because }) => [
    saga,
    intent,
    tool,
    outcome,
    because ?? (task === undefined ? sent : `${sent}, asked in ${task}`),
  ]);
  const calls = `${rows.length} call${rows.length === 1 ? "" : "s"}`;
  return `${table(["SAGA", "INTENT", "TOOL", "IS", "SETTLED"], lines)}\n${yes ? calls : `${calls} would be settled; --yes does it`}`;
}
