import { type IntentId, parseIntentId } from "../../../protocol/ids.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import { readLedger } from "../../views/view.ts";
import { whyOf } from "../../views/why/why.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";
import { dateOf } from "../telling/describe.ts";
import { momentHelp, momentHint, turnsUpTo } from "../frame/moment.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";
import { inPieces } from "../../wire/loop.ts";

/** The story of a saga, or of one intent. */
export const why = defineCommand({
  name: "why",
  summary: "tell a saga's story: what was decided on what, what it cost, who allowed it, what it waited for",
  details:
    "In plain words, from the ledger alone: no sentence says more than it proves. With INTENT, the story of that one:\n" +
    "what it was decided on, who let it through, its attempts, and what was decided from its result.\n" +
    "With --app the ledger is folded: outcomes are exact, and what a decision was told is its very message.",
  positionals: { saga: sagaPositional, intent: { help: "an intent's id, for example 4-0", optional: true } },
  options: {
    at: { type: "string", hint: momentHint, help: momentHelp },
    app: { type: "string", hint: "FILE", help: "application file, to fold the ledger with its definition" },
    archive: archiveOption,
  },
  examples: ["sagamesh why hire-41", "sagamesh why hire-41 4-0 --app app.ts"],
  run: async ({ intent: word, at, app: file, ...which }, context) => {
    const intent: IntentId | undefined = word === undefined ? undefined : parseIntentId(word);
    const app = file === undefined ? undefined : await loadApp(file);
    return withSaga(context, which, async ({ saga, source, viewing }) => {
      const all = (await readLedger(source, saga)).map(({ turn }) => turn);
      const turns = turnsUpTo(all, at, systemClock.now());
      const document = await inPieces(source.loop, whyOf(turns, { intent, viewing, app }));
      context.output.print(document, () => describe(document));
      return 0;
    });
  },
});

function describe({ saga, intent, definition, status, turns, sentences, sum }: WhyDocument): string {
  const of = intent === undefined ? "" : `, intent ${intent}`;
  return [
    `${saga}${of}: ${definition.name}@${definition.version}, ${status}, ${turns} turns`,
    "",
    ...sentences.map((sentence, k) => `${headOf(sentence, sentences[k - 1])}${sentence.text}`),
    "",
    "in sum:",
    ...sum.map(({ text }) => `  ${text}`),
  ].join("\n");
}

const headOf = ({ turn, at }: WhySentence, before: WhySentence | undefined): string =>
  before?.turn === turn ? "  " : `#${turn}  ${dateOf(at)}\n  `;
